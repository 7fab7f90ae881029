static inline float outside(uniform float low, uniform float high, float value)
{
    return max(max(low - value, value - high), 0.0f);
}

// The lanes walk the tree together, as neighbouring queries want the same nodes.
export void kd_correlation(uniform const float points[], uniform int64 count, uniform int64 two,
                           uniform const float boxes[], uniform int64 boxes_size, uniform int64 five,
                           uniform const float queries[], uniform int64 queries_size, uniform int64 also_two,
                           uniform float radius, uniform int32 counts[], uniform int64 size)
{
    uniform int32 wanted = (uniform int32)size, nodes_there = (uniform int32)count;
    uniform float limit = radius * radius;
    foreach (i = 0 ... wanted) {
        uniform int32 stack[32];
        float x = queries[2 * i], y = queries[2 * i + 1];
        int32 found = 0;
        uniform int32 top = 1;
        stack[0] = 0;
        while (top > 0) {
            uniform int32 node = stack[--top];
            uniform const float *uniform box = boxes + 5 * node;
            float ox = outside(box[0], box[1], x), oy = outside(box[2], box[3], y);
            if (any(ox * ox + oy * oy <= limit)) {
                float dx = x - points[2 * node], dy = y - points[2 * node + 1];
                found += dx * dx + dy * dy <= limit ? 1 : 0;
                if (2 * node + 1 < nodes_there) {
                    stack[top] = 2 * node + 1;
                    stack[top + 1] = 2 * node + 2;
                    top += 2;
                }
            }
        }
        counts[i] = found;
    }
}

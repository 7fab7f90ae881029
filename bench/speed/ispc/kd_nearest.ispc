export void kd_nearest(uniform const float points[], uniform int64 count, uniform int64 two,
                       uniform const float queries[], uniform int64 queries_size, uniform int64 also_two,
                       uniform float distances[], uniform int64 size)
{
    uniform int32 wanted = (uniform int32)size, nodes_there = (uniform int32)count;
    foreach (i = 0 ... wanted) {
        int32 nodes[32];
        float gaps[32];
        float x = queries[2 * i], y = queries[2 * i + 1], best = 3e38f, gap = 0;
        int32 top = 0, node = 0, axis = 0;
        while (true) {
            if (gap < best && node < nodes_there) {
                float dx = x - points[2 * node], dy = y - points[2 * node + 1];
                best = min(best, dx * dx + dy * dy);
                float delta = axis ? dy : dx;
                int32 right = delta > 0 ? 1 : 0;
                axis ^= 1;
                nodes[top] = ((2 * node + 2 - right) << 1) | axis;
                gaps[top] = delta * delta;
                top++;
                node = 2 * node + 1 + right;
                gap = 0;
            } else {
                if (top == 0)
                    break;
                top--;
                node = nodes[top] >> 1;
                axis = nodes[top] & 1;
                gap = gaps[top];
            }
        }
        distances[i] = best;
    }
}

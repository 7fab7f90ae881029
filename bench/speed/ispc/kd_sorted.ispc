// The lanes walk the tree together, as neighbouring queries want the same nodes.
export void kd_sorted(uniform const float points[], uniform int64 count, uniform int64 two,
                      uniform const float queries[], uniform int64 queries_size, uniform int64 also_two,
                      uniform float distances[], uniform int64 size)
{
    uniform int32 wanted = (uniform int32)size, nodes_there = (uniform int32)count;
    foreach (i = 0 ... wanted) {
        uniform int32 nodes[64];
        float gaps[64];
        float x = queries[2 * i], y = queries[2 * i + 1], best = 3e38f;
        nodes[0] = 0;
        gaps[0] = 0;
        uniform int32 top = 1;
        while (top > 0) {
            top--;
            uniform int32 place = nodes[top] >> 1, axis = nodes[top] & 1;
            float gap = gaps[top];
            if (any(gap < best)) {
                float dx = x - points[2 * place], dy = y - points[2 * place + 1];
                best = min(best, dx * dx + dy * dy);
                uniform int32 left = 2 * place + 1;
                if (left < nodes_there) {
                    float delta = axis ? dy : dx;
                    float beyond = max(gap, delta * delta);
                    float left_gap = delta > 0 ? beyond : gap, right_gap = delta > 0 ? gap : beyond;
                    uniform int32 other = axis ^ 1;
                    uniform bool right_first = 2 * popcnt(packmask(delta > 0)) > popcnt(lanemask());
                    uniform int32 near = right_first ? left + 1 : left, far = right_first ? left : left + 1;
                    nodes[top] = (far << 1) | other;
                    gaps[top] = right_first ? left_gap : right_gap;
                    nodes[top + 1] = (near << 1) | other;
                    gaps[top + 1] = right_first ? right_gap : left_gap;
                    top += 2;
                }
            }
        }
        distances[i] = best;
    }
}

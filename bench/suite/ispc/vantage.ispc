#define STACK 32
#define MOST 16

export void vantage(uniform const REAL points[], uniform int64 count, uniform int64 dimensions,
                    uniform const REAL radii[], uniform int64 radii_size, uniform const REAL queries[],
                    uniform int64 queries_count, uniform int64 queries_dimensions, uniform REAL distances[],
                    uniform int64 size)
{
    uniform int32 wanted = (uniform int32)size, nodes_there = (uniform int32)count, axes = (uniform int32)dimensions;
    foreach (i = 0 ... wanted) {
        int32 nodes[STACK], node = 0, top = 0;
        REAL gaps[STACK], own[MOST], best = 3e38, gap = 0;
        for (uniform int32 d = 0; d < axes; d++)
            own[d] = queries[i * axes + d];
        while (true) {
            if (gap < best && node < nodes_there) {
                REAL squared = 0;
                for (uniform int32 d = 0; d < axes; d++) {
                    REAL step = points[node * axes + d] - own[d];
                    squared += step * step;
                }
                REAL distance = sqrt(squared);
                REAL beyond = distance - radii[node];
                best = min(best, distance);
                int32 near = beyond > 0 ? 2 * node + 2 : 2 * node + 1;
                nodes[top] = 4 * node + 3 - near;
                gaps[top] = abs(beyond);
                top++;
                node = near;
                gap = 0;
            } else {
                if (top == 0)
                    break;
                top--;
                node = nodes[top];
                gap = gaps[top];
            }
        }
        distances[i] = best;
    }
}

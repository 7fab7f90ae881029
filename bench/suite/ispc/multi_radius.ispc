#define STACK 32
#define MOST 16

// The lanes walk the tree together, as neighbouring queries want the same nodes.
export void multi_radius(uniform const REAL points[], uniform int64 count, uniform int64 dimensions,
                         uniform const REAL lows[], uniform int64 lows_count, uniform int64 lows_dimensions,
                         uniform const REAL highs[], uniform int64 highs_count, uniform int64 highs_dimensions,
                         uniform const REAL queries[], uniform int64 queries_count, uniform int64 queries_dimensions,
                         uniform const REAL radii[], uniform int64 radii_size, uniform int32 counts[],
                         uniform int64 size)
{
    uniform int32 wanted = (uniform int32)size, nodes_there = (uniform int32)count, axes = (uniform int32)dimensions;
    foreach (i = 0 ... wanted) {
        uniform int32 stack[STACK], top = 1;
        REAL limit = radii[i] * radii[i], own[MOST];
        for (uniform int32 d = 0; d < axes; d++)
            own[d] = queries[i * axes + d];
        int32 found = 0;
        stack[0] = 0;
        while (top > 0) {
            uniform int32 node = stack[--top];
            REAL outside = 0;
            for (uniform int32 d = 0; d < axes; d++) {
                REAL gap = max(lows[node * axes + d] - own[d], own[d] - highs[node * axes + d]);
                gap = gap > 0 ? gap : 0;
                outside += gap * gap;
            }
            if (any(outside <= limit)) {
                REAL squared = 0;
                for (uniform int32 d = 0; d < axes; d++) {
                    REAL step = points[node * axes + d] - own[d];
                    squared += step * step;
                }
                found += squared <= limit ? 1 : 0;
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

#include <stdint.h>

#define STACK 32

static inline int32_t found_near(const REAL *restrict query, REAL radius, const REAL *restrict points,
                                 const REAL *restrict lows, const REAL *restrict highs, int64_t count,
                                 int64_t dimensions)
{
    int32_t stack[STACK], found = 0;
    REAL limit = radius * radius;
    int top = 1;
    stack[0] = 0;
    while (top > 0) {
        int64_t node = stack[--top];
        REAL outside = 0;
        for (int64_t d = 0; d < dimensions; d++) {
            REAL below = lows[node * dimensions + d] - query[d], above = query[d] - highs[node * dimensions + d];
            REAL gap = below > above ? below : above;
            gap = gap > 0 ? gap : 0;
            outside += gap * gap;
        }
        if (outside <= limit) {
            REAL squared = 0;
            for (int64_t d = 0; d < dimensions; d++) {
                REAL step = points[node * dimensions + d] - query[d];
                squared += step * step;
            }
            found += squared <= limit;
            if (2 * node + 1 < count) {
                stack[top++] = 2 * node + 1;
                stack[top++] = 2 * node + 2;
            }
        }
    }
    return found;
}

void multi_radius(const REAL *restrict points, int64_t count, int64_t dimensions, const REAL *restrict lows,
                  int64_t lows_count, int64_t lows_dimensions, const REAL *restrict highs, int64_t highs_count,
                  int64_t highs_dimensions, const REAL *restrict queries, int64_t queries_count,
                  int64_t queries_dimensions, const REAL *restrict radii, int64_t radii_size,
                  int32_t *restrict counts, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++)
        counts[i] = found_near(queries + i * dimensions, radii[i], points, lows, highs, count, dimensions);
}

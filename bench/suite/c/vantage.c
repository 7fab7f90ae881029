#include <stdint.h>
#include <tgmath.h>

#define STACK 32

static inline REAL nearest_to(const REAL *restrict query, const REAL *restrict points, const REAL *restrict radii,
                              int64_t count, int64_t dimensions)
{
    int32_t nodes[STACK];
    REAL gaps[STACK], best = 3e38, gap = 0;
    int64_t node = 0;
    int top = 0;
    for (;;) {
        if (gap < best && node < count) {
            REAL squared = 0;
            for (int64_t d = 0; d < dimensions; d++) {
                REAL step = points[node * dimensions + d] - query[d];
                squared += step * step;
            }
            REAL distance = sqrt(squared), beyond = distance - radii[node];
            if (distance < best)
                best = distance;
            int64_t near = beyond > 0 ? 2 * node + 2 : 2 * node + 1;
            nodes[top] = 4 * node + 3 - near;
            gaps[top++] = fabs(beyond);
            node = near;
            gap = 0;
        } else {
            if (top == 0)
                return best;
            node = nodes[--top];
            gap = gaps[top];
        }
    }
}

void vantage(const REAL *restrict points, int64_t count, int64_t dimensions, const REAL *restrict radii,
             int64_t radii_size, const REAL *restrict queries, int64_t queries_count, int64_t queries_dimensions,
             REAL *restrict distances, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++)
        distances[i] = nearest_to(queries + i * dimensions, points, radii, count, dimensions);
}

#include <stdint.h>

static inline int32_t nearest_to(const REAL *restrict point, const REAL *restrict centres, int64_t count,
                                 int64_t dimensions)
{
    REAL least = 3e38;
    int32_t best = 0;
    for (int64_t c = 0; c < count; c++) {
        REAL squared = 0;
        for (int64_t d = 0; d < dimensions; d++) {
            REAL step = point[d] - centres[c * dimensions + d];
            squared += step * step;
        }
        if (squared < least) {
            least = squared;
            best = c;
        }
    }
    return best;
}

void nearest_centre(const REAL *restrict points, int64_t count, int64_t dimensions, const REAL *restrict centres,
                    int64_t centres_count, int64_t centres_dimensions, int32_t *restrict nearest, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        nearest[i] = nearest_to(points + i * dimensions, centres, centres_count, dimensions);
}

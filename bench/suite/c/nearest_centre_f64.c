#define REAL double
#include "nearest_centre.h"

void nearest_centre_f64(const REAL *restrict points, int64_t count, int64_t dimensions, const REAL *restrict centres,
                        int64_t centres_count, int64_t centres_dimensions, int32_t *restrict nearest, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        nearest[i] = nearest_to(points + i * dimensions, centres, centres_count, dimensions);
}

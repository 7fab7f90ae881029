#define REAL float
#include "multi_radius.h"

void multi_radius_f32(const REAL *restrict points, int64_t count, int64_t dimensions, const REAL *restrict lows,
                      int64_t lows_count, int64_t lows_dimensions, const REAL *restrict highs, int64_t highs_count,
                      int64_t highs_dimensions, const REAL *restrict queries, int64_t queries_count,
                      int64_t queries_dimensions, const REAL *restrict radii, int64_t radii_size,
                      int32_t *restrict counts, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++)
        counts[i] = found_near(queries + i * dimensions, radii[i], points, lows, highs, count, dimensions);
}

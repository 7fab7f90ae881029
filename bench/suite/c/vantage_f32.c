#define REAL float
#include "vantage.h"

void vantage_f32(const REAL *restrict points, int64_t count, int64_t dimensions, const REAL *restrict radii,
                 int64_t radii_size, const REAL *restrict queries, int64_t queries_count, int64_t queries_dimensions,
                 REAL *restrict distances, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++)
        distances[i] = nearest_to(queries + i * dimensions, points, radii, count, dimensions);
}

#include <math.h>
#include <stdint.h>

#define RADIUS 3

static inline int64_t clamped(int64_t place, int64_t extent)
{
    return place < 0 ? 0 : place < extent ? place : extent - 1;
}

void bilateral(const float *restrict image, int64_t rows, int64_t columns, const float *restrict nearness,
               int64_t nearness_rows, int64_t nearness_columns, float sharpness, float *restrict result,
               int64_t result_rows, int64_t result_columns)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            float here = image[y * columns + x], total = 0, weights = 0;
            for (int dy = -RADIUS; dy <= RADIUS; dy++) {
                const float *row = image + clamped(y + dy, rows) * columns;
                for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                    float there = row[clamped(x + dx, columns)], difference = there - here;
                    float weight = nearness[(dy + RADIUS) * nearness_columns + dx + RADIUS]
                                   * expf(-sharpness * difference * difference);
                    weights += weight;
                    total += weight * there;
                }
            }
            result[y * columns + x] = total / weights;
        }
}

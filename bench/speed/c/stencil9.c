#include <stdint.h>

void stencil9(const float *restrict grid, int64_t rows, int64_t columns, float *restrict result, int64_t result_rows,
              int64_t result_columns)
{
    PARALLEL_FOR
    for (int64_t y = 1; y < rows - 1; y++)
        for (int64_t x = 1; x < columns - 1; x++) {
            const float *here = grid + y * columns + x, *above = here - columns, *below = here + columns;
            result[y * columns + x] = 0.25f * here[0] + 0.125f * (here[-1] + here[1] + above[0] + below[0])
                                      + 0.0625f * (above[-1] + above[1] + below[-1] + below[1]);
        }
}

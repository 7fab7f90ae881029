#include <stdint.h>

void stencil5(const float *restrict grid, int64_t rows, int64_t columns, float *restrict result, int64_t result_rows,
              int64_t result_columns)
{
    PARALLEL_FOR
    for (int64_t y = 1; y < rows - 1; y++)
        for (int64_t x = 1; x < columns - 1; x++) {
            const float *here = grid + y * columns + x;
            result[y * columns + x] = 0.2f * (here[0] + here[-1] + here[1] + here[-columns] + here[columns]);
        }
}

#include <stdint.h>

void transpose(const float *restrict matrix, int64_t rows, int64_t columns, float *restrict result,
               int64_t result_rows, int64_t result_columns)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++)
            result[x * rows + y] = matrix[y * columns + x];
}

#include <stdint.h>

void transpose(const float *restrict source, int64_t rows, int64_t columns, float *restrict target, int64_t target_rows,
               int64_t target_columns)
{
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++)
            target[x * rows + y] = source[y * columns + x];
}

#define TILE 32

void transpose_blocked(const float *restrict source, int64_t rows, int64_t columns, float *restrict target,
                       int64_t target_rows, int64_t target_columns)
{
    for (int64_t y0 = 0; y0 < rows; y0 += TILE)
        for (int64_t x0 = 0; x0 < columns; x0 += TILE) {
            int64_t bottom = y0 + TILE < rows ? y0 + TILE : rows;
            int64_t right = x0 + TILE < columns ? x0 + TILE : columns;
            for (int64_t x = x0; x < right; x++)
                for (int64_t y = y0; y < bottom; y++)
                    target[x * rows + y] = source[y * columns + x];
        }
}

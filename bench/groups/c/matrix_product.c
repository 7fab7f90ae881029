#include <stdint.h>
#include <string.h>

#define MATRICES                                                                                              \
    const float *restrict a, int64_t rows, int64_t inner, const float *restrict b, int64_t inner_too, int64_t columns, \
        float *restrict c, int64_t c_rows, int64_t c_columns

void matrix_product(MATRICES)
{
    memset(c, 0, sizeof(float) * rows * columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < inner; k++)
            for (int64_t j = 0; j < columns; j++)
                c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

// A block of b stays in the cache while all rows of a pass by.
void matrix_product_blocked(MATRICES)
{
    const int64_t deep = 64, wide = 256;
    memset(c, 0, sizeof(float) * rows * columns);
    for (int64_t k0 = 0; k0 < inner; k0 += deep)
        for (int64_t j0 = 0; j0 < columns; j0 += wide)
            for (int64_t i = 0; i < rows; i++) {
                float sums[wide];
                int64_t width = least(wide, columns - j0);
                memcpy(sums, c + i * columns + j0, sizeof(float) * width);
                for (int64_t k = k0; k < least(k0 + deep, inner); k++)
                    for (int64_t j = 0; j < width; j++)
                        sums[j] += a[i * inner + k] * b[k * columns + j0 + j];
                memcpy(c + i * columns + j0, sums, sizeof(float) * width);
            }
}

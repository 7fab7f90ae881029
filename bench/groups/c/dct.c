#include <stdint.h>

#define SIDE 8

static const float basis[SIDE][SIDE] =
#include "../opencl/dct_basis.h"

void dct(const float *restrict image, int64_t rows, int64_t columns, float *restrict result, int64_t result_rows,
         int64_t result_columns)
{
    for (int64_t y = 0; y < rows; y += SIDE)
        for (int64_t x = 0; x < columns; x += SIDE) {
            float half[SIDE][SIDE];
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
                    half[i][j] = 0;
                    for (int k = 0; k < SIDE; k++)
                        half[i][j] += image[(y + i) * columns + x + k] * basis[j][k];
                }
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
                    float total = 0;
                    for (int k = 0; k < SIDE; k++)
                        total += basis[i][k] * half[k][j];
                    result[(y + i) * columns + x + j] = total;
                }
        }
}

#include <stdint.h>

#define SIDE 8

void lu(float *restrict matrices, int64_t count, int64_t rows, int64_t columns)
{
    PARALLEL_FOR
    for (int64_t n = 0; n < count; n++) {
        float(*matrix)[SIDE] = (float(*)[SIDE])(matrices + n * SIDE * SIDE);
        for (int k = 0; k < SIDE; k++)
            for (int i = k + 1; i < SIDE; i++) {
                float factor = matrix[i][k] / matrix[k][k];
                matrix[i][k] = factor;
                for (int j = k + 1; j < SIDE; j++)
                    matrix[i][j] -= factor * matrix[k][j];
            }
    }
}

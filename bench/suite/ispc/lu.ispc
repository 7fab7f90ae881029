#define SIDE 8

export void lu(uniform float matrices[], uniform int64 count, uniform int64 rows, uniform int64 columns)
{
    uniform int32 given = (uniform int32)count;
    foreach (n = 0 ... given) {
        float matrix[SIDE][SIDE];
        for (uniform int32 i = 0; i < SIDE; i++)
            for (uniform int32 j = 0; j < SIDE; j++)
                matrix[i][j] = matrices[(n * SIDE + i) * SIDE + j];
        for (uniform int32 k = 0; k < SIDE; k++)
            for (uniform int32 i = k + 1; i < SIDE; i++) {
                float factor = matrix[i][k] / matrix[k][k];
                matrix[i][k] = factor;
                for (uniform int32 j = k + 1; j < SIDE; j++)
                    matrix[i][j] -= factor * matrix[k][j];
            }
        for (uniform int32 i = 0; i < SIDE; i++)
            for (uniform int32 j = 0; j < SIDE; j++)
                matrices[(n * SIDE + i) * SIDE + j] = matrix[i][j];
    }
}

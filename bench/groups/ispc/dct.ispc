#define SIDE 8

static const uniform float basis[SIDE][SIDE] =
#include "../opencl/dct_basis.h"

// Columns first, by lanes that have one each; then rows, whose elements other lanes have.
export void dct(uniform const float image[], uniform int64 rows, uniform int64 columns, uniform float result[],
                uniform int64 result_rows, uniform int64 result_columns)
{
    uniform int32 height = (uniform int32)rows, width = (uniform int32)columns;
    float turned[SIDE];
    for (uniform int32 k = 0; k < SIDE; k++)
        turned[k] = basis[programIndex % SIDE][k];
    for (uniform int32 y = 0; y < height; y += SIDE)
        foreach (x = 0 ... width) {
            float half[SIDE];
            for (uniform int32 i = 0; i < SIDE; i++) {
                half[i] = 0;
                for (uniform int32 k = 0; k < SIDE; k++)
                    half[i] += basis[i][k] * image[(y + k) * width + x];
            }
            for (uniform int32 i = 0; i < SIDE; i++) {
                float total = 0;
                for (uniform int32 k = 0; k < SIDE; k++)
                    total += shuffle(half[i], (programIndex & ~(SIDE - 1)) + k) * turned[k];
                result[(y + i) * width + x] = total;
            }
        }
}

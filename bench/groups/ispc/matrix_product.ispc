#define DEEP 64
#define WIDE 256

// A block of b stays in the cache while all rows of a pass by.
export void matrix_product(uniform const float a[], uniform int64 rows, uniform int64 inner, uniform const float b[],
                           uniform int64 inner_too, uniform int64 columns, uniform float c[], uniform int64 c_rows,
                           uniform int64 c_columns)
{
    uniform int32 height = (uniform int32)rows, deep = (uniform int32)inner, width = (uniform int32)columns;
    foreach (place = 0 ... height * width)
        c[place] = 0;
    for (uniform int32 k0 = 0; k0 < deep; k0 += DEEP)
        for (uniform int32 j0 = 0; j0 < width; j0 += WIDE)
            for (uniform int32 i = 0; i + 4 <= height; i += 4)
                foreach (j = j0 ... min(j0 + WIDE, width)) {
                    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
                    for (uniform int32 k = k0; k < min(k0 + DEEP, deep); k++) {
                        float below = b[k * width + j];
                        s0 += a[i * deep + k] * below;
                        s1 += a[(i + 1) * deep + k] * below;
                        s2 += a[(i + 2) * deep + k] * below;
                        s3 += a[(i + 3) * deep + k] * below;
                    }
                    c[i * width + j] += s0;
                    c[(i + 1) * width + j] += s1;
                    c[(i + 2) * width + j] += s2;
                    c[(i + 3) * width + j] += s3;
                }
    for (uniform int32 i = height & ~3; i < height; i++)
        foreach (j = 0 ... width) {
            float sum = 0;
            for (uniform int32 k = 0; k < deep; k++)
                sum += a[i * deep + k] * b[k * width + j];
            c[i * width + j] = sum;
        }
}

#include <stdint.h>

static inline int64_t steps_to_root(float zr, float zi, int64_t limit)
{
    int64_t n = 0;
    float away = 1;
    while (n < limit && away > 1e-6f) {
        float square_r = zr * zr - zi * zi, square_i = 2 * zr * zi;
        float cube_r = square_r * zr - square_i * zi, cube_i = square_r * zi + square_i * zr;
        away = (cube_r - 1) * (cube_r - 1) + cube_i * cube_i;
        float scale = 1 / (3 * (square_r * square_r + square_i * square_i));
        float up_r = 2 * cube_r + 1, up_i = 2 * cube_i;
        zr = (up_r * square_r + up_i * square_i) * scale;
        zi = (up_i * square_r - up_r * square_i) * scale;
        n++;
    }
    return n;
}

void newton(const float *restrict real, int64_t real_size, const float *restrict imag, int64_t imag_size, int64_t one,
            int64_t limit, int64_t *restrict counts, int64_t height, int64_t width)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            counts[y * width + x] = steps_to_root(real[x], imag[y], limit);
}

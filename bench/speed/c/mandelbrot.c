#include <stdint.h>

void mandelbrot(float left, float top, float step, int64_t limit, int32_t *restrict counts, int64_t height,
                int64_t width)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            float real = left + x * step, imag = top - y * step;
            float zr = 0, zi = 0;
            int32_t n = 0;
            while (n < limit && zr * zr + zi * zi <= 4) {
                float next = zr * zr - zi * zi + real;
                zi = (zr + zr) * zi + imag;
                zr = next;
                n++;
            }
            counts[y * width + x] = n;
        }
}

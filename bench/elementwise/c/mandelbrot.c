#include "../../speed/c/mandelbrot.h"

void mandelbrot(const float *restrict real, int64_t real_size, const float *restrict imag, int64_t imag_size,
                int64_t one, int64_t limit, int64_t *restrict counts, int64_t height, int64_t width)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            counts[y * width + x] = steps_inside(real[x], imag[y], limit);
}

#include "mandelbrot.h"

void mandelbrot(float left, float top, float step, int64_t limit, int32_t *restrict counts, int64_t height,
                int64_t width)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            counts[y * width + x] = steps_inside(left + x * step, top - y * step, limit);
}

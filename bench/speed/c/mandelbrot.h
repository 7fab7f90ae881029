#include <stdint.h>

static inline int32_t steps_inside(float real, float imag, int64_t limit)
{
    float zr = 0, zi = 0;
    int32_t n = 0;
    while (n < limit && zr * zr + zi * zi <= 4) {
        float next = zr * zr - zi * zi + real;
        zi = (zr + zr) * zi + imag;
        zr = next;
        n++;
    }
    return n;
}

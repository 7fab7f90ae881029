#include <stdint.h>

static void butterflies(float *restrict values, int64_t size, int64_t distance)
{
    for (int64_t first = 0; first < size; first += 2 * distance)
        for (int64_t k = first; k < first + distance; k++) {
            float a = values[k], b = values[k + distance];
            values[k] = a + b;
            values[k + distance] = a - b;
        }
}

void walsh(float *restrict values, int64_t size)
{
    for (int64_t distance = 1; distance < size; distance *= 2)
        butterflies(values, size, distance);
}

#define STRETCH 512

void walsh_blocked(float *restrict values, int64_t size)
{
    for (int64_t start = 0; start < size; start += STRETCH)
        for (int64_t distance = 1; distance < STRETCH; distance *= 2)
            butterflies(values + start, STRETCH, distance);
    for (int64_t distance = STRETCH; distance < size; distance *= 2)
        butterflies(values, size, distance);
}

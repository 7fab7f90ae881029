#include <stdint.h>

#define STRETCH 1024

void bitonic_sort(float *restrict values, int64_t size)
{
    for (int64_t start = 0; start < size; start += STRETCH) {
        float *restrict stretch = values + start;
        for (int length = 2; length <= STRETCH; length *= 2)
            for (int distance = length / 2; distance > 0; distance /= 2)
                for (int first = 0; first < STRETCH; first += 2 * distance)
                    for (int k = first; k < first + distance; k++) {
                        float a = stretch[k], b = stretch[k + distance];
                        float less = a < b ? a : b, more = a < b ? b : a;
                        stretch[k] = first & length ? more : less;
                        stretch[k + distance] = first & length ? less : more;
                    }
    }
}

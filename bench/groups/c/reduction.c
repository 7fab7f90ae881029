#include <stdint.h>

void reduction(const float *restrict values, int64_t size, float *restrict total, int64_t one)
{
    float sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += values[i];
    total[0] = sum;
}

#include <stdint.h>

void scan(const int64_t *restrict values, int64_t size, int64_t *restrict result, int64_t result_size)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < size; i++)
        result[i] = sum += values[i];
}

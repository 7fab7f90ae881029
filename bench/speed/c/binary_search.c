#include <stdint.h>

void binary_search(const float *restrict values, int64_t size, const float *restrict keys, int64_t count,
                   int32_t *restrict places, int64_t places_size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        float key = keys[i];
        int64_t low = 0, high = size;
        while (high - low > 1) {
            int64_t middle = (low + high) / 2;
            if (values[middle] > key)
                high = middle;
            else
                low = middle;
        }
        places[i] = low;
    }
}

#include <stdint.h>

void decode_runs(const uint8_t *restrict values, int64_t count, const int32_t *restrict starts, int64_t starts_size,
                 uint8_t *restrict result, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        for (int32_t k = starts[i]; k < starts[i + 1]; k++)
            result[k] = values[i];
}

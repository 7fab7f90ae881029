#include <stdint.h>

#define CHUNK 4096

void radix_pass(const uint32_t *restrict keys, int64_t size, uint32_t shift, int32_t *restrict counts, int64_t chunks,
                int64_t digits, uint32_t *restrict result, int64_t result_size)
{
    PARALLEL_FOR
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        int32_t *own = counts + 256 * chunk;
        int64_t end = (chunk + 1) * CHUNK < size ? (chunk + 1) * CHUNK : size;
        for (int digit = 0; digit < 256; digit++)
            own[digit] = 0;
        for (int64_t k = chunk * CHUNK; k < end; k++)
            own[keys[k] >> shift & 255]++;
    }
    int32_t total = 0;
    for (int digit = 0; digit < 256; digit++)
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            int32_t count = counts[256 * chunk + digit];
            counts[256 * chunk + digit] = total;
            total += count;
        }
    PARALLEL_FOR
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        int32_t *own = counts + 256 * chunk;
        int64_t end = (chunk + 1) * CHUNK < size ? (chunk + 1) * CHUNK : size;
        for (int64_t k = chunk * CHUNK; k < end; k++)
            result[own[keys[k] >> shift & 255]++] = keys[k];
    }
}

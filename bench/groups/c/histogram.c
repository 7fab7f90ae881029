#include <stdint.h>

#define BINS 256

void histogram(const uint8_t *restrict data, int64_t size, int32_t *restrict counts, int64_t bins)
{
    for (int64_t i = 0; i < size; i++)
        counts[data[i]]++;
}

// Equal neighbours count in tables of their own, so that none waits for the store of the one before.
void histogram_blocked(const uint8_t *restrict data, int64_t size, int32_t *restrict counts, int64_t bins)
{
    int32_t own[4][BINS] = {{0}};
    int64_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (int k = 0; k < 4; k++)
            own[k][data[i + k]]++;
    for (; i < size; i++)
        own[0][data[i]]++;
    for (int bin = 0; bin < BINS; bin++)
        counts[bin] += own[0][bin] + own[1][bin] + own[2][bin] + own[3][bin];
}

#include <stdint.h>

static inline uint32_t stirred(uint32_t state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

void pi(const uint32_t *restrict seeds, int64_t count, int64_t throws, int32_t *restrict inside, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        uint32_t state = seeds[i];
        int32_t hits = 0;
        for (int64_t k = 0; k < throws; k++) {
            state = stirred(state);
            float x = (state >> 8) * 0x1p-24f;
            state = stirred(state);
            float y = (state >> 8) * 0x1p-24f;
            hits += x * x + y * y < 1;
        }
        inside[i] = hits;
    }
}

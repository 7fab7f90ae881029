#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline uint32_t xorshift(uint32_t state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

static inline float unit(uint32_t state)
{
    return ((int32_t)(state >> 8) + 0.5f) * (1.0f / 16777216);
}

void barrier_option(const uint32_t *restrict seeds, int64_t seeds_size, float start, float strike, float barrier,
                    float drift, float volatility, int64_t steps, float *restrict payoffs, int64_t count)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        uint32_t state = seeds[i];
        float price = start;
        bool alive = true;
        for (int64_t step = 0; alive && step < steps; step += 2) {
            state = xorshift(state);
            float radius = sqrtf(-2.0f * logf(unit(state)));
            state = xorshift(state);
            float angle = 6.28318530718f * unit(state);
            price *= expf(drift + volatility * (radius * cosf(angle)));
            alive = price > barrier;
            if (alive) {
                price *= expf(drift + volatility * (radius * sinf(angle)));
                alive = price > barrier;
            }
        }
        payoffs[i] = alive && price > strike ? price - strike : 0;
    }
}

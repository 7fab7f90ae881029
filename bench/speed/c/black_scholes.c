#include <math.h>
#include <stdint.h>

static inline float cumulative(float d)
{
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d)
                 * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - tail : tail;
}

void black_scholes(const float *restrict prices, int64_t count, const float *restrict strikes, int64_t strikes_size,
                   const float *restrict years, int64_t years_size, float rate, float sigma, float *restrict calls,
                   int64_t calls_size, float *restrict puts, int64_t puts_size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        float root = sqrtf(years[i]);
        float d1 = (logf(prices[i] / strikes[i]) + (rate + 0.5f * sigma * sigma) * years[i]) / (sigma * root);
        float d2 = d1 - sigma * root;
        float discounted = strikes[i] * expf(-rate * years[i]);
        float call = prices[i] * cumulative(d1) - discounted * cumulative(d2);
        calls[i] = call;
        puts[i] = call + discounted - prices[i];
    }
}

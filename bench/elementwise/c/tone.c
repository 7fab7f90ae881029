#include <math.h>
#include <stdint.h>

void tone(const float *restrict brightness, int64_t count, float *restrict bent, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        float x = brightness[i];
        bent[i] = x < 0.1f   ? 0.5f * x
                  : x < 0.6f ? 0.05f + (x - 0.1f) * (0.5f + x)
                             : fminf(0.6f + 0.75f * (x - 0.6f), 1);
    }
}

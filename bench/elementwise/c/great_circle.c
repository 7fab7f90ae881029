#include <math.h>
#include <stdint.h>

void great_circle(const float *restrict latitude, int64_t count, const float *restrict longitude, int64_t size1,
                  const float *restrict to_latitude, int64_t size2, const float *restrict to_longitude, int64_t size3,
                  float *restrict angles, int64_t size4)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        float across = sinf(0.5f * (to_longitude[i] - longitude[i]));
        float up = sinf(0.5f * (to_latitude[i] - latitude[i]));
        float square = up * up + cosf(latitude[i]) * cosf(to_latitude[i]) * across * across;
        angles[i] = 2 * asinf(fminf(sqrtf(square), 1));
    }
}

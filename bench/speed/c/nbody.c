#include <math.h>
#include <stdint.h>

void nbody(const float *restrict x, int64_t count, const float *restrict y, int64_t y_size, const float *restrict z,
           int64_t z_size, const float *restrict mass, int64_t mass_size, float softening, float *restrict ax,
           int64_t ax_size, float *restrict ay, int64_t ay_size, float *restrict az, int64_t az_size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++) {
        float sx = 0, sy = 0, sz = 0;
        for (int64_t j = 0; j < count; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float squared = dx * dx + dy * dy + dz * dz + softening;
            float inverse = 1 / sqrtf(squared);
            float pull = mass[j] * inverse * inverse * inverse;
            sx += pull * dx;
            sy += pull * dy;
            sz += pull * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

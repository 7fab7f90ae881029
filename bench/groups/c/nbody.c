#include <math.h>
#include <stdint.h>

#define SOFTENING 0.01f

void nbody(const float (*restrict bodies)[4], int64_t count, int64_t four, float (*restrict result)[3],
           int64_t result_count, int64_t three)
{
    for (int64_t i = 0; i < count; i++) {
        float ax = 0, ay = 0, az = 0;
        for (int64_t j = 0; j < count; j++) {
            float dx = bodies[j][0] - bodies[i][0], dy = bodies[j][1] - bodies[i][1], dz = bodies[j][2] - bodies[i][2];
            float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
            float pull = bodies[j][3] * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        result[i][0] = ax;
        result[i][1] = ay;
        result[i][2] = az;
    }
}

#define TILE 256

// Tiles of bodies, coordinates apart, stay in the cache and are loaded without shuffles.
void nbody_blocked(const float (*restrict bodies)[4], int64_t count, int64_t four, float (*restrict result)[3],
                   int64_t result_count, int64_t three)
{
    for (int64_t i = 0; i < count; i++)
        result[i][0] = result[i][1] = result[i][2] = 0;
    for (int64_t start = 0; start < count; start += TILE) {
        float x[TILE], y[TILE], z[TILE], mass[TILE];
        for (int64_t k = 0; k < TILE; k++) {
            int inside = start + k < count;
            x[k] = inside ? bodies[start + k][0] : 0;
            y[k] = inside ? bodies[start + k][1] : 0;
            z[k] = inside ? bodies[start + k][2] : 0;
            mass[k] = inside ? bodies[start + k][3] : 0;
        }
        for (int64_t i = 0; i < count; i++) {
            float ax = 0, ay = 0, az = 0;
            for (int64_t k = 0; k < TILE; k++) {
                float dx = x[k] - bodies[i][0], dy = y[k] - bodies[i][1], dz = z[k] - bodies[i][2];
                float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
                float pull = mass[k] * inverse * inverse * inverse;
                ax += dx * pull;
                ay += dy * pull;
                az += dz * pull;
            }
            result[i][0] += ax;
            result[i][1] += ay;
            result[i][2] += az;
        }
    }
}

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline float sphere_distance(const float *sphere, float ox, float oy, float oz, float dx, float dy, float dz,
                                    float far)
{
    float rx = ox - sphere[0], ry = oy - sphere[1], rz = oz - sphere[2];
    float b = rx * dx + ry * dy + rz * dz;
    float c = rx * rx + ry * ry + rz * rz - sphere[3] * sphere[3];
    float discriminant = b * b - c;
    if (discriminant > 0) {
        float t = -b - sqrtf(discriminant);
        if (t > 0 && t < far)
            return t;
    }
    return far;
}

static inline float plane_distance(float height, float oy, float dy, float far)
{
    if (fabsf(dy) > 1e-17f) {
        float t = (height - oy) / dy;
        if (t > 0 && t < far)
            return t;
    }
    return far;
}

static inline float random_unit(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int32_t)(*state >> 8) * (1.0f / 16777216);
}

static float shade(const float *spheres, int64_t count, float height, int64_t samples, int64_t x, int64_t y,
                   int64_t rows, int64_t columns)
{
    const float far = 1e17f;
    float half_width = columns / 2.0f, half_height = rows / 2.0f;
    float dx = (x - half_width) / half_width, dy = (half_height - y) / half_height, dz = -1;
    float length = 1 / sqrtf(dx * dx + dy * dy + dz * dz);
    dx *= length, dy *= length, dz *= length;

    float nearest = far;
    int64_t hit = -1;
    for (int64_t k = 0; k < count; k++) {
        float t = sphere_distance(spheres + 4 * k, 0, 0, 0, dx, dy, dz, nearest);
        if (t < nearest) {
            nearest = t;
            hit = k;
        }
    }
    float floor = plane_distance(height, 0, dy, nearest);
    bool on_plane = floor < nearest;
    nearest = floor;
    if (!(nearest < far))
        return 0;

    float px = nearest * dx, py = nearest * dy, pz = nearest * dz;
    float nx = 0, ny = 1, nz = 0;
    if (!on_plane) {
        const float *sphere = spheres + 4 * hit;
        nx = (px - sphere[0]) / sphere[3], ny = (py - sphere[1]) / sphere[3], nz = (pz - sphere[2]) / sphere[3];
    }
    float ax = fabsf(nx) < 0.6f ? 1 : 0, ay = 1 - ax;
    float ux = -nz * ay, uy = nz * ax, uz = nx * ay - ny * ax;
    length = 1 / sqrtf(ux * ux + uy * uy + uz * uz);
    ux *= length, uy *= length, uz *= length;
    float vx = ny * uz - nz * uy, vy = nz * ux - nx * uz, vz = nx * uy - ny * ux;
    float ox = px + 1e-4f * nx, oy = py + 1e-4f * ny, oz = pz + 1e-4f * nz;

    uint32_t state = (uint32_t)(x + columns * y) * 747796405u + 1u;
    int64_t escaped = 0;
    for (int64_t sample = 0; sample < samples * samples; sample++) {
        float first = random_unit(&state), phi = 6.28318530718f * random_unit(&state);
        float radius = sqrtf(first);
        float along = cosf(phi) * radius, across = sinf(phi) * radius, up = sqrtf(1 - first);
        float rx = along * ux + across * vx + up * nx;
        float ry = along * uy + across * vy + up * ny;
        float rz = along * uz + across * vz + up * nz;
        float met = far;
        for (int64_t k = 0; k < count && met == far; k++)
            met = sphere_distance(spheres + 4 * k, ox, oy, oz, rx, ry, rz, far);
        if (met == far)
            met = plane_distance(height, oy, ry, far);
        escaped += met == far;
    }
    return (float)escaped / (float)(samples * samples);
}

void ambient_occlusion(const float *restrict spheres, int64_t count, int64_t four, float height, int64_t samples,
                       float *restrict image, int64_t rows, int64_t columns)
{
    PARALLEL_FOR
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++)
            image[y * columns + x] = shade(spheres, count, height, samples, x, y, rows, columns);
}

#include <math.h>
#include <stdint.h>

void ray_triangle(const float *restrict origins, int64_t count, int64_t three, const float *restrict directions,
                  int64_t directions_count, int64_t also_three, const float *restrict triangles,
                  int64_t triangles_count, int64_t corners, int64_t axes, float *restrict distances,
                  int64_t distances_size, int32_t *restrict hits, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < size; i++) {
        float ox = origins[3 * i], oy = origins[3 * i + 1], oz = origins[3 * i + 2];
        float dx = directions[3 * i], dy = directions[3 * i + 1], dz = directions[3 * i + 2];
        float least = 1e30f;
        int32_t hit = -1;
        for (int64_t k = 0; k < triangles_count; k++) {
            const float *a = triangles + 9 * k, *b = a + 3, *c = a + 6;
            float ex = b[0] - a[0], ey = b[1] - a[1], ez = b[2] - a[2];
            float fx = c[0] - a[0], fy = c[1] - a[1], fz = c[2] - a[2];
            float px = dy * fz - dz * fy, py = dz * fx - dx * fz, pz = dx * fy - dy * fx;
            float determinant = ex * px + ey * py + ez * pz;
            if (fabsf(determinant) < 1e-8f)
                continue;
            float inverse = 1 / determinant;
            float tx = ox - a[0], ty = oy - a[1], tz = oz - a[2];
            float u = (tx * px + ty * py + tz * pz) * inverse;
            if (u < 0 || u > 1)
                continue;
            float qx = ty * ez - tz * ey, qy = tz * ex - tx * ez, qz = tx * ey - ty * ex;
            float v = (dx * qx + dy * qy + dz * qz) * inverse;
            if (v < 0 || u + v > 1)
                continue;
            float t = (fx * qx + fy * qy + fz * qz) * inverse;
            if (t > 1e-4f && t < least) {
                least = t;
                hit = k;
            }
        }
        distances[i] = least;
        hits[i] = hit;
    }
}

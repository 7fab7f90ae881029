export void ray_triangle(uniform const float origins[], uniform int64 count, uniform int64 three,
                         uniform const float directions[], uniform int64 directions_count, uniform int64 also_three,
                         uniform const float triangles[], uniform int64 triangles_count, uniform int64 corners,
                         uniform int64 axes, uniform float distances[], uniform int64 distances_size,
                         uniform int32 hits[], uniform int64 size)
{
    uniform int32 rays = (uniform int32)size, shapes = (uniform int32)triangles_count;
    foreach (i = 0 ... rays) {
        float ox = origins[3 * i], oy = origins[3 * i + 1], oz = origins[3 * i + 2];
        float dx = directions[3 * i], dy = directions[3 * i + 1], dz = directions[3 * i + 2];
        float least = 1e30f;
        int32 hit = -1;
        for (uniform int32 k = 0; k < shapes; k++) {
            uniform const float *uniform a = triangles + 9 * k;
            uniform const float *uniform b = a + 3, *uniform c = a + 6;
            uniform float ex = b[0] - a[0], ey = b[1] - a[1], ez = b[2] - a[2];
            uniform float fx = c[0] - a[0], fy = c[1] - a[1], fz = c[2] - a[2];
            float px = dy * fz - dz * fy, py = dz * fx - dx * fz, pz = dx * fy - dy * fx;
            float determinant = ex * px + ey * py + ez * pz;
            float inverse = 1 / determinant;
            float tx = ox - a[0], ty = oy - a[1], tz = oz - a[2];
            float u = (tx * px + ty * py + tz * pz) * inverse;
            cif (abs(determinant) >= 1e-8f && u >= 0 && u <= 1) {
                float qx = ty * ez - tz * ey, qy = tz * ex - tx * ez, qz = tx * ey - ty * ex;
                float v = (dx * qx + dy * qy + dz * qz) * inverse;
                float t = (fx * qx + fy * qy + fz * qz) * inverse;
                if (v >= 0 && u + v <= 1 && t > 1e-4f && t < least) {
                    least = t;
                    hit = k;
                }
            }
        }
        distances[i] = least;
        hits[i] = hit;
    }
}

export void nbody(uniform const float x[], uniform int64 count, uniform const float y[], uniform int64 y_size,
                  uniform const float z[], uniform int64 z_size, uniform const float mass[], uniform int64 mass_size,
                  uniform float softening, uniform float ax[], uniform int64 ax_size, uniform float ay[],
                  uniform int64 ay_size, uniform float az[], uniform int64 az_size)
{
    uniform int32 bodies = (uniform int32)count;
    foreach (i = 0 ... bodies) {
        float own_x = x[i], own_y = y[i], own_z = z[i], sx = 0, sy = 0, sz = 0;
        for (uniform int32 j = 0; j < bodies; j++) {
            float dx = x[j] - own_x, dy = y[j] - own_y, dz = z[j] - own_z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
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

#define SOFTENING 0.01f

export void nbody(uniform const float bodies[], uniform int64 count, uniform int64 four, uniform float result[],
                  uniform int64 result_count, uniform int64 three)
{
    uniform int32 there = (uniform int32)count;
    foreach (i = 0 ... there) {
        float x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2], ax = 0, ay = 0, az = 0;
        for (uniform int32 j = 0; j < there; j++) {
            float dx = bodies[4 * j] - x, dy = bodies[4 * j + 1] - y, dz = bodies[4 * j + 2] - z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
            float pull = bodies[4 * j + 3] * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        result[3 * i] = ax;
        result[3 * i + 1] = ay;
        result[3 * i + 2] = az;
    }
}

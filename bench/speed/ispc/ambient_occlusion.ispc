#define FAR 1e17f

static inline float sphere_distance(uniform const float sphere[], float ox, float oy, float oz, float dx, float dy,
                                    float dz, float far)
{
    float rx = ox - sphere[0], ry = oy - sphere[1], rz = oz - sphere[2];
    float b = rx * dx + ry * dy + rz * dz;
    float c = rx * rx + ry * ry + rz * rz - sphere[3] * sphere[3];
    float discriminant = b * b - c, met = far;
    if (discriminant > 0) {
        float t = -b - sqrt(discriminant);
        if (t > 0 && t < far)
            met = t;
    }
    return met;
}

static inline float plane_distance(uniform float height, float oy, float dy, float far)
{
    float met = far;
    if (abs(dy) > 1e-17f) {
        float t = (height - oy) / dy;
        if (t > 0 && t < far)
            met = t;
    }
    return met;
}

static inline float random_unit(unsigned int32 &state)
{
    state = state * 1664525 + 1013904223;
    return (float)(int32)(state >> 8) * (1.0f / 16777216);
}

static float shade(uniform const float spheres[], uniform int32 count, uniform float height, uniform int32 samples,
                   int32 x, uniform int32 y, uniform int32 rows, uniform int32 columns)
{
    uniform float half_width = columns / 2.0f, half_height = rows / 2.0f;
    float dx = (x - half_width) / half_width, dy = (half_height - y) / half_height, dz = -1;
    float length = rsqrt(dx * dx + dy * dy + dz * dz);
    dx *= length;
    dy *= length;
    dz *= length;

    float nearest = FAR;
    int32 hit = -1;
    for (uniform int32 k = 0; k < count; k++) {
        float t = sphere_distance(spheres + 4 * k, 0, 0, 0, dx, dy, dz, nearest);
        if (t < nearest) {
            nearest = t;
            hit = k;
        }
    }
    float ground = plane_distance(height, 0, dy, nearest);
    bool on_plane = ground < nearest;
    nearest = ground;
    float shown = 0;
    cif (nearest < FAR) {
        float px = nearest * dx, py = nearest * dy, pz = nearest * dz, nx = 0, ny = 1, nz = 0;
        cif (!on_plane) {
            int32 first = 4 * hit;
            nx = (px - spheres[first]) / spheres[first + 3];
            ny = (py - spheres[first + 1]) / spheres[first + 3];
            nz = (pz - spheres[first + 2]) / spheres[first + 3];
        }
        float ax = abs(nx) < 0.6f ? 1.0f : 0.0f;
        float ay = 1 - ax;
        float ux = -nz * ay, uy = nz * ax, uz = nx * ay - ny * ax;
        length = rsqrt(ux * ux + uy * uy + uz * uz);
        ux *= length;
        uy *= length;
        uz *= length;
        float vx = ny * uz - nz * uy, vy = nz * ux - nx * uz, vz = nx * uy - ny * ux;
        float ox = px + 1e-4f * nx, oy = py + 1e-4f * ny, oz = pz + 1e-4f * nz;

        unsigned int32 state = (unsigned int32)(x + columns * y) * 747796405 + 1;
        int32 escaped = 0;
        for (uniform int32 sample = 0; sample < samples * samples; sample++) {
            float first = random_unit(state), phi = 6.28318530718f * random_unit(state);
            float radius = sqrt(first), sine, cosine;
            sincos(phi, &sine, &cosine);
            float along = cosine * radius, across = sine * radius, up = sqrt(1 - first);
            float rx = along * ux + across * vx + up * nx;
            float ry = along * uy + across * vy + up * ny;
            float rz = along * uz + across * vz + up * nz;
            float met = FAR;
            for (uniform int32 k = 0; k < count; k++) {
                if (met == FAR)
                    met = sphere_distance(spheres + 4 * k, ox, oy, oz, rx, ry, rz, FAR);
                if (all(met < FAR))
                    break;
            }
            if (met == FAR)
                met = plane_distance(height, oy, ry, FAR);
            if (met == FAR)
                escaped++;
        }
        shown = escaped / (float)(samples * samples);
    }
    return shown;
}

export void ambient_occlusion(uniform const float spheres[], uniform int64 count, uniform int64 four,
                              uniform float height, uniform int64 samples, uniform float image[], uniform int64 rows,
                              uniform int64 columns)
{
    uniform int32 lines = (uniform int32)rows, width = (uniform int32)columns;
    for (uniform int32 y = 0; y < lines; y++)
        foreach (x = 0 ... width)
            image[y * width + x] = shade(spheres, (uniform int32)count, height, (uniform int32)samples, x, y, lines, width);
}

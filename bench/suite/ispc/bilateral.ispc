#define RADIUS 3

export void bilateral(uniform const float image[], uniform int64 rows, uniform int64 columns,
                      uniform const float nearness[], uniform int64 nearness_rows, uniform int64 nearness_columns,
                      uniform float sharpness, uniform float result[], uniform int64 result_rows,
                      uniform int64 result_columns)
{
    uniform int32 height = (uniform int32)rows, width = (uniform int32)columns;
    for (uniform int32 y = 0; y < height; y++)
        foreach (x = 0 ... width) {
            float here = image[y * width + x], total = 0, weights = 0;
            for (uniform int32 dy = -RADIUS; dy <= RADIUS; dy++) {
                uniform const float *uniform row = image + clamp(y + dy, 0, height - 1) * width;
                uniform const float *uniform near = nearness + (dy + RADIUS) * (uniform int32)nearness_columns + RADIUS;
                for (uniform int32 dx = -RADIUS; dx <= RADIUS; dx++) {
                    float there = row[clamp(x + dx, 0, width - 1)];
                    float difference = there - here;
                    float weight = near[dx] * exp(-sharpness * difference * difference);
                    weights += weight;
                    total += weight * there;
                }
            }
            result[y * width + x] = total / weights;
        }
}

#define PARTS 4

export void reduction(uniform const float values[], uniform int64 size, uniform float total[], uniform int64 one)
{
    uniform int32 count = (uniform int32)size;
    uniform int32 whole = count - count % (PARTS * programCount);
    float sums[PARTS] = {0, 0, 0, 0};
    for (uniform int32 i = 0; i < whole; i += PARTS * programCount)
        for (uniform int32 part = 0; part < PARTS; part++)
            sums[part] += values[i + part * programCount + programIndex];
    foreach (i = whole ... count)
        sums[0] += values[i];
    total[0] = reduce_add(sums[0] + sums[1] + sums[2] + sums[3]);
}

#define STRETCH 1024

static inline void butterfly(uniform float values[], int32 low, uniform int32 distance)
{
    float a = values[low], b = values[low + distance];
    values[low] = a + b;
    values[low + distance] = a - b;
}

// Pairs that are near are numbered through, others lie side by side.
static void stage(uniform float values[], uniform int32 size, uniform int32 distance)
{
    if (distance < programCount)
        foreach (pair = 0 ... size / 2)
            butterfly(values, 2 * pair - (pair & (distance - 1)), distance);
    else
        for (uniform int32 first = 0; first < size; first += 2 * distance)
            foreach (k = first ... first + distance)
                butterfly(values, k, distance);
}

export void walsh(uniform float values[], uniform int64 size)
{
    for (uniform int64 start = 0; start < size; start += STRETCH)
        for (uniform int32 distance = 1; distance < STRETCH; distance *= 2)
            stage(values + start, STRETCH, distance);
    for (uniform int32 distance = STRETCH; distance < size; distance *= 2)
        stage(values, (uniform int32)size, distance);
}

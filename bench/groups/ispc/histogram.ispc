#define BINS 256
#define TABLES 4

// Equal neighbours count in tables of their own, so that none waits for the store of the one before.
export void histogram(uniform const unsigned int8 data[], uniform int64 size, uniform int32 counts[],
                      uniform int64 bins)
{
    uniform int32 own[TABLES][BINS];
    uniform int64 i = 0;
    foreach (bin = 0 ... TABLES * BINS)
        own[0][bin] = 0;
    for (; i + TABLES <= size; i += TABLES)
        for (uniform int32 k = 0; k < TABLES; k++)
            own[k][data[i + k]]++;
    for (; i < size; i++)
        own[0][data[i]]++;
    foreach (bin = 0 ... BINS)
        counts[bin] += own[0][bin] + own[1][bin] + own[2][bin] + own[3][bin];
}

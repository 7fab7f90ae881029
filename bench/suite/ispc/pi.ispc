static inline unsigned int32 stirred(unsigned int32 state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ (state << 5);
}

static inline float unit(unsigned int32 state)
{
    return (float)(int32)(state >> 8) * (1.0f / 16777216);
}

export void pi(uniform const unsigned int32 seeds[], uniform int64 count, uniform int64 throws, uniform int32 inside[],
               uniform int64 size)
{
    uniform int32 threads = (uniform int32)count, darts = (uniform int32)throws;
    foreach (i = 0 ... threads) {
        unsigned int32 state = seeds[i];
        int32 hits = 0;
        for (uniform int32 k = 0; k < darts; k++) {
            state = stirred(state);
            float x = unit(state);
            state = stirred(state);
            float y = unit(state);
            hits += x * x + y * y < 1 ? 1 : 0;
        }
        inside[i] = hits;
    }
}

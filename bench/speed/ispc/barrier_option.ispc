static inline unsigned int32 xorshift(unsigned int32 state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ (state << 5);
}

static inline float unit(unsigned int32 state)
{
    return ((float)(int32)(state >> 8) + 0.5f) * (1.0f / 16777216);
}

export void barrier_option(uniform const unsigned int32 seeds[], uniform int64 seeds_size, uniform float start,
                           uniform float strike, uniform float barrier, uniform float drift, uniform float volatility,
                           uniform int64 steps, uniform float payoffs[], uniform int64 count)
{
    uniform int32 paths = (uniform int32)count, most = (uniform int32)steps;
    foreach (i = 0 ... paths) {
        unsigned int32 state = seeds[i];
        float price = start;
        bool alive = true;
        for (uniform int32 step = 0; step < most && any(alive); step += 2) {
            if (alive) {
                state = xorshift(state);
                float radius = sqrt(-2.0f * log(unit(state)));
                state = xorshift(state);
                float sine, cosine;
                sincos(6.28318530718f * unit(state), &sine, &cosine);
                price *= exp(drift + volatility * (radius * cosine));
                alive = price > barrier;
                float following = price * exp(drift + volatility * (radius * sine));
                price = alive ? following : price;
                alive = price > barrier;
            }
        }
        payoffs[i] = alive && price > strike ? price - strike : 0;
    }
}

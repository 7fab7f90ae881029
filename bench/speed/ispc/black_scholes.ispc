static inline float cumulative(float d)
{
    float k = 1 / (1 + 0.2316419f * abs(d));
    float tail = 0.39894228f * exp(-0.5f * d * d)
                 * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - tail : tail;
}

export void black_scholes(uniform const float prices[], uniform int64 count, uniform const float strikes[],
                          uniform int64 strikes_size, uniform const float years[], uniform int64 years_size,
                          uniform float rate, uniform float sigma, uniform float calls[], uniform int64 calls_size,
                          uniform float puts[], uniform int64 puts_size)
{
    uniform int32 options = (uniform int32)count;
    uniform float growth = rate + 0.5f * sigma * sigma;
    foreach (i = 0 ... options) {
        float price = prices[i], strike = strikes[i], time = years[i];
        float spread = sigma * sqrt(time);
        float d1 = (log(price / strike) + growth * time) / spread;
        float d2 = d1 - spread;
        float discounted = strike * exp(-rate * time);
        float call = price * cumulative(d1) - discounted * cumulative(d2);
        calls[i] = call;
        puts[i] = call + discounted - price;
    }
}

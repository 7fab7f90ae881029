// Prices of European options by Black and Scholes, four at a time.
float4 normal(float4 x) {
  const float4 k = 1.0f / (1.0f + 0.2316419f * fabs(x));
  float4 sum = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  sum *= 0.39894228040f * exp(-0.5f * x * x);
  return select(sum, 1.0f - sum, x >= 0.0f);
}

kernel void black_scholes(global const float4 *chance, global float4 *call, global float4 *put, int width) {
  const size_t place = get_global_id(1) * width + get_global_id(0);
  const float4 c = chance[place];
  const float4 price = 10.0f * c + 100.0f * (1.0f - c), strike = price;
  const float4 years = 1.0f * c + 10.0f * (1.0f - c);
  const float4 rate = 0.01f * c + 0.05f * (1.0f - c), volatility = 0.01f * c + 0.10f * (1.0f - c);
  const float4 spread = volatility * sqrt(years);
  const float4 d1 = (log(price / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;
  const float4 d2 = d1 - spread, discounted = strike * exp(-rate * years);
  call[place] = price * normal(d1) - discounted * normal(d2);
  put[place] = discounted * normal(-d2) - price * normal(-d1);
}

#include <math.h>
#include <stdint.h>

static inline double of_one(double x)
{
    double product = 1;
    for (; x < 8; x++)
        product *= x;
    double inverse = 1 / x, r = inverse * inverse;
    double series = -1. / 1680 + r * (1. / 1188 - r * (691. / 360360));
    series = 1. / 12 + r * (-1. / 360 + r * (1. / 1260 + r * series));
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + inverse * series - log(product);
}

void log_gamma(const double *restrict x, int64_t count, double *restrict values, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        values[i] = of_one(x[i]);
}

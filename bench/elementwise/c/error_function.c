#include <math.h>
#include <stdint.h>

static inline double of_one(double x)
{
    double size = fabs(x), square = size * size, value;
    if (size < 2) {
        double term = size, total = size;
        for (double n = 1; fabs(term) > 1e-17 * total; n++) {
            term *= -square / n;
            total += term / (2 * n + 1);
        }
        value = 1.1283791670955126 * total;
    } else {
        double fraction = 0;
        for (double level = 4 + floor(200 / square); level > 0; level--)
            fraction = 0.5 * level / (size + fraction);
        value = 1 - 0.5641895835477563 * exp(-square) / (size + fraction);
    }
    return x >= 0 ? value : -value;
}

void error_function(const double *restrict x, int64_t count, double *restrict values, int64_t size)
{
    PARALLEL_FOR
    for (int64_t i = 0; i < count; i++)
        values[i] = of_one(x[i]);
}

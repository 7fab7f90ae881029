#include <math.h>

void each(long n, const double *restrict x, double *restrict y) {
  for (long i = 0; i < n; i++) {
    double v = x[i];
    double k = 0.0;
    while (v > 1.0) {
      v *= 0.5;
      k += 1.0;
    }
    if (k > 3.0)
      k = lgamma(k) * v;
    y[i] = k + v;
  }
}

void through(long n, const long *restrict at, const double *restrict x, double *restrict y) {
  for (long i = 0; i < n; i++) {
    double v = x[at[i]];
    if (v > 0.5)
      v = v / x[i];
    y[at[i]] = v;
  }
}

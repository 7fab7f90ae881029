// Functions that compute between their loops with what these have found.
#include <math.h>

void normalize(int n, double *a) {
  double s = 0;
  for (int i = 0; i < n; i++)
    s += a[i];
  for (int i = 0; i < n; i++)
    a[i] /= s;
}
float spread(int n, const float *x, float *y) {
  float m = x[0], s = 0;
  for (int i = 0; i < n; i++)
    if (x[i] > m)
      m = x[i];
  for (int i = 0; i < n; i++) {
    y[i] = x[i] - m;
    s += y[i];
  }
  float mean = s / n * 0.1f + 0.7f;
  for (int i = 0; i < n; i++)
    y[i] /= mean;
  return sqrtf(mean * mean) / 3;
}
double power(int n, int rounds, const double *A, double *x, double *y) {
  double norm = 0;
  for (int t = 0; t < rounds; t++) {
    norm = 0;
    for (int i = 0; i < n; i++) {
      double s = 0;
      for (int j = 0; j < n; j++)
        s += A[i * n + j] * x[j];
      y[i] = s;
    }
    for (int i = 0; i < n; i++)
      norm += y[i];
    norm = norm / 2;
    for (int i = 0; i < n; i++)
      x[i] = y[i] - norm;
  }
  return norm;
}
void gradients(int n, int rounds, const double *A, double *x, double *r, double *p, double *q) {
  double rho = 0;
  for (int i = 0; i < n; i++)
    rho += r[i] * r[i];
  for (int t = 0; t < rounds; t++) {
    for (int i = 0; i < n; i++) {
      double s = 0;
      for (int j = 0; j < n; j++)
        s += A[i * n + j] * p[j];
      q[i] = s;
    }
    double d = 0;
    for (int i = 0; i < n; i++)
      d += p[i] * q[i];
    double alpha = rho > d ? 0.5 : -0.25, before = rho;
    rho = 0;
    for (int i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    for (int i = 0; i < n; i++)
      rho += r[i] * r[i];
    double beta = rho < before ? 0.5 : 2;
    for (int i = 0; i < n; i++)
      p[i] = r[i] + beta * p[i];
  }
}
int until(int n, const float *a, float *b, float least) {
  int rounds = 0;
  float moved = least + 1;
  while (moved > least) {
    moved = 0;
    for (int i = 1; i < n - 1; i++) {
      float d = b[i] > a[i] ? b[i] - a[i] : a[i] - b[i];
      moved += d;
    }
    for (int i = 1; i < n - 1; i++)
      b[i] = (b[i] + a[i]) / 2;
    rounds++;
  }
  return rounds;
}
void decompose(int n, double *a) {
  for (int k = 0; k < n; k++) {
    double pivot = a[k * n + k];
    a[k * n + k] = pivot > 0 ? 2 : 4;
    for (int i = k + 1; i < n; i++)
      a[i * n + k] /= a[k * n + k];
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j < n; j++)
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
    a[k * n + k] = pivot;
  }
}
long wrapped(int n, const int *a, unsigned char *b, int *c) {
  int s = 2000000000;
  unsigned char t = 0;
  for (int i = 0; i < n; i++)
    s = (int)((unsigned)s + (unsigned)a[i] * 100000000u);
  for (int i = 0; i < n; i++) {
    t += a[i];
    b[i] = t;
  }
  unsigned u = (unsigned)s * 3u + t;
  for (int i = 0; i < n; i++)
    c[i] = u + i;
  return (long)s + u;
}
int sort_out(int n, const int *a, int *out, int *rest) {
  int k = 0, l = 0;
  for (int i = 0; i < n; i++)
    if (a[i] > 50)
      out[k++] = a[i];
  for (int i = 0; i < n; i++)
    if (a[i] <= 50)
      rest[l++] = a[i];
  if (k > l)
    for (int i = 0; i < l; i++)
      rest[i] = -rest[i];
  for (int i = 0; i < k; i++)
    out[i] -= l;
  return k - l;
}
double alternating(int n, int rounds, double *a, double *b) {
  double s = 0, before = 1;
  for (int t = 0; t < rounds; t++) {
    if (t % 2) {
      for (int i = 0; i < n; i++)
        a[i] = b[i] + s;
    } else {
      for (int i = 0; i < n; i++)
        b[i] = a[i] - before;
    }
    before = s;
    s = 0;
    for (int i = 0; i < n; i++)
      s += a[i] < b[i] ? 1 : 0;
  }
  return s + before;
}
void roots(int rounds, int n, int *u) {
  int ku = 1, ln = 1;
  for (int j = 1; j < (n < 9 ? 1 : rounds); j++) {
    for (int i = 0; i <= ln - 1; i++)
      u[i + ku] = i * ln;
    ku = ku + ln;
    ln = 2 * ln;
  }
}

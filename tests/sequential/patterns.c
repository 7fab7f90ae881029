// Loops that hand something on, each in the forms that programs have, to be written as kernels.
#include <stddef.h>

int sum(int n, const int *a) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += a[i];
  return s;
}
unsigned char bytes(int n, const unsigned char *a) {
  unsigned char s = 3;
  for (int i = 0; i < n; i++)
    s += a[i];
  return s;
}
short shorts(int n, const short *a) {
  short s = -5;
  for (int i = n - 1; i >= 0; i--)
    s -= a[i] * 300;
  return s;
}
long product(long n, const long *a, long first) {
  long p = first;
  for (long i = 0; i < n; i++)
    p *= a[i];
  return p;
}
double dot(int n, const double *x, const double *y) {
  double s = 0;
  for (int i = 0; i < n; i++)
    s += x[i] * y[i];
  return s;
}
double frobenius(int n, int m, const double *A) {
  double s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      s += A[i * m + j] * A[i * m + j];
  return s;
}
int backwards(int n, const int *a) {
  int s = 1;
  for (int i = n - 1; i >= 2; i -= 3)
    s ^= a[i] + i;
  return s;
}
int count(int n, const int *a, int key) {
  int k = 0;
  for (int i = 0; i < n; i++)
    if (a[i] == key)
      k++;
  return k;
}
int both(int n, const int *a) {
  int ok = 1;
  for (int i = 0; i < n; i++)
    ok &= a[i] > 0;
  return ok;
}
int least(int n, const int *a, int first) {
  int m = first;
  for (int i = 0; i < n; i++)
    if (a[i] < m)
      m = a[i];
  return m;
}
unsigned greatest(unsigned n, const unsigned *a) {
  unsigned m = 0;
  for (unsigned i = 0; i < n; i++)
    m = a[i] > m ? a[i] : m;
  return m;
}
double least_float(int n, const double *a, double first) {
  double m = first;
  for (int i = 0; i < n; i++)
    if (a[i] < m)
      m = a[i];
  return m;
}
float last_greatest(int n, const float *a, float first) {
  float m = first;
  for (int i = 0; i < n; i++)
    if (a[i] >= m)
      m = a[i];
  return m;
}
int where_least(int n, const float *a, float first) {
  float m = first;
  int at = -1;
  for (int i = 0; i < n; i++)
    if (a[i] < m) {
      m = a[i];
      at = i;
    }
  return at;
}
int where_last(int n, const int *a, int first) {
  int m = first, at = -1;
  for (int i = n - 1; i >= 0; i--)
    if (a[i] >= m) {
      m = a[i];
      at = 2 * i;
    }
  return at;
}
int two_sums(int n, const int *a, const int *b) {
  int s = 0, t = 1;
  for (int i = 0; i < n; i++) {
    s += a[i];
    t *= b[i];
  }
  return s + t;
}
long running(int n, const int *a, long *b) {
  long s = 0;
  for (int i = 0; i < n; i++) {
    s += a[i];
    b[i] = s;
  }
  return s;
}
void exclusive(int n, const int *a, int *b) {
  int s = 5;
  for (int i = 0; i < n; i++) {
    b[i] = s;
    s += a[i];
  }
}
void running_least(int n, const int *a, int *b, int first) {
  int m = first;
  for (int i = 0; i < n; i++) {
    m = a[i] < m ? a[i] : m;
    b[i] = m;
  }
}
float running_floats(int n, const float *a, float *b) {
  float s = 0;
  for (int i = 0; i < n; i++) {
    s += a[i];
    b[i] = s;
  }
  return s;
}
int compact(int n, const int *a, int *out) {
  int k = 0;
  for (int i = 0; i < n; i++)
    if (a[i] > 50)
      out[k++] = a[i];
  return k;
}
int pairs(int n, const int *a, int *out) {
  int k = 0;
  for (int i = n - 1; i > 0; i--) {
    if (a[i] > 80) {
      out[k] = a[i];
      out[k + 1] = i;
      k += 2;
    }
  }
  return k;
}
int find(int n, const int *a, int key) {
  for (int i = 0; i < n; i++)
    if (a[i] == key)
      return i;
  return -1;
}
int find_last(int n, const int *a, int key) {
  int i;
  for (i = n - 1; i >= 0; i--)
    if (a[i] == key)
      break;
  return i;
}
long find_either(long n, const double *a, double low, double high) {
  for (long i = 0; i < n; i += 2) {
    if (a[i] < low)
      return i;
    if (a[i] > high)
      return -i;
  }
  return 0;
}
int find_row(int n, int m, const int *A, int key) {
  for (int i = 0; i < n; i++) {
    int s = 0;
    for (int j = 0; j < m; j++)
      s += A[i * m + j];
    if (s == key)
      return i;
  }
  return -1;
}
long wrapping(int n, const int *a, long *b) {
  unsigned s = 4000000000u;
  int t = 0;
  for (int i = 0; i < n; i++) {
    s += a[i] * 100000000;
    t += a[i] - 50;
    b[i] = s % 7 + t;
  }
  return s;
}
void add_to(int n, const int *a, long *b, int *c) {
  for (int i = 0; i < n; i++) {
    if (a[i] > 20)
      *b += a[i];
    c[1] -= a[i + 1];
  }
}
long in_place(int n, int *a) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += a[i];
    a[i] = s;
  }
  return s;
}
long stored_first(int n, const int *a, int *b, const int *c, long *d) {
  long s = 0;
  for (int i = 0; i < n; i++) {
    if (a[i] > 40)
      b[i] = a[i] * 2;
    s += b[i];
    d[i] = s;
  }
  return s;
}
void onward(int n, int *a) {
  for (int i = 1; i < n; i++)
    a[i] += a[i - 1];
}
void onward_floats(int n, float *a, const float *b, float *c) {
  for (int i = 1; i < n; i++) {
    a[i] = a[i - 1] - b[i];
    c[i] = a[i] * 2;
  }
}
void downward(long n, long *a, const long *b) {
  for (long i = n - 1; i >= 0; i--)
    a[i] = b[i] ^ a[i + 1];
}
void each_second(int n, unsigned *a, const unsigned *b) {
  for (int i = 2; i <= n; i += 2)
    a[i] = a[i - 2] * b[i];
}
void onward_rows(int n, int m, int *a) {
  for (int j = 0; j < m; j++)
    for (int i = 1; i < n; i++)
      a[j * n + i] += a[j * n + i - 1];
}
unsigned char running_bytes(int n, const unsigned char *a, unsigned char *b) {
  unsigned char s = 3;
  for (int i = 0; i < n; i++) {
    s += a[i];
    b[i] = s;
  }
  return s;
}
void running_shorts(int n, const short *a, short *b, int *c) {
  short s = -5;
  for (int i = n - 1; i >= 0; i--) {
    b[i] = s;
    c[i] = s * 3;
    s -= a[i] * 300;
  }
}
short running_product(int n, const short *a, short *b) {
  short s = 7;
  for (int i = 1; i < n; i++) {
    s *= a[i] | 1;
    b[i] = s;
  }
  return s;
}
void onward_bytes(int n, unsigned char *a) {
  for (int i = 1; i < n; i++)
    a[i] += a[i - 1];
}
void onward_shorts(int n, short *a, const short *b, int *c) {
  for (int i = 1; i < n; i++) {
    a[i] = a[i - 1] ^ b[i];
    c[i] = a[i] * 5;
  }
}
double running_greatest(int n, const double *a, double *b, double first) {
  double m = first;
  for (int i = 0; i < n; i++) {
    if (a[i] > m)
      m = a[i];
    b[i] = m;
  }
  return m;
}
float running_last(int n, const float *a, float *b, float first) {
  float m = first;
  for (int i = n - 1; i >= 0; i--) {
    b[i] = m;
    m = a[i] <= m ? a[i] : m;
  }
  return m;
}
float running_any(int n, const float *a, float *b, float first) {
  float m = first;
  for (int i = 0; i < n; i++) {
    m = m > a[i] ? m : a[i];
    b[i] = m;
  }
  return m;
}
int running_byte(int n, const unsigned char *a, unsigned char *b) {
  unsigned char m = 7;
  for (int i = 0; i < n; i++) {
    if (a[i] > m)
      m = a[i];
    b[i] = m;
  }
  return m;
}
unsigned char greatest_byte(int n, const unsigned char *a) {
  unsigned char m = 0;
  for (int i = 0; i < n; i++)
    if (a[i] > m)
      m = a[i];
  return m;
}
short least_short(int n, const short *a) {
  short m = 100;
  for (int i = 0; i < n; i++)
    m = a[i] < m ? a[i] : m;
  return m;
}
void products(int n, const double *x, const double *y, const int *bin, double *h, double *s) {
  for (int i = 0; i < n; i++) {
    h[bin[i]] += x[i] * y[i];
    *s += x[i] * y[i + 1];
  }
}
void switched(int n, const int *a, int *b) {
  for (int i = 0; i < n; i++) {
    int v;
    switch (a[i]) {
    case 1:
      v = b[i];
      break;
    case 5:
      v = b[i] * 2;
    case 9:
      v = b[i] - 1;
      break;
    case 14:
    case 15:
      v = 7;
      break;
    case 21:
      v = b[i] * b[i];
      break;
    case 33:
      continue;
    case 40:
      v = -b[i];
      break;
    default:
      v = 1;
    }
    b[i] = v;
  }
}

// Loops of every shape that clang rotates, nests and leaves early.

int sum(const int *x, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}

unsigned sum_down(const unsigned *x, unsigned n) {
  unsigned s = 0;
  while (n--) s += x[n];
  return s;
}

int do_loop(int n) {
  int s = 1;
  do { s *= 3; } while (--n > 0);
  return s;
}

void saxpy(float a, const float *restrict x, float *restrict y, long n) {
#pragma clang loop vectorize(assume_safety)
  for (long i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void matmul(int n, const double *a, const double *b, double *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = 0;
      for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}

int mandelbrot(float cr, float ci, int limit) {
  float x = 0, y = 0;
  int n = 0;
  while (n < limit && x * x + y * y <= 4.0f) {
    float t = x * x - y * y + cr;
    y = 2 * x * y + ci;
    x = t;
    n++;
  }
  return n;
}

long find(const char *s, char c) {
  for (long i = 0;; i++) {
    if (s[i] == c) return i;
    if (!s[i]) break;
  }
  return -1;
}

int collatz(unsigned long n) {
  int steps = 0;
  while (n != 1) {
    if (n & 1) n = 3 * n + 1;
    else n >>= 1;
    steps++;
  }
  return steps;
}

void bubble(short *v, int n) {
  int swapped;
  do {
    swapped = 0;
    for (int i = 1; i < n; i++)
      if (v[i - 1] > v[i]) {
        short t = v[i];
        v[i] = v[i - 1];
        v[i - 1] = t;
        swapped = 1;
      }
  } while (swapped);
}

int skip_some(const int *x, int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    if (x[i] < 0) continue;
    if (x[i] > 1000) break;
    s += x[i];
  }
  return s;
}

void prefix(float *x, int n) {
  for (int i = 1; i < n; i++) x[i] += x[i - 1];
}

unsigned gcd(unsigned a, unsigned b) {
  while (b) {
    unsigned t = a % b;
    a = b;
    b = t;
  }
  return a;
}

int count_bits(unsigned long long x) {
  int n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}

int triangle(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) s += i ^ j;
  return s;
}

double power(double x, int n) {
  double r = 1;
  for (int e = n < 0 ? -n : n; e; e >>= 1, x *= x)
    if (e & 1) r *= x;
  return n < 0 ? 1 / r : r;
}

void strided(int *x, int n, int stride) {
#pragma unroll 4
  for (int i = 0; i < n; i += stride) x[i] = i;
}

void never_unrolled(char *x, int n) {
#pragma nounroll
  for (int i = 0; i < n; i++) x[i] = (char)(i * 7);
}

int nested_exit(const int *m, int rows, int cols, int key) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++)
      if (m[r * cols + c] == key) return r * cols + c;
  return -1;
}

void heat(const float *in, float *out, int w, int h) {
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++) {
      const float *p = in + y * w + x;
      out[y * w + x] = 0.25f * (p[-1] + p[1] + p[-w] + p[w]);
    }
}

int binary_search(const int *v, int n, int key) {
  int lo = 0, hi = n - 1;
  while (lo <= hi) {
    int mid = (int)(((unsigned)lo + (unsigned)hi) >> 1);
    if (v[mid] < key) lo = mid + 1;
    else if (v[mid] > key) hi = mid - 1;
    else return mid;
  }
  return ~lo;
}

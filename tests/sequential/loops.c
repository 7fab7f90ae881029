// Loops and their verdicts, each behind "//:" on the line of the loop.
#include <stddef.h>
#include <stdint.h>

// Vectors and matrices, in the manner of PolyBench.
void copy(int n, const double *x, double *y) {
  for (int i = 0; i < n; i++) //: parallel
    y[i] = x[i];
}
void axpy(long n, double a, const double *restrict x, double *restrict y) {
  for (long i = 0; i < n; i++) //: parallel
    y[i] += a * x[i];
}
double dot(int n, const double *x, const double *y) {
  double s = 0;
  for (int i = 0; i < n; i++) //: reduction
    s += x[i] * y[i];
  return s;
}
void matmul(int n, int m, int p, const double *A, const double *B, double *C) {
  for (int i = 0; i < n; i++) //: parallel
    for (int j = 0; j < m; j++) { //: parallel
      double s = 0;
      for (int k = 0; k < p; k++) //: reduction
        s += A[i * p + k] * B[k * m + j];
      C[i * m + j] = s;
    }
}
void matmul_in_place(int n, double A[64][64], double B[64][64], double C[64][64]) {
  for (int i = 0; i < 64; i++) //: parallel
    for (int j = 0; j < 64; j++) { //: parallel
      C[i][j] = 0;
      for (int k = 0; k < n; k++) //: reduction
        C[i][j] += A[i][k] * B[k][j];
    }
}
void transpose(int n, const float *a, float *b) {
  for (int i = 0; i < n; i++) //: parallel
    for (int j = 0; j < n; j++) //: parallel
      b[j * n + i] = a[i * n + j];
}
void transpose_in_place(float a[100][100]) {
  for (int i = 0; i < 100; i++) //: parallel
    for (int j = i + 1; j < 100; j++) { //: parallel
      float t = a[i][j];
      a[i][j] = a[j][i];
      a[j][i] = t;
    }
}
void jacobi(int n, double A[200], double B[200]) {
  for (int t = 0; t < 10; t++) { //: sequential
    for (int i = 1; i < 199; i++) //: parallel
      B[i] = 0.33 * (A[i - 1] + A[i] + A[i + 1]);
    for (int i = 1; i < 199; i++) //: parallel
      A[i] = 0.33 * (B[i - 1] + B[i] + B[i + 1]);
  }
}
void seidel(double A[100][100]) {
  for (int i = 1; i < 99; i++) //: sequential
    for (int j = 1; j < 99; j++) //: sequential
      A[i][j] = (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]) / 5;
}
void triangular_solve(int n, double L[100][100], double *x, const double *b) {
  for (int i = 0; i < n; i++) { //: sequential
    double s = b[i];
    for (int j = 0; j < i; j++) //: reduction
      s -= L[i][j] * x[j];
    x[i] = s / L[i][i];
  }
}
void mirror(int n, int *a) {
  for (int i = 0; i < n / 2; i++) { //: parallel
    int t = a[i];
    a[i] = a[n - 1 - i];
    a[n - 1 - i] = t;
  }
}
void lower_triangle(int n, const double *A, double *L) {
  for (int i = 0; i < n; i++) //: parallel
    for (int j = 0; j <= i; j++) //: parallel
      L[i * n + j] = A[i * n + j];
}
void column_sums(int n, int m, const double *A, double *s) {
  for (int j = 0; j < m; j++) //: parallel
    s[j] = 0;
  for (int i = 0; i < n; i++) //: reduction
    for (int j = 0; j < m; j++) //: parallel
      s[j] += A[i * m + j];
}
void diagonal(int n, double *A) {
  for (int i = 0; i < n; i++) //: parallel
    A[i * n + i] = 1;
}
void three_dimensions(int n, int m, int p, float *a) {
  for (int i = 0; i < n; i++) //: parallel
    for (int j = 0; j < m; j++) //: parallel
      for (int k = 0; k < p; k++) //: parallel
        a[(i * m + j) * p + k] *= 2;
}

// Statements in the manner of TSVC.
void shifted_read(int n, int *a) {
  for (int i = 0; i < n - 1; i++) //: sequential
    a[i] = a[i + 1] * 2;
}
void even_odd(int n, int *a) {
  for (int i = 0; i < n; i++) //: parallel
    a[2 * i] = a[2 * i + 1];
}
void far_apart(int *a) {
  for (int i = 0; i < 100; i++) //: parallel
    a[i] = a[i + 100];
}
void not_far_enough(int *a) {
  for (int i = 0; i < 100; i++) //: sequential
    a[i] = a[i + 99] + a[i + 98];
}
void stride_and_offset(int n, int *a) {
  for (int i = 0; i < n; i += 4) { //: parallel
    a[i] = 0;
    a[i + 1] = 1;
    a[i + 3] = a[i + 2];
  }
}
void downwards(int n, int *a, const int *b) {
  for (int i = n - 1; i >= 0; i--) //: parallel
    a[i] = b[n - 1 - i];
}
void second_counter(int n, int *a, const int *b) {
  int k = 3;
  for (int i = 0; i < n; i++) { //: parallel
    a[k] = b[i];
    k += 2;
  }
}
void odd_counter(unsigned n, unsigned *a) {
  for (unsigned i = 0; i < n; i++) //: parallel
    a[i] = i;
}
void sizes(size_t n, size_t m, float *a) {
  for (size_t i = 0; i < n; i++) //: parallel
    for (size_t j = 0; j < m; j++) //: parallel
      a[i * m + j] = 0;
}
void pointers(float *p, float *end) {
  while (p != end) //: sequential
    *p++ = 1;
}
void two_pointers(int n, const char *s, char *d) {
  for (int i = 0; i < n; i++) //: parallel
    *d++ = *s++;
}
void blocks(int n, double *a) {
  for (int i = 0; i < n; i++) //: parallel
    for (int j = 0; j < 8; j++) //: parallel
      a[8 * i + j] = j;
}
void overlapping_blocks(int n, double *a) {
  for (int i = 0; i < n; i++) //: sequential
    for (int j = 0; j < 9; j++) //: parallel
      a[8 * i + j] = j;
}
void one_iteration(int n, int *a) {
  for (int i = 0; i < n; i++) //: parallel
    if (i == 5)
      a[0] = a[7] + 1;
}
void guarded_halves(int n, int *a) {
  for (int i = 0; i < 2 * n; i++) //: parallel
    if (i >= n)
      a[i] = a[i - n];
}
void known_after_test(int n, int k, int *a) {
  if (k >= n)
    for (int i = 0; i < n; i++) //: parallel
      a[i] = a[i + k];
}
void unknown_distance(int n, int k, int *a) {
  for (int i = 0; i < n; i++) //: sequential
    a[i] = a[i + k];
}
void remainder_index(int n, int *a) {
  for (int i = 0; i < n; i++) //: sequential
    a[i % 8] = i;
}
void each_eighth(int n, int *a) {
  for (int i = 0; i < n; i++) //: parallel
    a[8 * (i / 8) + i % 8] = i;
}
void temporary(int n, const int *a, int *b) {
  for (int i = 0; i < n; i++) { //: parallel
    int t[4];
    for (int j = 0; j < 4; j++) //: parallel
      t[j] = a[4 * i + j];
    for (int j = 0; j < 4; j++) //: parallel
      b[4 * i + j] = t[3 - j];
  }
}
int last_value(int n, const int *a, int *b) {
  int last = 0;
  for (int i = 0; i < n; i++) { //: parallel
    last = a[i];
    b[i] = last + 1;
  }
  return last;
}
void wrap_around(int n, const int *a, int *b) {
  int before = a[n - 1];
  for (int i = 0; i < n; i++) { //: sequential
    b[i] = before;
    before = a[i];
  }
}

// Reductions, scans, histograms, compactions, searches.
int largest(int n, const int *a) {
  int m = a[0];
  for (int i = 1; i < n; i++) //: reduction
    if (a[i] > m)
      m = a[i];
  return m;
}
int where_largest(int n, const float *a) {
  float m = a[0];
  int at = 0;
  for (int i = 1; i < n; i++) { //: reduction
    if (a[i] > m) {
      m = a[i];
      at = i;
    }
  }
  return at;
}
void prefix_sum(int n, const int *a, int *b) {
  int s = 0;
  for (int i = 0; i < n; i++) { //: scan
    s += a[i];
    b[i] = s;
  }
}
void prefix_in_place(int n, int *a) {
  for (int i = 1; i < n; i++) //: scan
    a[i] = a[i - 1] + a[i];
}
void recurrence(int n, double *a, const double *b) {
  for (int i = 1; i < n; i++) //: sequential
    a[i] = a[i - 1] * b[i] + 1;
}
void histogram(int n, const unsigned char *image, int *h) {
  for (int i = 0; i < n; i++) //: histogram
    h[image[i]]++;
}
void weighted_histogram(int n, const int *bin, const float *w, float *h) {
  for (int i = 0; i < n; i++) //: histogram
    h[bin[i]] += w[i];
}
void histogram_and_read(int n, const int *bin, int *h, int *seen) {
  for (int i = 0; i < n; i++) { //: sequential
    h[bin[i]] += 1;
    seen[i] = h[bin[i]];
  }
}
int compact(int n, const int *a, int *out) {
  int k = 0;
  for (int i = 0; i < n; i++) //: compaction
    if (a[i] > 0)
      out[k++] = a[i];
  return k;
}
int compact_always(int n, const int *a, int *out) {
  int k = 0;
  for (int i = 0; i < n; i++) { //: sequential
    out[k] = a[i];
    k += a[i] > 0;
  }
  return k;
}
int find(int n, const int *a, int key) {
  for (int i = 0; i < n; i++) //: search
    if (a[i] == key)
      return i;
  return -1;
}
size_t length(const char *s) {
  size_t n = 0;
  while (s[n]) //: search
    n++;
  return n;
}
void until(int n, int *a) {
  for (int i = 0; i < n; i++) { //: sequential
    if (a[i] < 0)
      break;
    a[i] = 1;
  }
}
int count(int n, const int *a) {
  int k = 0;
  for (int i = 0; i < n; i++) //: reduction
    if (a[i] == 3)
      k++;
  return k;
}
int both(int n, const int *a) {
  int ok = 1;
  for (int i = 0; i < n; i++) //: reduction
    ok &= a[i] > 0;
  return ok;
}
double in_memory(int n, const double *a, double *s) {
  for (int i = 0; i < n; i++) //: reduction
    *s += a[i];
  return *s;
}

// Indirection, structures, calls, globals.
void gather(int n, const int *index, const double *x, double *y) {
  for (int i = 0; i < n; i++) //: parallel
    y[i] = x[index[i]];
}
void scatter(int n, const int *index, const double *x, double *y) {
  for (int i = 0; i < n; i++) //: sequential
    y[index[i]] = x[i];
}
typedef struct { float x, y, z; int kind; } point;
void points(int n, point *p) {
  for (int i = 0; i < n; i++) { //: parallel
    p[i].x += 1;
    p[i].z = p[i].y;
  }
}
typedef struct { int rows, columns; double *data; } matrix;
void scale(matrix *m, double by) {
  for (int i = 0; i < m->rows; i++) //: parallel
    for (int j = 0; j < m->columns; j++) //: parallel
      m->data[i * m->columns + j] *= by;
}
static int twice(int x) { return 2 * x; }
static void put(int *a, int at, int value) { a[at] = value; }
void calls(int n, int *a) {
  for (int i = 0; i < n; i++) //: parallel
    put(a, twice(i), i);
}
void calls_same(int n, int *a) {
  for (int i = 0; i < n; i++) //: sequential
    put(a, twice(i / 2), i);
}
int outside(int x);
void unknown_call(int n, int *a) {
  for (int i = 0; i < n; i++) //: sequential
    a[i] = outside(i);
}
double sqrt(double x);
void mathematics(int n, double *a) {
  for (int i = 0; i < n; i++) //: parallel
    a[i] = sqrt(a[i]);
}
int total;
void global_sum(int n, const int *a) {
  for (int i = 0; i < n; i++) //: reduction
    total += a[i];
}
void global_write(int n, const int *a) {
  for (int i = 0; i < n; i++) //: sequential
    total = a[i];
}
static int recursive(int x) { return x < 2 ? x : recursive(x - 1) + recursive(x - 2); }
void recursion(int n, int *a) {
  for (int i = 0; i < n; i++) //: sequential
    a[i] = recursive(i);
}

// Image codes.
void grey(int w, int h, const unsigned char *rgb, unsigned char *out) {
  for (int y = 0; y < h; y++) //: parallel
    for (int x = 0; x < w; x++) { //: parallel
      const unsigned char *p = rgb + 3 * (y * w + x);
      out[y * w + x] = (p[0] * 2 + p[1] * 5 + p[2]) >> 3;
    }
}
void threshold(int n, const unsigned char *a, unsigned char *b, int t) {
  for (int i = 0; i < n; i++) //: parallel
    b[i] = a[i] > t ? 255 : 0;
}
void blur(int w, int h, const float *a, float *b) {
  for (int y = 1; y < h - 1; y++) //: parallel
    for (int x = 1; x < w - 1; x++) { //: parallel
      float s = 0;
      for (int dy = -1; dy <= 1; dy++) //: reduction
        for (int dx = -1; dx <= 1; dx++) //: reduction
          s += a[(y + dy) * w + x + dx];
      b[y * w + x] = s / 9;
    }
}
void flip(int w, int h, unsigned char *a) {
  for (int y = 0; y < h; y++) //: parallel
    for (int x = 0; x < w / 2; x++) { //: parallel
      unsigned char t = a[y * w + x];
      a[y * w + x] = a[y * w + w - 1 - x];
      a[y * w + w - 1 - x] = t;
    }
}
void integral_rows(int w, int h, const int *a, int *b) {
  for (int y = 0; y < h; y++) { //: parallel
    int s = 0;
    for (int x = 0; x < w; x++) { //: scan
      s += a[y * w + x];
      b[y * w + x] = s;
    }
  }
}
void downsample(int w, int h, const float *a, float *b) {
  for (int y = 0; y < h / 2; y++) //: parallel
    for (int x = 0; x < w / 2; x++) //: parallel
      b[y * (w / 2) + x] = a[2 * y * w + 2 * x] + a[2 * y * w + 2 * x + 1];
}
void lookup(int n, const unsigned char *a, unsigned char *b, const unsigned char table[256]) {
  for (int i = 0; i < n; i++) //: parallel
    b[i] = table[a[i]];
}
void clear_border(int w, int h, float *a) {
  for (int x = 0; x < w; x++) { //: parallel
    a[x] = 0;
  }
  for (int y = 0; y < h; y++) { //: parallel
    a[y * w] = 0;
  }
}
// Rows of a size that is a number: that an index stays in its row is assumed, and tested.
void fixed_rows(int n, int m, double c[][1100]) {
  for (int i = 0; i < n; i++) //: parallel
    for (int j = 0; j < m; j++) //: parallel
      c[i][j] *= 2;
}
void beyond_rows(int n, double c[][16]) {
  for (int i = 0; i < n; i++) //: sequential
    for (int j = 0; j < 20; j++) //: parallel
      c[i][j] = i;
}
void fixed_planes(int n, double c[][20][30]) {
  for (int i = 1; i < n - 1; i++) //: parallel
    for (int j = 1; j < n - 1; j++) //: parallel
      for (int k = 1; k < n - 1; k++) //: parallel
        c[i][j][k] = c[i][j][k] + 1;
}

// Loops in order around loops that are parallel.
void steps_of_time(int n, int steps, double a, double *x, double *y) {
  for (int t = 0; t < steps; t++) { //: sequential
    for (int i = 1; i < n - 1; i++) //: parallel
      for (int j = 1; j < n - 1; j++) //: parallel
        y[i * n + j] = x[i * n + j] + a * (x[i * n + j - 1] + x[i * n + n + j]);
    if (t % 2 == 0)
      for (int i = 0; i < n; i++) //: parallel
        x[i * n + i] = t;
    for (int i = 1; i < n - 1; i++) //: parallel
      for (int j = 1; j < n - 1; j++) //: parallel
        x[i * n + j] = y[i * n + j];
  }
}
void shrinking(int n, int *a) {
  for (int k = 0; k < n; k++) //: sequential
    for (int i = k + 1; i < n; i++) //: parallel
      a[i] += a[k] * (n - k);
}
void pivots(int n, double *A) {
  for (int k = 1; k < n; k++) { //: sequential
    double p = A[k * n - n + k] + 1;
    for (int i = 0; i < n; i++) //: parallel
      A[k * n + i] += A[k * n - n + i] / p;
  }
}
void left_early(int n, int *a) {
  for (int k = 0; k < n; k++) { //: sequential
    for (int i = 0; i < n; i++) //: parallel
      a[i] += i;
    if (k == 5)
      break;
  }
}

// The examples of Juravle's thesis.
typedef struct { int *data; int size; } matrix_t;
// §4.2, matrix addition.
int add(int *a, int *b, matrix_t *c, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      c->data[i * N + j] = a[i * N + j] + b[i * N + j];
  return 0;
}
// §4.2, casts: sections are in bytes.
int in[10];
int out[15];
void casts(void) {
  for (int i = 0; i < 15; i++) {
    char *aux = (char *)in;
    out[i] = aux[i];
  }
}
// §4.2, nested patterns.
void nested(int n, int **pp, int *q) {
  for (int i = 0; i < n; i++) {
    int *p = pp[3];
    q[i] = p[i];
  }
}
// §4.2, a loop from -n to n.
void symmetric(int n, float *a) {
  for (int i = -n; i <= n; i++)
    a[i + n] = 0;
}
// §6.1: every fourth element.
void strided(int *a, int *b, int *c, int n) {
  for (int i = -n; i < n; i += 4)
    a[i + 2 * n] = b[i + n] + c[i + n];
}
// §6.2: convolution with what is beyond the end behind it.
void border(int size, int slice, int *in, int *out) {
  for (int i = 0; i < size; i++) {
    int x = 0;
    for (int k = i - slice; k < i + slice; k++) {
      int idx = 0;
      if (k >= 0 && k < size)
        idx = slice + k;
      else
        idx = size + k;
      x += in[idx];
    }
    out[i] = x;
  }
}
// Figure 8.8: a second induction variable.
void induction(int n, int *a, int *b, int *c) {
  int k = 10;
  for (int i = 0; i < n; i++) {
    c[i] = a[k] + b[i];
    k++;
  }
}
// Figure 8.9: symbolic ranges.
void ranges(int n, int m, int *in, int *out, int *use) {
  for (int i = 0; i < n; i++) {
    char *aux = (char *)in;
    int k = i * i;
    out[i] = aux[k];
    if (i < m) {
      use[i] = 1;
    } else {
      int j = i * out[0];
      int l = j * aux[i];
      use[i] = l;
    }
    int mux = m > 10 ? n : m;
    int w = mux + i;
    use[i] += w;
  }
}
// Figure 8.10: expression reconstruction.
int reconstruct(int *img, int n, int m) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    int row_idx = i * n;
    int *row = img + row_idx;
    for (int j = 0; j < m; j++) {
      int val = row[j];
      sum = sum + val;
    }
  }
  return sum;
}
// §8.5: three patterns of signs.
void signs(int b, int c, int e, int *x) {
  int a = 3 * b;
  if (a > 0)
    x[0] = b;
  if (c - e > 0)
    if (b + e > c)
      x[1] = b;
  x[2] = b > 0 ? b : 2 * b;
}
// §8.7: one function, called with different indices.
static int getIndex(int x) { return 2 * x + 4; }
void contexts(int n, int *a, int *b, int *c, int *sum) {
  for (int i = 0; i < n; i++) {
    int s = a[getIndex(i)] + b[getIndex(i * n)];
    for (int k = 0; k < 10; k++)
      s += c[getIndex(k)];
    sum[i] = s;
  }
}
// §9: convolution of a colour image.
typedef struct { int width, height; unsigned char *pixmap; } image_t;
typedef struct { int width, height; int *pixmap; } filter_t;
void convolution(image_t *image, image_t *out_image, filter_t *filter, int filter_gain) {
  for (int y = 0; y < image->height; y += 1) {
    for (int x = 0; x < image->width * 3; x += 3) {
      unsigned char *out_row = &out_image->pixmap[y * image->width * 3];
      int red = 0, grn = 0, blu = 0;
      for (int fy = 0; fy < filter->height; fy += 1) {
        int py = y + fy - (filter->height / 2);
        unsigned char *in_row = &image->pixmap[py * image->width * 3];
        for (int fx = 0; fx < filter->width; fx += 1) {
          int px = x + 3 * (fx - filter->width / 2);
          int coeff = filter->pixmap[fx + fy * filter->width];
          int offlimits = px < 0 || px >= image->width * 3 || py < 0 || py >= image->height;
          red += offlimits ? 0 : in_row[px + 0] * coeff;
          grn += offlimits ? 0 : in_row[px + 1] * coeff;
          blu += offlimits ? 0 : in_row[px + 2] * coeff;
        }
      }
      out_row[x + 0] = red * filter_gain;
      out_row[x + 1] = grn * filter_gain;
      out_row[x + 2] = blu * filter_gain;
    }
  }
}

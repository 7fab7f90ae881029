// Loops marked for vectorization, as a lane-parallel kernel would be written in C.

#define PARALLEL _Pragma("clang loop vectorize(assume_safety) interleave(disable)")

void scale(float *x, int n, float a) { PARALLEL for (int i = 0; i < n; i++) x[i] *= a; }

void threshold(const float *x, unsigned char *out, int n, float t) {
  PARALLEL for (int i = 0; i < n; i++) out[i] = x[i] > t ? 255 : 0;
}

void divergent(const int *x, int *out, int n) {
  PARALLEL for (int i = 0; i < n; i++) {
    int v = x[i], steps = 0;
    while (v > 1) { v = v & 1 ? 3 * v + 1 : v / 2; steps++; }
    out[i] = steps;
  }
}

void gather(const float *x, const int *index, float *out, int n) {
  PARALLEL for (int i = 0; i < n; i++) out[i] = x[index[i]];
}

void histogram(const unsigned char *x, int *bins, int n) { for (int i = 0; i < n; i++) bins[x[i]]++; }

void bilateral(const float *in, float *out, int w, int h, float sigma) {
  for (int y = 0; y < h; y++)
    PARALLEL for (int x = 0; x < w; x++) {
      float c = in[y * w + x], sum = 0, weight = 0;
      for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
          int yy = y + dy, xx = x + dx;
          if (yy < 0 || yy >= h || xx < 0 || xx >= w) continue;
          float v = in[yy * w + xx], d = v - c;
          float k = __builtin_expf(-(d * d) / sigma - (dx * dx + dy * dy) * 0.1f);
          sum += k * v;
          weight += k;
        }
      out[y * w + x] = sum / weight;
    }
}

void sort_network(float *x, int n) {
  PARALLEL for (int i = 0; i < n; i += 4)
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 3 - k; j++)
        if (x[i + j] > x[i + j + 1]) {
          float t = x[i + j];
          x[i + j] = x[i + j + 1];
          x[i + j + 1] = t;
        }
}

void nbody(const double *px, const double *m, double *ax, int n) {
  PARALLEL for (int i = 0; i < n; i++) {
    double a = 0;
    for (int j = 0; j < n; j++) {
      double d = px[j] - px[i], r = d * d + 1e-9;
      a += m[j] * d / (r * __builtin_sqrt(r));
    }
    ax[i] = a;
  }
}

int reduce_max(const int *x, int n) {
  int m = x[0];
  PARALLEL for (int i = 1; i < n; i++) if (x[i] > m) m = x[i];
  return m;
}

void early_return(const float *x, float *out, int n) {
  PARALLEL for (int i = 0; i < n; i++) {
    if (x[i] < 0) continue;
    float r = x[i];
    for (int k = 0; k < 32; k++) {
      float next = 0.5f * (r + x[i] / r);
      if (__builtin_fabsf(next - r) < 1e-6f) break;
      r = next;
    }
    out[i] = r;
  }
}

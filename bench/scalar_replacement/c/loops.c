/* Loops of one thread each, with values that one iteration hands to the next. Thread t of T works on a column of rows of
   T numbers ("along"), or on a part of its own of E numbers ("part", the paper's modified pattern). k has integers. */

#define ARGS int t, const float *restrict a, const float *restrict b, const int *restrict k, float *restrict out, int n

enum { T = 1024, E = 64, D = 4 };

#define AT(i) a[(i) * T + t]

void stencil5(ARGS) {
    for (int i = 2; i < n - 2; i++)
        out[i * T + t] = b[0] * AT(i - 2) + b[1] * AT(i - 1) + b[2] * AT(i) + b[3] * AT(i + 1) + b[4] * AT(i + 2);
}

void stencil5_part(ARGS) {
    const float *p = a + t * E;
    for (int i = 2; i < E - 2; i++)
        out[t * E + i] = b[0] * p[i - 2] + b[1] * p[i - 1] + b[2] * p[i] + b[3] * p[i + 1] + b[4] * p[i + 2];
}

void stencil5_masked(ARGS) {
    for (int i = 2; i < n - 2; i++)
        if (k[t] > 3)
            out[i * T + t] = AT(i - 2) + AT(i - 1) + AT(i) + AT(i + 1) + AT(i + 2);
}

void stencil9(ARGS) {
    for (int i = 1; i < n - 1; i++) {
        float s = 0;
        for (int x = -1; x <= 1; x++)
            s += b[0] * a[(i - 1) * T + t + x] + b[1] * a[i * T + t + x] + b[2] * a[(i + 1) * T + t + x];
        out[i * T + t] = s;
    }
}

#define ROW(i) (a[(i) * T + t] + a[(i) * T + t + 1] + a[(i) * T + t + 2] + a[(i) * T + t + 3] + a[(i) * T + t + 4])
void stencil25(ARGS) {
    for (int i = 2; i < n - 2; i++)
        out[i * T + t] = b[0] * ROW(i - 2) + b[1] * ROW(i - 1) + b[2] * ROW(i) + b[3] * ROW(i + 1) + b[4] * ROW(i + 2);
}

#define SOBEL(P) { \
    float gx = P(i + 1, -1) + 2 * P(i + 1, 0) + P(i + 1, 1) - P(i - 1, -1) - 2 * P(i - 1, 0) - P(i - 1, 1); \
    float gy = P(i - 1, 1) + 2 * P(i, 1) + P(i + 1, 1) - P(i - 1, -1) - 2 * P(i, -1) - P(i + 1, -1); \
    out[i * T + t] = gx * gx + gy * gy; }
#define PIXEL(i, x) a[(i) * T + t + 1 + (x)]
void sobel(ARGS) {
    for (int i = 1; i < n - 1; i++)
        SOBEL(PIXEL)
}

#define WEIGH(v) { float d = (v) - c; float w = 1.0f / (1.0f + d * d); sum += w * (v); all += w; }
void bilateral(ARGS) {
    for (int i = 1; i < n - 1; i++) {
        float c = PIXEL(i, 0), sum = 0, all = 0;
        WEIGH(PIXEL(i - 1, -1)) WEIGH(PIXEL(i - 1, 0)) WEIGH(PIXEL(i - 1, 1))
        WEIGH(PIXEL(i, -1)) WEIGH(PIXEL(i, 0)) WEIGH(PIXEL(i, 1))
        WEIGH(PIXEL(i + 1, -1)) WEIGH(PIXEL(i + 1, 0)) WEIGH(PIXEL(i + 1, 1))
        out[i * T + t] = sum / all;
    }
}

void fir(ARGS) {
    for (int i = 0; i < n - 8; i++)
        out[i * T + t] = b[0] * AT(i) + b[1] * AT(i + 1) + b[2] * AT(i + 2) + b[3] * AT(i + 3) + b[4] * AT(i + 4) +
                         b[5] * AT(i + 5) + b[6] * AT(i + 6) + b[7] * AT(i + 7);
}

void conv1d(ARGS) {
    const float *p = a + t * E;
    for (int i = 1; i < E - 1; i++)
        if (p[i] > 0.5f)
            out[t * E + i] = b[0] * p[i - 1] + b[1] * p[i] + b[2] * p[i + 1];
        else
            out[t * E + i] = b[3] * p[i - 1] + b[4] * p[i + 1];
}

void conv2d(ARGS) {
    for (int i = 1; i < n - 1; i++)
        out[i * T + t] = b[0] * PIXEL(i - 1, -1) + b[1] * PIXEL(i - 1, 0) + b[2] * PIXEL(i - 1, 1) +
                         b[3] * PIXEL(i, -1) + b[4] * PIXEL(i, 0) + b[5] * PIXEL(i, 1) +
                         b[6] * PIXEL(i + 1, -1) + b[7] * PIXEL(i + 1, 0) + b[8] * PIXEL(i + 1, 1);
}

#define MAX(x, y) ((x) > (y) ? (x) : (y))
void smith_waterman(ARGS) {
    for (int i = 1; i < n; i++) {
        float best = MAX(a[(i - 1) * T + t] + b[0], a[i * T + t] - b[1]);
        best = MAX(best, out[(i - 1) * T + t] - b[1]);
        out[i * T + t] = MAX(best, 0.0f);
    }
}

void prefix_sum(ARGS) {
    for (int i = 1; i < n; i++)
        out[i * T + t] = out[(i - 1) * T + t] + AT(i);
}

void btree(ARGS) {
    int node = 0;
    for (int level = 0; level < 8; level++) {
        float key = a[t];
        int next = 2 * node + 1;
        if (key > b[node & 63])
            next++;
        else
            out[t] = a[t] - b[node & 63];
        node = next & 1023;
    }
    out[T + t] = node;
}

void bfs(ARGS) {
    for (int e = 0; e < (k[t] & 31); e++) {
        int v = k[T + t + e] & 1023;
        if (b[v & 63] < 0.5f) {
            float reached = a[t] + 1;
            out[T * (e + 1) + t] = reached;
        }
    }
}

void kmeans(ARGS) {
    float nearest = 1e30f;
    int which = 0;
    for (int c = 0; c < 16; c++) {
        float s = 0;
        for (int d = 0; d < D; d++) {
            float x = a[d * T + t] - b[c * D + d];
            s += x * x;
        }
        if (s < nearest) {
            nearest = s;
            which = c;
        }
    }
    out[t] = which;
}

void neighbours(ARGS) {
    float f = 0;
    for (int j = 0; j < n - 2; j++) {
        int other = k[j * T + t] & 1023;
        float d = a[other] - a[t];
        if (d * d < b[0])
            f += b[1] * a[t] * a[other] + b[2] * d;
    }
    out[t] = f;
}

void barnes_hut(ARGS) {
    float f = 0;
    int node = 1;
    while (node < 1024) {
        float d = a[node] - a[t];
        if (d * d > b[0]) {
            f += b[1] * a[node] / (d * d + 1);
            node = 2 * node + 2;
        } else {
            f -= a[node] * a[t];
            node = 2 * node + (k[node] & 1);
        }
    }
    out[t] = f;
}

void matrix_chain(ARGS) {
    for (int i = 1; i < 14; i++) {
        out[i * T + t] = 1e30f;
        for (int j = 0; j < i; j++) {
            float cost = out[j * T + t] + AT(j) * AT(i);
            if (cost < out[i * T + t])
                out[i * T + t] = cost;
        }
    }
}

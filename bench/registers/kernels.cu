// Kernels with the work of the usual suites, small enough for an interpreter. Each takes the same arguments: where
// results go, two arrays of numbers, one of indices from 0 to n - 1, and n. Sizes are in kernels.py.

#define ARGUMENTS float *__restrict__ out, const float *__restrict__ a, const float *__restrict__ b, \
                  const int *__restrict__ c, int n
#define KERNEL extern "C" __global__ void
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL saxpy_strided(ARGUMENTS) {
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) out[i] = 2.5f * a[i] + b[i];
}

KERNEL avg_square(ARGUMENTS) {
    // The paper's example: each thread walks through a column of its own.
    int d = 0, k = 16;
    float s = 0;
    for (int i = threadIdx.x; i < (int)threadIdx.x + k * k; i += k) { s += a[i]; d += 1; }
    out[ID] = s / d;
}

KERNEL sum_triangle(ARGUMENTS) {
    int t = threadIdx.x, d = 0, k = 24;
    float s = 0;
    for (int i = 0; i <= t % k; i++) {
        if (d % 2) s += a[t % k * k + i];
        d += 1;
    }
    out[ID] = s * d;
}

KERNEL euclid(ARGUMENTS) {
    int i = ID;
    if (i < n / 2) {
        float x = a[2 * i] - 0.25f, y = a[2 * i + 1] - 0.75f;
        out[i] = sqrtf(x * x + y * y);
    }
}

KERNEL kmeans_point(ARGUMENTS) {
    int i = ID, best = 0;
    if (i >= n / 8) return;
    float least = 1e30f;
    for (int k = 0; k < 6; k++) {
        float d = 0;
        for (int f = 0; f < 8; f++) { float x = a[i * 8 + f] - b[k * 8 + f]; d += x * x; }
        if (d < least) { least = d; best = k; }
    }
    out[i] = best + least;
}

KERNEL invert_mapping(ARGUMENTS) {
    int i = ID, rows = n / 8;
    if (i < rows)
        for (int f = 0; f < 8; f++) out[i + rows * f] = a[i * 8 + f];
}

KERNEL gaussian_fan1(ARGUMENTS) {
    int i = ID, size = 32, t = 3;
    if (i >= size - 1 - t) return;
    out[size * (i + t + 1) + t] = a[size * (i + t + 1) + t] / (a[size * t + t] + 2);
}

KERNEL gaussian_fan2(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, size = 32, t = 3;
    if (x >= size - 1 - t || y >= size - t) return;
    float m = b[size * (x + 1 + t) + t];
    out[size * (x + 1 + t) + y + t] = a[size * (x + 1 + t) + y + t] - m * a[size * t + y + t];
    if (y == 0) out[2 * size * size + x] = b[x + 1 + t] - m * b[t];
}

KERNEL jacobi(ARGUMENTS) {
    __shared__ float du[10 * 34];
    int x = threadIdx.x + 1, y = threadIdx.y + 1, w = 64, g = (blockIdx.y * 8 + threadIdx.y) * w + blockIdx.x * 32 + threadIdx.x;
    du[y * 34 + x] = a[g];
    if (threadIdx.y == 0) { du[x] = a[g + w]; du[9 * 34 + x] = a[g + 2 * w]; }
    if (threadIdx.x == 0) { du[y * 34] = a[g + 1]; du[y * 34 + 33] = a[g + 2]; }
    __syncthreads();
    float s = (du[y * 34 + x - 1] + du[y * 34 + x + 1] + du[(y - 1) * 34 + x] + du[(y + 1) * 34 + x]) * 0.25f;
    float ix = a[g] * 0.3f, iy = b[g] * 0.7f, frac = (ix * s + iy * s + b[g]) / (ix * ix + iy * iy + 1.0f);
    out[g] = s - ix * frac;
    out[g + n] = s - iy * frac;
}

KERNEL upscale(ARGUMENTS) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y, w = 64, h = 16;
    if (x >= w || y >= h) return;
    float fx = x * 0.5f, fy = y * 0.5f;
    int x0 = (int)fx, y0 = (int)fy;
    float dx = fx - x0, dy = fy - y0;
    float p = a[y0 * w + x0], q = a[y0 * w + x0 + 1], r = a[(y0 + 1) * w + x0], s = a[(y0 + 1) * w + x0 + 1];
    out[y * w + x] = ((p * (1 - dx) + q * dx) * (1 - dy) + (r * (1 - dx) + s * dx) * dy) * 2;
}

KERNEL downscale(ARGUMENTS) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y, w = 64;
    float s = 0;
    for (int j = -1; j <= 2; j++)
        for (int i = -1; i <= 2; i++) {
            int u = min(max(2 * x + i, 0), 31), v = min(max(2 * y + j, 0), 7);
            float k = (i == -1 || i == 2 ? 0.125f : 0.375f) * (j == -1 || j == 2 ? 0.125f : 0.375f);
            s += a[v * w + u] * k;
        }
    out[y * w + x] = s;
}

KERNEL derivatives(ARGUMENTS) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y, w = 64, p = y * w + x;
    float t0 = a[p], t1 = a[p + 1], t2 = a[p + 3], t3 = a[p + 4];
    float u0 = b[p], u1 = b[p + 1], u2 = b[p + 3], u3 = b[p + 4];
    float ix = ((t0 - t1 * 8 + t2 * 8 - t3) + (u0 - u1 * 8 + u2 * 8 - u3)) / 24.0f;
    float v0 = a[p], v1 = a[p + w], v2 = a[p + 3 * w], v3 = a[p + 4 * w];
    float w0 = b[p], w1 = b[p + w], w2 = b[p + 3 * w], w3 = b[p + 4 * w];
    out[p] = ix;
    out[p + n] = ((v0 - v1 * 8 + v2 * 8 - v3) + (w0 - w1 * 8 + w2 * 8 - w3)) / 24.0f;
    out[p + 2 * n] = b[p + 2] - a[p + 2];
}

KERNEL warping(ARGUMENTS) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y, w = 64, h = 16;
    float fx = x + b[y * w + x] * 3, fy = y + b[y * w + x + n / 2] * 3;
    int x0 = (int)floorf(fx), y0 = (int)floorf(fy);
    float dx = fx - x0, dy = fy - y0;
    int x1 = x0 + 1, y1 = y0 + 1;
    x0 = min(max(x0, 0), w - 1); x1 = min(max(x1, 0), w - 1); y0 = min(max(y0, 0), h - 1); y1 = min(max(y1, 0), h - 1);
    float p = a[y0 * w + x0], q = a[y0 * w + x1], r = a[y1 * w + x0], s = a[y1 * w + x1];
    out[y * w + x] = p + dx * (q - p) + dy * (r - p) + dx * dy * (p - q - r + s);
}

KERNEL reduce0(ARGUMENTS) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = a[ID];
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        if (t % (2 * k) == 0) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

KERNEL reduce1(ARGUMENTS) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = a[ID];
    __syncthreads();
    for (int k = 1; k < blockDim.x; k *= 2) {
        int i = 2 * k * t;
        if (i < blockDim.x) s[i] += s[i + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

KERNEL reduce2(ARGUMENTS) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = a[ID];
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

KERNEL reduce3(ARGUMENTS) {
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    float mine = i < n ? a[i] : 0;
    if (i + blockDim.x < n) mine += a[i + blockDim.x];
    s[t] = mine;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] = mine = mine + s[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = mine;
}

KERNEL reduce6(ARGUMENTS) {
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t, step = blockDim.x * 2 * gridDim.x;
    float mine = 0;
    while (i < n) {
        mine += a[i];
        if (i + blockDim.x < n) mine += a[i + blockDim.x];
        i += step;
    }
    s[t] = mine;
    __syncthreads();
    for (int k = 64; k > 32; k >>= 1) { if (t < k) s[t] = mine = mine + s[t + k]; __syncthreads(); }
    if (t < 32) {
        mine += s[t + 32];
        for (int k = 16; k > 0; k >>= 1) mine += __shfl_down_sync(0xffffffff, mine, k);
    }
    if (t == 0) out[blockIdx.x] = mine;
}

KERNEL scalar_products(ARGUMENTS) {
    __shared__ float s[128];
    for (int v = blockIdx.x; v < 8; v += gridDim.x) {
        int base = v * 256;
        float sum = 0;
        for (int i = threadIdx.x; i < 256; i += blockDim.x) sum += a[base + i] * b[base + i];
        s[threadIdx.x] = sum;
        for (int k = 64; k > 0; k >>= 1) {
            __syncthreads();
            if (threadIdx.x < k) s[threadIdx.x] += s[k + threadIdx.x];
        }
        if (threadIdx.x == 0) out[v] = s[0];
        __syncthreads();
    }
}

KERNEL matrix_product(ARGUMENTS) {
    __shared__ float s[16][16], u[16][16];
    int w = 64, tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0;
    for (int k = 0; k < w; k += 16) {
        s[ty][tx] = a[(blockIdx.y * 16 + ty) * w + k + tx];
        u[ty][tx] = b[(k + ty) * w + blockIdx.x * 16 + tx];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[ty][i] * u[i][tx];
        __syncthreads();
    }
    out[(blockIdx.y * 16 + ty) * w + blockIdx.x * 16 + tx] = sum;
}

KERNEL matrix_product_plain(ARGUMENTS) {
    int w = 48, x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < w; k++) sum += a[y * w + k] * b[k * w + x];
    out[y * 64 + x] = sum;
}

KERNEL transpose_tile(ARGUMENTS) {
    __shared__ float s[16][17];
    int w = 64, x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int j = 0; j < 16; j += 4) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
    for (int j = 0; j < 16; j += 4) out[(y + j) * w + x] = s[threadIdx.x][threadIdx.y + j];
}

KERNEL convolve_rows(ARGUMENTS) {
    int x = ID, taps = 9;
    float s = 0;
    for (int k = -taps; k <= taps; k++) {
        int i = x + k;
        if (i >= 0 && i < n) s += a[i] * b[taps + k];
    }
    if (x < n) out[x] = s;
}

KERNEL step_factor(ARGUMENTS) {
    int i = ID, m = n / 5;
    if (i >= m) return;
    float density = a[i] + 1, mx = a[i + m], my = a[i + 2 * m], mz = a[i + 3 * m], energy = a[i + 4 * m] + 5;
    float vx = mx / density, vy = my / density, vz = mz / density;
    float speed2 = vx * vx + vy * vy + vz * vz, pressure = 0.4f * (energy - 0.5f * density * speed2);
    float sound = sqrtf(1.4f * pressure / density);
    out[i] = 0.5f / (sqrtf(b[i] + 1) * (sqrtf(speed2) + sound));
}

KERNEL time_step(ARGUMENTS) {
    int i = ID, m = n / 5;
    if (i >= m) return;
    float factor = b[i] / (4 - (c[i] & 1));
    for (int k = 0; k < 5; k++) out[i + k * m] = a[i + k * m] + factor * b[(i + k * m) % n];
}

__device__ __forceinline__ void flux(float mx, float my, float mz, float vx, float vy, float vz, float p, float de,
                                     float *fx, float *fy, float *fz, float *fe) {
    *fx = vx * mx + p; *fy = vx * my; *fz = vx * mz; *fe = vx * (de + p) + vy * mz - vz * my;
}

KERNEL compute_flux(ARGUMENTS) {
    int i = ID, m = n / 8;
    if (i >= m) return;
    float density = a[i] + 1, mx = a[i + m], my = a[i + 2 * m], mz = a[i + 3 * m], de = a[i + 4 * m] + 5;
    float vx = mx / density, vy = my / density, vz = mz / density, s2 = vx * vx + vy * vy + vz * vz;
    float p = 0.4f * (de - 0.5f * density * s2), sound = sqrtf(1.4f * p / density), fx, fy, fz, fe;
    flux(mx, my, mz, vx, vy, vz, p, de, &fx, &fy, &fz, &fe);
    float rd = 0, rx = 0, ry = 0, rz = 0, re = 0;
    for (int k = 0; k < 4; k++) {
        int j = c[i + k * m] % m;
        float nx = b[i + k * m], ny = b[i + ((k + 1) % 4) * m], nz = b[i + ((k + 2) % 4) * m];
        float area = sqrtf(nx * nx + ny * ny + nz * nz);
        float dn = a[j] + 1, mxn = a[j + m], myn = a[j + 2 * m], mzn = a[j + 3 * m], den = a[j + 4 * m] + 5;
        float vxn = mxn / dn, vyn = myn / dn, vzn = mzn / dn, s2n = vxn * vxn + vyn * vyn + vzn * vzn;
        float pn = 0.4f * (den - 0.5f * dn * s2n), soundn = sqrtf(1.4f * pn / dn), gx, gy, gz, ge;
        if (j % 5 == 0) { rx += nx * p; ry += ny * p; rz += nz * p; continue; }
        flux(mxn, myn, mzn, vxn, vyn, vzn, pn, den, &gx, &gy, &gz, &ge);
        float factor = -area * 0.2f * 0.5f * (s2 + sqrtf(s2n) + sound + soundn);
        rd += factor * (density - dn); re += factor * (de - den);
        rx += factor * (mx - mxn); ry += factor * (my - myn); rz += factor * (mz - mzn);
        factor = 0.5f * nx;
        rd += factor * (mxn + mx); re += factor * (ge + fe); rx += factor * (gx + fx);
        ry += factor * (gy + fy); rz += factor * (gz + fz);
        factor = 0.5f * ny;
        rd += factor * (myn + my); re += factor * (ge - fe); rx += factor * (gy + fy);
    }
    out[i] = rd; out[i + m] = rx; out[i + 2 * m] = ry; out[i + 3 * m] = rz; out[i + 4 * m] = re;
}

KERNEL bicubic(ARGUMENTS) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y, w = 64;
    float fx = x * 0.4f + 1.5f, fy = y * 0.4f + 1.5f;
    int px = (int)fx, py = (int)fy;
    float u = fx - px, v = fy - py;
    float wx[4] = {u * (-0.5f + u * (1 - 0.5f * u)), 1 + u * u * (-2.5f + 1.5f * u), u * (0.5f + u * (2 - 1.5f * u)),
                   u * u * (-0.5f + 0.5f * u)};
    float wy[4] = {v * (-0.5f + v * (1 - 0.5f * v)), 1 + v * v * (-2.5f + 1.5f * v), v * (0.5f + v * (2 - 1.5f * v)),
                   v * v * (-0.5f + 0.5f * v)};
    float s = 0;
    for (int j = 0; j < 4; j++) {
        float r = 0;
        for (int i = 0; i < 4; i++) r += wx[i] * a[(py + j - 1) * w + px + i - 1];
        s += wy[j] * r;
    }
    out[y * w + x] = s;
}

KERNEL vertex_wave(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, w = 64, h = 16;
    float u = x / (float)w * 2 - 1, v = y / (float)h * 2 - 1;
    float z = __sinf(u * 4 + 0.5f) * __cosf(v * 4 + 0.5f) * 0.5f;
    float4 p = make_float4(u, z, v, 1);
    ((float4 *)out)[y * w + x] = p;
}

KERNEL sobol(ARGUMENTS) {
    __shared__ unsigned v[32];
    if (threadIdx.x < 32) v[threadIdx.x] = ((unsigned)c[threadIdx.x] << (31 - threadIdx.x)) | 1u << (31 - threadIdx.x);
    __syncthreads();
    int i0 = ID, stride = gridDim.x * blockDim.x;
    unsigned g = i0 ^ (i0 >> 1), x = 0, mask;
    for (unsigned k = 0; k < __ffs(stride) - 1; k++) x ^= (g & 1) ? v[k] : 0, g >>= 1;
    out[i0] = x * 2.3283064365386962890625e-10f;
    mask = v[__ffs(stride) - 2];
    for (int i = i0 + stride; i < n; i += stride) {
        x ^= mask ^ v[__ffs(~((i - stride) | (stride - 1))) - 1 & 31];
        out[i] = x * 2.3283064365386962890625e-10f;
    }
}

KERNEL pgain(ARGUMENTS) {
    int i = ID, dims = 8, m = n / 8;
    if (i >= m) return;
    float d = 0;
    for (int k = 0; k < dims; k++) { float x = a[k * m + i] - a[k * m + 5]; d += x * x; }
    d = d * b[i] - b[i + m];
    int at = c[i] % 16;
    if (d < 0) { out[i] = d; out[i + m] = at; }
    else { out[i] = 0; out[i + m] = -at; out[i + 2 * m] = d; }
}

KERNEL mandelbrot(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, w = 64;
    float cx = x * (3.0f / w) - 2.25f, cy = y * 0.15f - 1.2f, u = 0, v = 0;
    int k = 0;
    while (k < 40 && u * u + v * v < 4) { float t = u * u - v * v + cx; v = 2 * u * v + cy; u = t; k++; }
    out[y * w + x] = k;
}

KERNEL pathfinder(ARGUMENTS) {
    __shared__ float prev[128], next[128];
    int t = threadIdx.x, first = blockIdx.x * (128 - 2 * 4) - 4, x = first + t, steps = 4, w = 1024;
    bool valid = x >= 0 && x < w, computed = false;
    if (valid) prev[t] = a[x];
    __syncthreads();
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (t >= i + 1 && t <= 126 - i && valid) {
            computed = true;
            float l = x > 0 ? prev[t - 1] : prev[t], u = prev[t], r = x < w - 1 ? prev[t + 1] : prev[t];
            next[t] = fminf(fminf(l, u), r) + b[w * (i + 1) + x];
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (computed) prev[t] = next[t];
        __syncthreads();
    }
    if (computed) out[x] = next[t];
}

__device__ __forceinline__ float normal(float d) {
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float p = 0.39894228f * __expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - p : p;
}

KERNEL black_scholes(ARGUMENTS) {
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) {
        float s = 5 + 25 * a[i], x = 1 + 99 * b[i], t = 0.25f + (c[i] & 7), r = 0.02f, v = 0.3f;
        float root = sqrtf(t), d1 = (__logf(s / x) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
        float p1 = normal(d1), p2 = normal(d2), e = __expf(-r * t);
        out[i] = s * p1 - x * e * p2;
        out[i + n] = x * e * (1 - p2) - s * (1 - p1);
    }
}

KERNEL bilateral(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, w = 64, h = 16, r = 2;
    float sum = 0, t = 0, centre = a[y * w + x];
    for (int i = -r; i <= r; i++)
        for (int j = -r; j <= r; j++) {
            int u = min(max(x + j, 0), w - 1), v = min(max(y + i, 0), h - 1);
            float p = a[v * w + u], d = p - centre, f = b[i + r] * b[j + r] * __expf(-d * d * 12.5f);
            sum += f; t += f * p;
        }
    out[y * w + x] = t / sum;
}

KERNEL nlm(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x + 4, y = blockIdx.y * blockDim.y + threadIdx.y + 4, w = 72;
    float centre = a[y * w + x], sum = 0, total = 0, count = 0;
    for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++) {
            float p = a[(y + j) * w + x + i], d = p - centre, e = __expf(-(d * d * 0.2f + (i * i + j * j) * 0.1f));
            total += e; sum += e * p; count += e > 0.5f ? 0.04f : 0;
        }
    float q = count > 0.3f ? 0.2f : 0.8f;
    out[y * w + x] = sum / total * (1 - q) + centre * q;
}

KERNEL volume(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x / 32.0f - 1, v = y / 8.0f - 1, len = rsqrtf(u * u + v * v + 4);
    float dx = u * len, dy = v * len, dz = -2 * len, ox = 0, oy = 0, oz = 4;
    float ix = 1 / (dx + 1e-6f), iy = 1 / (dy + 1e-6f), iz = 1 / dz;
    float ax = (-1 - ox) * ix, bx = (1 - ox) * ix, ay = (-1 - oy) * iy, by = (1 - oy) * iy, az = (-1 - oz) * iz, bz = (1 - oz) * iz;
    float near = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fminf(az, bz));
    float far = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fmaxf(az, bz));
    float r = 0, g = 0, alpha = 0, t = fmaxf(near, 0);
    if (near < far)
        for (int i = 0; i < 24; i++) {
            int p = ((int)((ox + dx * t) * 3.5f + 3.5f) & 7) + 8 * ((int)((oy + dy * t) * 3.5f + 3.5f) & 7) +
                    64 * ((int)((oz + dz * t) * 3.5f + 3.5f) & 7);
            float s = a[p] * 0.2f, m = (1 - alpha) * s;
            r += m * b[p & 31]; g += m * b[(p & 31) + 32]; alpha += m;
            if (alpha > 0.9f) break;
            t += 0.1f;
            if (t > far) break;
        }
    out[2 * (y * 64 + x)] = r; out[2 * (y * 64 + x) + 1] = g;
}

KERNEL bfs(ARGUMENTS) {
    int i = ID, m = n / 4;
    if (i < m && (c[i] & 1)) {
        for (int k = 0; k < (c[i] & 3) + 1; k++) {
            int j = c[i + k * m % n] % m;
            if (!(c[j] & 4)) out[m + i] = a[i] + 1 + k * b[j];
        }
        out[i] = 1;
    }
}

KERNEL hotspot(ARGUMENTS) {
    __shared__ float t[16][16], p[16][16], s[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, w = 40, its = 2;
    int by = 12 * blockIdx.y - 2, bx = 12 * blockIdx.x - 2, y = by + ty, x = bx + tx, at = y * w + x;
    bool inside = x >= 0 && x < w && y >= 0 && y < w;
    if (inside) { t[ty][tx] = a[at]; p[ty][tx] = b[at]; }
    __syncthreads();
    int y0 = by < 0 ? -by : 0, y1 = by + 15 > w - 1 ? 15 - (by + 15 - w + 1) : 15;
    int x0 = bx < 0 ? -bx : 0, x1 = bx + 15 > w - 1 ? 15 - (bx + 15 - w + 1) : 15;
    int north = max(ty - 1, y0), south = min(ty + 1, y1), west = max(tx - 1, x0), east = min(tx + 1, x1);
    bool computed = false;
    for (int i = 0; i < its; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= 14 - i && ty >= i + 1 && ty <= 14 - i && inside) {
            computed = true;
            s[ty][tx] = t[ty][tx] + 0.1f * (p[ty][tx] + (t[south][tx] + t[north][tx] - 2 * t[ty][tx]) * 0.3f +
                        (t[ty][east] + t[ty][west] - 2 * t[ty][tx]) * 0.7f + (80 - t[ty][tx]) * 0.05f);
        }
        __syncthreads();
        if (i == its - 1) break;
        if (computed) t[ty][tx] = s[ty][tx];
        __syncthreads();
    }
    if (computed) out[at] = s[ty][tx];
}

KERNEL cutoff_lattice(ARGUMENTS) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float gx = x * 0.1f, gy = y * 0.1f, e0 = 0, e1 = 0, e2 = 0, e3 = 0;
    for (int k = 0; k < 24; k++) {
        float dx = gx - a[4 * k] * 6, dy = gy - a[4 * k + 1] * 2, z = a[4 * k + 2], q = a[4 * k + 3], r = dx * dx + dy * dy;
        float d0 = z, d1 = z - 0.1f, d2 = z - 0.2f, d3 = z - 0.3f, cut = 0.4f;
        float r0 = r + d0 * d0, r1 = r + d1 * d1, r2 = r + d2 * d2, r3 = r + d3 * d3;
        if (r0 < 4) { float s = 1 - r0 * cut; e0 += q * rsqrtf(r0 + 0.01f) * s * s; }
        if (r1 < 4) { float s = 1 - r1 * cut; e1 += q * rsqrtf(r1 + 0.01f) * s * s; }
        if (r2 < 4) { float s = 1 - r2 * cut; e2 += q * rsqrtf(r2 + 0.01f) * s * s; }
        if (r3 < 4) { float s = 1 - r3 * cut; e3 += q * rsqrtf(r3 + 0.01f) * s * s; }
    }
    int p = y * 64 + x;
    out[p] = e0; out[p + n] = e1; out[p + 2 * n] = e2; out[p + 3 * n] = e3;
}

KERNEL coulomb(ARGUMENTS) {
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = x * 0.05f, cy = y * 0.1f, e0 = 0, e1 = 0, e2 = 0, e3 = 0;
    for (int k = 0; k < 32; k++) {
        float dy = cy - a[4 * k + 1], q = a[4 * k + 3], z = dy * dy + a[4 * k + 2];
        float d0 = cx - a[4 * k], d1 = d0 + 0.05f, d2 = d1 + 0.05f, d3 = d2 + 0.05f;
        e0 += q * rsqrtf(d0 * d0 + z + 0.1f); e1 += q * rsqrtf(d1 * d1 + z + 0.1f);
        e2 += q * rsqrtf(d2 * d2 + z + 0.1f); e3 += q * rsqrtf(d3 * d3 + z + 0.1f);
    }
    int p = y * 256 + x;
    out[p] = e0; out[p + 1] = e1; out[p + 2] = e2; out[p + 3] = e3;
}

KERNEL mri_q(ARGUMENTS) {
    int i = ID;
    float x = a[i], y = a[i + n / 4], z = a[i + n / 2], re = 0, im = 0;
    for (int k = 0; k < 24; k++) {
        float p = 6.2831853f * (b[3 * k] * x + b[3 * k + 1] * y + b[3 * k + 2] * z), m = b[k + 80];
        re += m * __cosf(p); im += m * __sinf(p);
    }
    out[i] = re; out[i + n] = im;
}

KERNEL bodies(ARGUMENTS) {
    __shared__ float4 s[128];
    int i = ID;
    float x = a[4 * i % n], y = a[(4 * i + 1) % n], z = a[(4 * i + 2) % n], ax = 0, ay = 0, az = 0;
    for (int tile = 0; tile < 2; tile++) {
        s[threadIdx.x] = ((const float4 *)b)[(tile * blockDim.x + threadIdx.x) % (n / 4)];
        __syncthreads();
        for (int k = 0; k < 24; k++) {
            float4 p = s[k];
            float dx = p.x - x, dy = p.y - y, dz = p.z - z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = p.w * r * r * r;
            ax += dx * f; ay += dy * f; az += dz * f;
        }
        __syncthreads();
    }
    out[3 * i] = ax; out[3 * i + 1] = ay; out[3 * i + 2] = az;
}

KERNEL stencil3d(ARGUMENTS) {
    int x = threadIdx.x + 1, y = threadIdx.y + blockIdx.x * blockDim.y + 1, w = 34, h = 50;
    float below = a[y * w + x], here = a[(h + y) * w + x];
    for (int z = 1; z < 5; z++) {
        float above = a[((z + 1) * h + y) * w + x];
        int p = (z * h + y) * w + x;
        out[p] = 0.1f * (below + above + a[p - 1] + a[p + 1] + a[p - w] + a[p + w]) - 0.4f * here;
        below = here; here = above;
    }
}

KERNEL lbm_cell(ARGUMENTS) {
    int i = ID, m = n / 9;
    if (i >= m) return;
    float f0 = a[i], f1 = a[i + m], f2 = a[i + 2 * m], f3 = a[i + 3 * m], f4 = a[i + 4 * m], f5 = a[i + 5 * m],
          f6 = a[i + 6 * m], f7 = a[i + 7 * m], f8 = a[i + 8 * m];
    float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8 + 0.1f;
    float ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho, uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
    float s = 1 - 1.5f * (ux * ux + uy * uy), o = 0.6f, p = ux + uy, q = uy - ux;
    out[i] = f0 + o * (rho * 0.444f * s - f0);
    out[i + m] = f1 + o * (rho * 0.111f * (s + 3 * ux + 4.5f * ux * ux) - f1);
    out[i + 2 * m] = f2 + o * (rho * 0.111f * (s + 3 * uy + 4.5f * uy * uy) - f2);
    out[i + 3 * m] = f3 + o * (rho * 0.111f * (s - 3 * ux + 4.5f * ux * ux) - f3);
    out[i + 4 * m] = f4 + o * (rho * 0.111f * (s - 3 * uy + 4.5f * uy * uy) - f4);
    out[i + 5 * m] = f5 + o * (rho * 0.028f * (s + 3 * p + 4.5f * p * p) - f5);
    out[i + 6 * m] = f6 + o * (rho * 0.028f * (s + 3 * q + 4.5f * q * q) - f6);
    out[i + 7 * m] = f7 + o * (rho * 0.028f * (s - 3 * p + 4.5f * p * p) - f7);
    out[i + 8 * m] = f8 + o * (rho * 0.028f * (s - 3 * q + 4.5f * q * q) - f8);
}

KERNEL lud_diagonal(ARGUMENTS) {
    __shared__ float s[16][17];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) if (t < 16) s[i][t] = a[i * 64 + t] + (i == t ? 8 : 0);
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (t > i && t < 16) {
            for (int j = 0; j < i; j++) s[t][i] -= s[t][j] * s[j][i];
            s[t][i] /= s[i][i];
        }
        __syncthreads();
        if (t > i && t < 16)
            for (int j = 0; j < i + 1; j++) s[i + 1][t] -= s[i + 1][j] * s[j][t];
        __syncthreads();
    }
    for (int i = 1; i < 16; i++) if (t < 16) out[i * 64 + t] = s[i][t];
}

KERNEL needle(ARGUMENTS) {
    __shared__ float s[17][17];
    int t = threadIdx.x;
    if (t < 16) {
        s[0][t + 1] = a[t]; s[t + 1][0] = b[t];
        if (t == 0) s[0][0] = 0;
    }
    __syncthreads();
    for (int m = 0; m < 16; m++) {
        if (t <= m) { int x = t + 1, y = m - t + 1; s[y][x] = fmaxf(fmaxf(s[y - 1][x - 1] + a[y * 16 + x], s[y][x - 1] - 0.5f), s[y - 1][x] - 0.5f); }
        __syncthreads();
    }
    if (t < 16) for (int i = 0; i < 16; i++) out[i * 16 + t] = s[i + 1][t + 1];
}

KERNEL backprop(ARGUMENTS) {
    __shared__ float in[16], s[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, at = 17 * (blockIdx.y * 16 + ty) + tx + 18;
    if (tx == 0) in[ty] = a[blockIdx.y * 16 + ty];
    __syncthreads();
    s[ty][tx] = b[at] * in[ty];
    __syncthreads();
    for (int i = 1; i <= 4; i++) {
        int k = 1 << i;
        if (ty % k == 0) s[ty][tx] += s[ty + k / 2][tx];
        __syncthreads();
    }
    out[at] = s[ty][tx];
    if (tx == 0) out[n + blockIdx.y * 16 + ty] = s[tx][ty];
}

KERNEL srad1(ARGUMENTS) {
    int i = ID, w = 32, h = 32;
    if (i >= w * h) return;
    int row = i % h, col = i / h;
    float j = a[i] + 1, dn = a[max(row - 1, 0) + h * col] + 1 - j, ds = a[min(row + 1, h - 1) + h * col] + 1 - j;
    float dw = a[row + h * max(col - 1, 0)] + 1 - j, de = a[row + h * min(col + 1, w - 1)] + 1 - j;
    float g = (dn * dn + ds * ds + dw * dw + de * de) / (j * j), l = (dn + ds + dw + de) / j;
    float num = 0.5f * g - 0.0625f * l * l, den = 1 + 0.25f * l, q = num / (den * den);
    den = (q - 0.3f) / (0.3f * 1.3f);
    float k = 1 / (1 + den);
    out[i] = k < 0 ? 0 : k > 1 ? 1 : k;
    out[i + n] = dn; out[i + 2 * n] = ds; out[i + 3 * n] = dw + de;
}

KERNEL histogram_bins(ARGUMENTS) {
    __shared__ unsigned s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[c[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

KERNEL scan_block(ARGUMENTS) {
    __shared__ float s[256];
    int t = threadIdx.x, o = 1, g = blockIdx.x * 256;
    s[2 * t] = a[g + 2 * t]; s[2 * t + 1] = a[g + 2 * t + 1];
    for (int d = 128; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) { int p = o * (2 * t + 1) - 1, q = o * (2 * t + 2) - 1; s[q] += s[p]; }
        o *= 2;
    }
    if (t == 0) s[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        o >>= 1;
        __syncthreads();
        if (t < d) { int p = o * (2 * t + 1) - 1, q = o * (2 * t + 2) - 1; float x = s[p]; s[p] = s[q]; s[q] += x; }
    }
    __syncthreads();
    out[g + 2 * t] = s[2 * t]; out[g + 2 * t + 1] = s[2 * t + 1];
}

KERNEL bitonic(ARGUMENTS) {
    __shared__ float s[256];
    int t = threadIdx.x, g = blockIdx.x * 256 + t;
    s[t] = a[g]; s[t + 128] = a[g + 128];
    for (int size = 2; size < 256; size <<= 1) {
        bool up = (t & size / 2) != 0;
        for (int k = size / 2; k > 0; k >>= 1) {
            __syncthreads();
            int p = 2 * t - (t & k - 1);
            if (s[p] > s[p + k] == up) { float x = s[p]; s[p] = s[p + k]; s[p + k] = x; }
        }
    }
    __syncthreads();
    out[g] = s[t]; out[g + 128] = s[t + 128];
}

KERNEL spmv_rows(ARGUMENTS) {
    int row = ID, rows = n / 8;
    if (row >= rows) return;
    float s = 0;
    for (int k = row * 8; k < row * 8 + 3 + (c[row] & 3); k++) s += a[k] * b[c[k] % n];
    out[row] = s;
}

KERNEL dct8(ARGUMENTS) {
    int x = ID;
    if (8 * x + 7 >= n) return;
    float v[8], u[8];
    for (int i = 0; i < 8; i++) v[i] = a[8 * x + i];
    for (int i = 0; i < 4; i++) { u[i] = v[i] + v[7 - i]; u[4 + i] = v[i] - v[7 - i]; }
    float p = u[0] + u[3], q = u[1] + u[2], r = u[0] - u[3], s = u[1] - u[2];
    out[8 * x] = 0.354f * (p + q); out[8 * x + 4] = 0.354f * (p - q);
    out[8 * x + 2] = 0.462f * r + 0.191f * s; out[8 * x + 6] = 0.191f * r - 0.462f * s;
    out[8 * x + 1] = 0.49f * u[4] + 0.416f * u[5] + 0.278f * u[6] + 0.098f * u[7];
    out[8 * x + 3] = 0.416f * u[4] - 0.098f * u[5] - 0.49f * u[6] - 0.278f * u[7];
    out[8 * x + 5] = 0.278f * u[4] - 0.49f * u[5] + 0.098f * u[6] + 0.416f * u[7];
    out[8 * x + 7] = 0.098f * u[4] - 0.278f * u[5] + 0.416f * u[6] - 0.49f * u[7];
}

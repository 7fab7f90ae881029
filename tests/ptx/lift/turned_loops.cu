// Compiled with nvcc -O3 -ptx -arch=sm_75 to turned_loops.ptx.
extern "C" {
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int threads = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) y[i] = a * x[i] + y[i];
}
__global__ void scaled(int n, float a, const float *x, float *y) {
    // The step is unsigned, so that i may wrap around: nvcc does not unroll this.
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i];
}
__global__ void row_sums(int n, const int *x, int *out) {
    __shared__ int part[32];
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum = sum * 3 + x[blockIdx.x * n + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = part[31 - threadIdx.x];
}
__global__ void nearest(int n, int k, const float *points, const float *centres, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float best = 3e38f;
        int which = -1;
        for (int c = 0; c < k; c++) {
            float d = points[i] - centres[c];
            if (d * d < best) best = d * d, which = c;
        }
        out[i] = which;
    }
}
__global__ void products(int n, int k, int d, const double *a, const double *b, double *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = 0; j < k; j++) {
            double sum = 0;
            for (int q = 0; q < d; q++) sum += a[i * d + q] * b[j * d + q];
            out[i * k + j] = sum;
        }
}
__global__ void search(int n, int m, const char *text, const char *wanted, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n - m) {
        int k = 0;
        while (k < m && text[i + k] == wanted[k]) k++;
        out[i] = k;
    }
}
}

// The sum of an array, as CUDA programs form it: threads add up what is theirs, warps by shuffles, blocks in shared
// memory, the grid by an atomic addition. `main` is what one would compile for a GPU; weft reads it and leaves it alone.
#include <cstdio>
#include <vector>

template <class T> __device__ T sum_of_warp(T value) {
  for (int n = warpSize / 2; n > 0; n /= 2)
    value += __shfl_down_sync(0xffffffff, value, n);
  return value;
}

template <class T> __global__ void sum(const T *x, int n, T *result) {
  __shared__ T warps[32];
  T value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i];
  value = sum_of_warp(value);
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  if (lane == 0)
    warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = sum_of_warp(lane < blockDim.x / warpSize ? warps[lane] : T(0));
    if (lane == 0)
      atomicAdd(result, value);
  }
}

int main() {
  const int n = 1 << 24;
  std::vector<float> x(n, 1.0f);
  float *device, *result, total;
  cudaMalloc(&device, n * sizeof(float));
  cudaMalloc(&result, sizeof(float));
  cudaMemcpy(device, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(result, 0, sizeof(float));
  sum<<<256, 256>>>(device, n, result);
  cudaMemcpy(&total, result, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", total);
  return 0;
}

"""Sources of libraries, and programs that use them."""

PYTHON = """
import math
import numpy as np
import weft
from weft import cuda


@cuda.jit("void(float32, float32[::1], float32[::1])")
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


@cuda.jit("void(float64[::1], float64[::1])")
def block_sums(x, sums):
    tile = cuda.shared.array(128, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


@cuda.jit("void(int32[::1])")
def apart(x):
    if cuda.threadIdx.x < x[0]:
        cuda.syncthreads()
        x[1] = 1
    cuda.syncthreads()


@weft.jit("float64(float64[::1])", parallel=False, fastmath=True)
def total(x):
    t = 0.0
    for i in weft.prange(x.size):
        t += x[i]
    return t


@weft.jit("Tuple((int64, float32, boolean))(float32[:, :], int64)")
def first_above(a, n):
    for i in range(a.shape[0]):
        if a[i, 0] > n:
            return i, a[i, 0], True
    return -1, np.float32(0), False


@cuda.jit("void(UniTuple(float32[:, :], 2), Tuple((int32, float64)))")
def scaled(arrays, by):
    i, j = cuda.grid(2)
    if i < arrays[0].shape[0] and j < arrays[0].shape[1]:
        arrays[1][i, j] = arrays[0][i, j] * by[0] + by[1]
        if i == 0 and j == 0:
            print("scaled", by[0], by[1], i == 0, -0.1, 1e22, 2e-7, 1 / 3)


@weft.jit("complex128(complex128, float64)")
def turned(z, angle):
    return z * complex(math.cos(angle), math.sin(angle))


@weft.jit("float64[:](float64[::1], int64)")
def thinned(x, by):
    if by < 1:
        raise ValueError("by is at least 1")
    larger = np.zeros(x.size)
    for i in weft.prange(x.size):
        larger[i] = by * x[i]
    return larger[::3]


@weft.jit("Tuple((int32[:, ::1], float32))(int32[:, :])")
def plus_one(a):
    return a + 1, np.float32(a[0, 0])


@weft.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def smooth(x, y):
    return math.exp(-x * x) + y if x > 0 else y
"""
C = """
#include <math.h>
int calls;
static float twist(float x) { return x * x + 1; }
void apply(float *y, const float *x, int n) {
  calls++;
  for (int i = 0; i < n; i++) y[i] = twist(x[i]) + sqrtf(x[i]);
}
double dot(const double *a, const double *b, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}
int count(void) { return calls; }
"""

OPENCL = """
constant float weights[3] = {0.25f, 0.5f, 0.25f};
kernel void blur(global const float *x, global float *y, int n, local float *tile) {
  int i = get_global_id(0), t = get_local_id(0);
  tile[t] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = weights[1] * tile[t];
  if (t > 0) s += weights[0] * tile[t - 1];
  if (t + 1 < get_local_size(0)) s += weights[2] * tile[t + 1];
  if (i < n) y[i] = s + get_work_dim();
}
"""

USE = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels.h"

static char printed[200];

static void keep(const char *text) { strcat(printed, text); }

static float x[1000], y[1000];
static double d[1 << 16], sums[512];

int main(void) {
  for (int i = 0; i < 1000; i++) x[i] = i, y[i] = 1;
  for (int i = 0; i < 1 << 16; i++) d[i] = i % 7;
  const int64_t grid[3] = {8, 1, 1}, many[3] = {512, 1, 1}, block[3] = {128, 1, 1}, wrong[3] = {2000, 1, 1};
  if (saxpy(grid, block, 0, 2, x, 1000, y, 1000)) return 1;
  for (int i = 0; i < 1000; i++) if (y[i] != 2 * x[i] + 1) return 2;
  if (saxpy(grid, wrong, 0, 2, x, 1000, y, 1000) != 3) return 3;
  if (block_sums(many, block, 0, d, 1 << 16, sums, 512)) return 4;
  double all = 0;
  for (int i = 0; i < 512; i++) all += sums[i];
  if (all != total(d, 1 << 16)) return 5;
  float out[5], zeros[5] = {0, 0, 0, 0, 0};
  smooth_0(5, zeros, x, out);
  for (int i = 0; i < 5; i++) if (out[i] != x[i]) return 6;
  int64_t where;
  float value;
  uint8_t found;
  first_above(x, 10, 100, 400, 4, 150, &where, &value, &found);
  if (where != 2 || value != 200 || !found) return 7;
  const int64_t one[3] = {1, 1, 1}, square[3] = {2, 2, 1};
  kernels_print_to(keep);
  if (scaled(one, square, 0, x, 2, 2, 8, 4, y, 2, 2, 4, 8, 3, 0.5)) return 8;
  if (y[0] != 0.5 || y[2] != 3.5 || y[1] != 6.5 || y[3] != 9.5) return 9;
  if (strcmp(printed, "scaled 3 0.5 True -0.1 1e+22 2e-07 0.3333333333333333\\n")) return 10;
  kernels_print_to(0);
  if (scaled(one, square, 0, x, 2, 2, 8, 4, y, 2, 2, 4, 8, 3, 0.5)) return 11;
  double re, im, *thin;
  turned(1, 2, 0, &re, &im);
  if (re != 1 || im != 2) return 12;
  int64_t count, rows, columns;
  for (int i = 0; i < 1000; i++) d[i] = i;
  if (thinned(d, 1000, 2, &thin, &count) || count != 334 || thin[333] != 1998) return 13;
  free(thin);
  int status = thinned(d, 1000, 0, &thin, &count);
  if (status <= 0 || strcmp(thinned_error(status), "ValueError: by is at least 1")) return 14;
  int32_t a[6] = {1, 2, 3, 4, 5, 6}, *more;
  if (plus_one(a, 3, 2, 4, 12, &more, &rows, &columns, &value)) return 15;
  if (rows != 3 || columns != 2 || more[1] != 5 || more[4] != 4 || value != 1) return 16;
  free(more);
  printf("done\\n");
  return 0;
}
"""

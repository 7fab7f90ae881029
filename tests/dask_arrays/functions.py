"""Functions and kernels for chunked arrays; importable, so that workers find them by name."""

import math

import numpy as np

import weft
from weft import cuda


@weft.vectorize
def escape(x, y):
    a, b, n = 0.0, 0.0, 0
    while a * a + b * b < 4.0 and n < 40:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


@weft.guvectorize("void(float64[:], float64[:], float64[:])", "(n),(n)->()")
def dot(x, y, out):
    out[0] = 0.0
    for i in range(x.size):
        out[0] += x[i] * y[i]


@weft.jit
def rooted(a):
    out = np.empty(a.shape, np.float32)
    for i in weft.prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = math.sqrt(abs(a[i, j]))
    return out


@weft.jit
def total(a):
    s, longest = 0.0, -math.inf
    for i in weft.prange(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
            longest = max(longest, a[i, j])
    return s, longest


@weft.jit
def both(left, right):
    return left[0] + right[0], max(left[1], right[1])


@weft.jit
def smooth(a):
    out = np.zeros(a.shape, np.float64)
    for i in weft.prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
    return out


@cuda.jit
def smooth_kernel(a, out):
    j, i = cuda.grid(2)
    if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
        out[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


@cuda.jit
def axpy(a, x, y, where, before):
    j, i = cuda.grid(2)
    if i < y.shape[0] and j < y.shape[1]:
        where[i, j] = before * 1000 + j
        y[i, j] += a * x[i, j]


@cuda.jit
def ramp(out, row, column, width):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = (row + i) * width + column + j


@cuda.jit
def row_sums(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        for j in range(a.shape[1]):
            out[i, 0] += a[i, j]

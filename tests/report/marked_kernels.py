"""Kernels whose lines say what a report is to show beside them: shape, control, memory.

Lines without a comment show nothing, or what does not matter here.
"""

import numpy as np

from weft import cuda

KERNELS = {}


def kernel(types):
    """Note a kernel with the types to report on it for."""

    def decorate(function):
        KERNELS[function.__name__] = function, types
        return function

    return decorate


@kernel("void(float32, float32[::1], float32[::1])")
def saxpy(a, x, y):
    i = cuda.grid(1)  # S1
    if i < x.size:  # T | bound
        y[i] = a * x[i] + y[i]  # T | | contiguous


@kernel("void(float32[:, ::1], float32[::1])")
def row_sums(a, sums):
    i = cuda.grid(1)  # S1
    if i >= sums.size:  # T | bound
        return
    total = 0.0
    for k in range(a.shape[1]):  # U | uniform
        total += a[i, k]  # T | | pieces
    sums[i] = total  # T | | contiguous


@kernel("void(float32[:, ::1], float32[::1])")
def column_sums(a, sums):
    i = cuda.grid(1)  # S1
    if i >= sums.size:  # T | bound
        return
    total = 0.0
    for k in range(a.shape[0]):  # U | uniform
        total += a[k, i]  # T | | contiguous
    sums[i] = total  # T | | contiguous


@kernel("void(int32[::1], float32[::1], float32[::1])")
def permute(index, x, y):
    i = cuda.grid(1)  # S1
    j = index[i]  # T | | contiguous
    y[j] = x[0]  # U | | scatter, uniform
    y[i] = x[j]  # T | | gather, contiguous
    y[2 * i] = x[2 * i + 1]  # T | | interleaved 8


@kernel("void(int64[::1], int64[::1])")
def collatz(starts, steps):
    i = cuda.grid(1)  # S1
    n = starts[i]  # T | | contiguous
    k = 0
    while n > 1:  # T | loop diverges
        k += 1  # U
        if n % 2 == 0:  # T | select
            n = n // 2  # T
            continue
        n = 3 * n + 1  # T
    steps[i] = k  # T | | contiguous


@kernel("void(int32[::1], int32)")
def uniform_stack(out, n):
    stack = cuda.local.array(8, dtype=np.int32)
    top = 0
    for k in range(n):  # U | uniform
        stack[top] = k  # U | | uniform
        top = (top + 1) % 8  # U
    out[cuda.grid(1)] = stack[top]  # U | | contiguous, uniform


@kernel("void(float32[::1], float32[::1])")
def neighbours(x, y):
    i = cuda.grid(1)  # S1
    left = max(i - 1, 0)  # T
    y[i] = x[left] + x[i + 1]  # T | | neighbours, contiguous

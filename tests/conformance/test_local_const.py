"""Local arrays, and constant arrays from the module, a closure and `cuda.const.array_like`."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19], dtype=np.int32)
KERNEL3 = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], dtype=np.float32) / 16
STRIDED = np.arange(20, dtype=np.int64)[::-2]
SIZE = 6

NUMBERS = to_out(np.int64, of(small, np.int64))


@cases.kernel(NUMBERS)
def local_vector(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array(8, dtype=np.int64)
        for k in range(8):
            a[k] = x[i] + k * k
        s = 0
        for k in range(8):
            s = s * 3 + a[7 - k]
        out[i] = s


@cases.kernel(NUMBERS)
def local_matrix_of_a_constant_shape(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array((SIZE, 4), np.int32)
        for r in range(SIZE):
            for c in range(4):
                a[r, c] = r * 10 + c
        out[i] = a[x[i] % SIZE, x[i] % 4]


@cases.kernel(NUMBERS)
def varying_index_into_a_local_array(out, x):
    i = cuda.grid(1)
    if i < out.size:
        counts = cuda.local.array(10, dtype=np.uint8)
        for k in range(10):
            counts[k] = 0
        for k in range(x.size):
            counts[(x[k] + i) % 10] += 1
        out[i] = counts[x[i] % 10] * 100 + counts[0]


@cases.kernel(NUMBERS)
def stack_machine(out, x):
    i = cuda.grid(1)
    if i < out.size:
        stack = cuda.local.array(64, dtype=np.int64)
        top = 0
        stack[0] = x[i]
        top += 1
        s = 0
        while top > 0:
            top -= 1
            v = stack[top]
            s += 1
            if v > 3:
                stack[top] = v // 2
                stack[top + 1] = v // 3
                top += 2
        out[i] = s


@cases.kernel(NUMBERS)
def insertion_sort(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array(6, dtype=np.int64)
        for k in range(6):
            v = x[(i * 5 + k * 7) % x.size]
            j = k
            while j > 0 and a[j - 1] > v:
                a[j] = a[j - 1]
                j -= 1
            a[j] = v
        out[i] = a[0] * 1000000 + a[3] * 1000 + a[5]


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def two_local_arrays_swapped(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array(4, dtype=np.float64)
        b = cuda.local.array(4, dtype=np.float64)
        for k in range(4):
            a[k] = x[i] * k
            b[k] = -1.0
        for k in range(4):
            a[k], b[3 - k] = b[3 - k], a[k]
        out[i] = a[1] + b[0] * 2 + b[3]


@cases.kernel(NUMBERS)
def module_array(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * PRIMES[i % 8] + PRIMES[-1] + PRIMES.size


@cases.kernel(to_out(np.float32, of(small, np.float32, size=(8, 8)), size=(8, 8)))
def constant_matrix(out, x):
    i = cuda.grid(1)
    r, c = i // 8, i % 8
    if 0 < r < 7 and 0 < c < 7:
        s = np.float32(0)
        for a in range(3):
            for b in range(3):
                s += KERNEL3[a, b] * x[r + a - 1, c + b - 1]
        out[r, c] = s


@cases.kernel(NUMBERS)
def constant_array_with_strides(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = STRIDED[i % 10] + STRIDED[x[i] % 10]


@cases.kernel(NUMBERS)
def const_array_like(out, x):
    table = cuda.const.array_like(PRIMES)
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[x[i] % 8] * table[i % 8]


def _closure_array(dtype):
    table = np.array([1.5, -2.5, 3.25], dtype=dtype)

    def kernel(out, x):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = table[i % 3] * x[i]

    return kernel


for dtype in (np.float32, np.float64):
    cases.add(_closure_array(dtype), to_out(dtype, of(small, dtype)), f"closure_array_{dtype.__name__}")


@cases.kernel(to_out(np.complex64, of(small, np.float32)))
def local_array_of_complex(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array(2, dtype=np.complex64)
        a[0] = np.complex64(x[i])
        a[1] = a[0] * np.complex64(1j)
        out[i] = a[0] + a[1]


@cases.kernel(NUMBERS)
def local_array_of_booleans(out, x):
    i = cuda.grid(1)
    if i < out.size:
        composite = cuda.local.array(40, dtype=np.bool_)
        for k in range(40):
            composite[k] = False
        for d in range(2, 7):
            for k in range(d * d, 40, d):
                composite[k] = True
        count = 0
        for k in range(2, x[i] % 40):
            if not composite[k]:
                count += 1
        out[i] = count


@cases.kernel(NUMBERS)
def slice_of_a_local_array(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = cuda.local.array((3, 4), dtype=np.int64)
        for r in range(3):
            row = a[r]
            for c in range(4):
                row[c] = r * x[i] + c
        out[i] = a[2, 1:3][1] + a.shape[1]


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

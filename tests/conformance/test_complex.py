"""Complex numbers in both precisions."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, spread, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

COMPLEX = (np.complex64, np.complex128)


def numbers(rng, dtype):
    """Return Gaussian integers: products of them are exact in any order of evaluation."""
    return (rng.integers(-20, 20, 48) + 1j * rng.integers(-20, 20, 48)).astype(dtype)


def ring(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = -x[i]
        out[4, i] = x[i].conjugate()


def divide(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / y[i]


def _not_zero(rng, dtype):
    values = numbers(rng, dtype)
    values[values == 0] = 1 + 2j
    return values


for dtype in COMPLEX:
    name = dtype.__name__
    cases.add(ring, to_out(dtype, of(numbers, dtype), of(numbers, dtype), size=(5, 48)), f"ring_{name}")
    cases.add(divide, to_out(dtype, of(numbers, dtype), of(_not_zero, dtype)), f"divide_{name}", ulp=4)


@cases.kernel(lambda rng: (np.ones(48, np.float32), np.ones(48, np.float32), numbers(rng, np.complex64)))
def parts(real, imag, x):
    i = cuda.grid(1)
    if i < x.size:
        real[i] = x[i].real
        imag[i] = x[i].imag


@cases.kernel(to_out(np.complex128, of(floats, np.float64), of(floats, np.float64)))
def built_from_parts(out, re, im):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = complex(re[i], im[i])


@cases.kernel(to_out(np.complex64, of(small, np.float32)))
def with_a_complex_literal(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.complex64(x[i] + 2j)


@cases.kernel(to_out(np.complex128, of(numbers, np.complex128), of(small, np.float64)))
def with_a_real_number(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i] + y[i] - 1 + x[i] * 2


@cases.kernel(to_out(np.bool_, of(numbers, np.complex64), of(numbers, np.complex64), size=(2, 48)))
def equality(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] == y[i]
        out[1, i] = x[i] != x[i]


def magnitude(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = abs(x[i])


for dtype, real in ((np.complex64, np.float32), (np.complex128, np.float64)):
    cases.add(magnitude, to_out(real, of(numbers, dtype)), f"magnitude_{dtype.__name__}", ulp=2)


@cases.kernel(to_out(np.complex128, of(numbers, np.complex128), of(numbers, np.complex128)))
def augmented(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        z = x[i]
        z *= y[i]
        z += 1
        z -= y[i]
        out[i] = z


@cases.kernel(to_out(np.complex128, of(numbers, np.complex128)))
def squared(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] ** 2


def _mandelbrot(out, re, im):
    c = re + 1j * im
    for k in range(out.size):
        z, count = 0j, 0
        while count < 40 and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c[k]
            count += 1
        out[k] = count


@cases.kernel(
    to_out(np.int32, of(spread, np.float64, -2, 0.5), of(spread, np.float64, -1, 1)), expect=_mandelbrot
)
def mandelbrot(out, re, im):
    i = cuda.grid(1)
    if i < out.size:
        c = complex(re[i], im[i])
        z = 0j
        count = 0
        while count < 40 and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            count += 1
        out[i] = count


@cases.kernel(to_out(np.complex64, of(numbers, np.complex128), size=(6, 8)))
def store_narrows(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i // 8, i % 8] = x[i]


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

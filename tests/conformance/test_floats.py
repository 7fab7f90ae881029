"""Float arithmetic, comparison and rounding, bit for bit, special values included."""

import math

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import FLOATS, floats, given, of, small, special, spread, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()


def arithmetic(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] / y[i]
        out[4, i] = -x[i]
        out[5, i] = x[i] * y[i] + x[i]


for dtype in FLOATS:
    name = dtype.__name__
    cases.add(
        arithmetic, to_out(dtype, of(floats, dtype), of(floats, dtype), size=(6, 48)), f"arithmetic_{name}"
    )
    cases.add(
        arithmetic, to_out(dtype, of(special, dtype), of(special, dtype), size=(6, 48)), f"special_{name}"
    )


def compare(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] < y[i]
        out[1, i] = x[i] <= y[i]
        out[2, i] = x[i] > y[i]
        out[3, i] = x[i] >= y[i]
        out[4, i] = x[i] == y[i]
        out[5, i] = x[i] != y[i]
        out[6, i] = not (x[i] < y[i])
        out[7, i] = x[i] == x[i]


for dtype in FLOATS:
    cases.add(
        compare,
        to_out(np.bool_, of(special, dtype), of(special, dtype), size=(8, 48)),
        f"compare_{dtype.__name__}",
    )


def floor_division(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] // y[i]
        out[1, i] = x[i] % y[i]


for dtype in FLOATS:
    cases.add(
        floor_division,
        to_out(dtype, of(small, dtype, low=-50, high=50), of(small, dtype, low=1, high=9), size=(2, 48)),
        f"floor_division_{dtype.__name__}",
    )
    cases.add(
        floor_division,
        to_out(dtype, of(floats, dtype, scale=100), of(floats, dtype), size=(2, 48)),
        f"floor_division_of_fractions_{dtype.__name__}",
    )


@cases.kernel(to_out(np.float32, of(floats, np.float32), of(floats, np.float32), size=(3, 48)))
def absolute_least_greatest(out, x, y):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = abs(x[i])
        out[1, i] = min(x[i], y[i])
        out[2, i] = max(x[i], y[i], np.float32(0.5))


@cases.kernel(to_out(np.float64, of(floats, np.float32), of(floats, np.float64)))
def float32_with_float64(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i] + x[i]


@cases.kernel(to_out(np.float32, of(floats, np.float32)))
def literal_keeps_float32(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (x[i] + 0.1) * 1.1 - 3


@cases.kernel(to_out(np.float32, of(floats, np.float32)))
def thread_id_keeps_float32(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * i + (i + 1)


@cases.kernel(to_out(np.float64, of(floats, np.float32), of(small, np.int32)))
def float32_with_int32_is_float64(out, x, n):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * n[i]


@cases.kernel(to_out(np.float32, of(floats, np.float32), given(np.float32(1.7))))
def typed_scalar_argument(out, x, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += a * x[i]


@cases.kernel(to_out(np.float64, of(floats, np.float64), given(0.1)))
def python_float_argument(out, x, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i]


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def powers_by_constants(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] ** 2 + x[i] ** 1


@cases.kernel(to_out(np.int64, of(floats, np.float64, scale=50), size=(4, 48)))
def rounding_to_integers(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.floor(x[i])
        out[1, i] = math.ceil(x[i])
        out[2, i] = math.trunc(x[i])
        out[3, i] = round(x[i])


def _halves(rng):
    return rng.integers(-20, 20, 48) + 0.5


@cases.kernel(to_out(np.int64, _halves))
def round_takes_halves_to_even(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = round(x[i])


@cases.kernel(to_out(np.bool_, of(special, np.float32), size=(3, 48)))
def classification(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.isnan(x[i])
        out[1, i] = math.isinf(x[i])
        out[2, i] = math.isfinite(x[i])


@cases.kernel(to_out(np.float64, of(special, np.float64), of(special, np.float64)))
def copy_the_sign(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.copysign(x[i], y[i])


def fused(out, x, y, z):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.fma(x[i], y[i], z[i])


for dtype in FLOATS:
    cases.add(
        fused,
        to_out(dtype, of(floats, dtype), of(floats, dtype), of(floats, dtype)),
        f"fma_{dtype.__name__}",
    )


@cases.kernel(to_out(np.float32, of(spread, np.float32, -1, 1)))
def horner(out, x):
    i = cuda.grid(1)
    if i < out.size:
        s = np.float32(0)
        for _ in range(8):
            s = s * x[i] + np.float32(1.5)
        out[i] = s


@cases.kernel(to_out(np.float32, of(spread, np.float32, 1, 100), size=(2, 48)))
def exact_square_root(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.sqrt(x[i])
        out[1, i] = np.sqrt(x[i])


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def augmented(out, x):
    i = cuda.grid(1)
    if i < out.size:
        a = x[i]
        a += 1.5
        a *= a
        a -= 0.25
        a /= 3
        out[i] = a


@cases.kernel(to_out(np.float64, of(small, np.float64)))
def infinities_and_pi(out, x):
    i = cuda.grid(1)
    if i < out.size:
        if i % 4 == 0:
            out[i] = math.inf
        elif i % 4 == 1:
            out[i] = -np.inf
        elif i % 4 == 2:
            out[i] = math.nan
        else:
            out[i] = math.pi * x[i] + np.e


@cases.kernel(to_out(np.float64, of(small, np.float32), of(small, np.int16)))
def sum_of_products(out, x, n):
    i = cuda.grid(1)
    if i < out.size:
        s = 0.0
        for k in range(i + 1):
            s += x[k] * n[k]
        out[i] = s


@cases.kernel(to_out(np.float64, of(floats, np.float64)))
def truth_of_a_float(out, x):
    i = cuda.grid(1)
    if i < out.size:
        y = x[i] * (i % 3)
        out[i] = 1.0 if y else 2.0


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

"""Math functions, within the stated units in the last place of the correctly rounded result.

The bounds: 4 ulp, the vector libraries' own, in float32 and float64; functions that IEEE 754 rounds correctly
(square root) or that only move bits (`frexp`, `ldexp`, `modf`, `fmod`, `floor`) are exact.
"""

import math
from math import exp, sqrt

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import FLOATS, floats, of, small, special, spread, to_out
from conformance.runner import check
from weft import cuda

cases = Cases()

ULP = 4


def _one(function):
    """Return a kernel that applies a function, reached by closure, to each element."""

    def kernel(out, x):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i])

    return kernel


def _two(function):
    def kernel(out, x, y):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = function(x[i], y[i])

    return kernel


# Each with the interval that its arguments are from.
UNARY = {
    "sin": (-10, 10),
    "cos": (-10, 10),
    "tan": (-1.5, 1.5),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-20, 20),
    "sinh": (-8, 8),
    "cosh": (-8, 8),
    "tanh": (-3, 3),
    "asinh": (-20, 20),
    "acosh": (1, 20),
    "atanh": (-0.95, 0.95),
    "exp": (-20, 20),
    "expm1": (-3, 3),
    "log": (0.01, 50),
    "log2": (0.01, 50),
    "log10": (0.01, 50),
    "log1p": (-0.5, 50),
    "erf": (-3, 3),
    "erfc": (-2, 3),
    "gamma": (0.5, 8),
    "lgamma": (3, 30),
    "degrees": (-7, 7),
    "radians": (-400, 400),
}
for name, (low, high) in UNARY.items():
    for dtype in FLOATS:
        cases.add(
            _one(getattr(math, name)),
            to_out(dtype, of(spread, dtype, low, high)),
            f"{name}_{dtype.__name__}",
            ulp=16 if name in ("gamma", "lgamma") else ULP,
        )

for name in ("sqrt", "fabs"):
    for dtype in FLOATS:
        cases.add(_one(getattr(math, name)), to_out(dtype, of(special, dtype)), f"{name}_{dtype.__name__}")

BINARY = {
    "atan2": (-5, 5, -5, 5, ULP),
    "hypot": (-5, 5, -5, 5, ULP),
    "pow": (0.1, 10, -5, 5, ULP),
    "fmod": (-50, 50, 0.5, 9, 0),
    "copysign": (-5, 5, -5, 5, 0),
}
for name, (low, high, low2, high2, ulp) in BINARY.items():
    for dtype in FLOATS:
        cases.add(
            _two(getattr(math, name)),
            to_out(dtype, of(spread, dtype, low, high), of(spread, dtype, low2, high2)),
            f"{name}_{dtype.__name__}",
            ulp=ulp,
        )

for name in ("exp", "log", "sin"):
    cases.add(
        _one(getattr(math, name)),
        to_out(np.float64, of(special, np.float64)),
        f"{name}_of_special_values",
        ulp=ULP,
    )


@cases.kernel(to_out(np.float64, of(small, np.int32, low=1)), ulp=ULP)
def integer_argument_is_float64(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i]) + math.log(x[i])


@cases.kernel(to_out(np.float64, of(small, np.int32)), ulp=ULP)
def thread_id_argument_is_float64(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.exp(-i) * math.cos(i)


@cases.kernel(to_out(np.float32, of(spread, np.float32, 0, 5)), ulp=2 * ULP)
def names_imported_from_math(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = sqrt(exp(x[i]))


def numpy_names(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = np.sqrt(x[i])
        out[1, i] = np.exp(x[i])
        out[2, i] = np.log(x[i])
        out[3, i] = np.sin(x[i])
        out[4, i] = np.cos(x[i])
        out[5, i] = np.arctan(x[i])
        out[6, i] = np.floor(x[i])
        out[7, i] = np.ceil(x[i])
        out[8, i] = np.abs(x[i])
        out[9, i] = np.minimum(x[i], np.maximum(x[i], x[0]))


for dtype in FLOATS:
    cases.add(
        numpy_names,
        to_out(dtype, of(spread, dtype, 0.1, 9), size=(10, 48)),
        f"numpy_names_{dtype.__name__}",
        ulp=ULP,
    )


@cases.kernel(lambda rng: (np.ones(48, np.float32), np.ones(48, np.int32), floats(rng, np.float32)))
def frexp(mantissa, exponent, x):
    i = cuda.grid(1)
    if i < x.size:
        m, e = math.frexp(x[i])
        mantissa[i] = m
        exponent[i] = e


@cases.kernel(lambda rng: (np.ones(48), np.ones(48), floats(rng, np.float64)))
def modf(fraction, whole, x):
    i = cuda.grid(1)
    if i < x.size:
        f, w = math.modf(x[i])
        fraction[i] = f
        whole[i] = w


@cases.kernel(to_out(np.float64, of(floats, np.float64), of(small, np.int32, low=-20, high=20)))
def ldexp(out, x, e):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.ldexp(x[i], e[i])


def cube_root(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.cbrt(x[i])


for dtype in FLOATS:
    cases.add(cube_root, to_out(dtype, of(floats, dtype, scale=30)), f"cbrt_{dtype.__name__}", ulp=ULP)


@cases.kernel(to_out(np.float32, of(spread, np.float32, 0.1, 9), of(spread, np.float32, -3, 3)), ulp=ULP)
def power_of_floats(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] ** y[i]


@cases.kernel(
    to_out(np.float64, of(spread, np.float64, 0.1, 9), of(small, np.int32, low=-3, high=4)), ulp=ULP
)
def power_with_an_integer_exponent(out, x, n):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pow(x[i], n[i])


@cases.kernel(to_out(np.float64, of(spread, np.float64, 1, 2)), ulp=ULP)
def rounded_to_digits(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = round(x[i], 2)


def _black_scholes(out, price, strike):
    from scipy.special import ndtr

    price, strike = price.astype(np.float64), strike.astype(np.float64)
    d1 = (np.log(price / strike) + 0.5 * 0.09) / 0.3
    out[:] = price * ndtr(d1) - strike * ndtr(d1 - 0.3)


@cases.kernel(
    to_out(np.float64, of(spread, np.float64, 20, 80), of(spread, np.float64, 20, 80)),
    expect=_black_scholes,
    ulp=1 << 12,
)
def black_scholes(out, price, strike):
    i = cuda.grid(1)
    if i < out.size:
        d1 = (math.log(price[i] / strike[i]) + 0.5 * 0.09) / 0.3
        d2 = d1 - 0.3
        first = 0.5 * math.erfc(-d1 / math.sqrt(2.0))
        second = 0.5 * math.erfc(-d2 / math.sqrt(2.0))
        out[i] = price[i] * first - strike[i] * second


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)

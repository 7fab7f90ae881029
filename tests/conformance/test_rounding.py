"""``round(x, n)`` as Python has it and ``np.round(x, n)`` as NumPy has it, of every type, for any number of digits.

For some types, passes are checked, too; for all with ``WEFT_FUZZ``.
"""

import math
import os

import numpy as np
import pytest

import weft
from conformance.runner import passes_checked
from weft import cuda

EVERY = bool(os.environ.get("WEFT_FUZZ"))


def python_rounds(out, x, n):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = round(x[i], n[i])
        out[1, i] = round(x[i], 2)
        out[2, i] = round(x[i], -1)
        out[3, i] = round(x[i], 0)
        out[4, i] = round(x[i], 25)
        out[5, i] = round(x[i], -400)


def _python(x, n):
    try:
        return float(round(float(x), int(n)))
    except OverflowError:
        return math.copysign(math.inf, x)


def _numbers(rng, count):
    """Decimal numbers, halves between them as near as floats come, and numbers of all sizes, with digits to match."""
    digits = rng.integers(-25, 30, count)
    decimal = rng.integers(-(10**7), 10**7, count)
    halves = [float(f"{d}5e{-n - 1}") for d, n in zip(decimal, digits, strict=True)]
    ties = rng.integers(-(10**5), 10**5, count) / 2.0 ** rng.integers(0, 12, count)
    extreme = rng.integers(-340, 340, count)
    scaled = rng.uniform(-1, 1, count) * 10.0 ** np.clip(rng.integers(-2, 17, count) - extreme, -320, 308)
    named = np.array(
        [2.675, 0.3425, 0.125, -0.001, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 0.0, -0.0]
    )
    x = np.concatenate([halves, ties, scaled, named])
    return x, np.concatenate([digits, rng.integers(-4, 10, count), extreme, np.full(named.size, 3)])


@pytest.mark.parametrize(
    "options", [{}, {"width": 1}, {"debug": True}], ids=["lanes", "scalar", "interpreter"]
)
def test_float64_as_python(options):
    x, n = _numbers(np.random.default_rng(3), 400)
    out = np.zeros((6, x.size))
    with passes_checked(EVERY or not options):
        cuda.jit(**options)(python_rounds).forall(x.size)(out, x, n)
    counts = (n, *(np.full(x.size, d) for d in (2, -1, 0, 25, -400)))
    wanted = np.array([[_python(*pair) for pair in zip(x, count, strict=True)] for count in counts])
    same = (out == wanted) & (np.signbit(out) == np.signbit(wanted)) | np.isnan(out) & np.isnan(wanted)
    assert same.all(), [(x[i], counts[k][i], out[k, i], wanted[k, i]) for k, i in np.argwhere(~same)[:5]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_round_their_value(dtype):
    @weft.vectorize
    def rounded(x, n):
        return round(x, n)

    x, n = _numbers(np.random.default_rng(4), 200)
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
        wanted = np.array([_python(*pair) for pair in zip(x, n, strict=True)]).astype(dtype)
    with passes_checked(EVERY or dtype is np.float32):
        got = rounded(x, n)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_integers(dtype):
    @weft.vectorize
    def rounded(x, n):
        return round(x, n)

    info, rng = np.iinfo(dtype), np.random.default_rng(5)
    x = rng.integers(info.min, info.max, 400, dtype, endpoint=True)
    x[::3] -= x[::3] % 5
    x[:4] = info.min, info.max, 0, 50
    n = rng.integers(-21, 3, x.size)
    # What does not fit wraps.
    wanted = [round(int(v), int(d)) % 2 ** (8 * x.itemsize) for v, d in zip(x, n, strict=True)]
    with passes_checked(EVERY or dtype in (np.int8, np.uint64)):
        got = rounded(x, n)
    np.testing.assert_array_equal(got, np.array(wanted, np.uint64).astype(dtype))


@pytest.fixture
def _checked_for_some(dtype):
    with passes_checked(EVERY or dtype in (np.float16, np.int32)):
        yield


@pytest.mark.usefixtures("_checked_for_some")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_numpys_round_is_numpys(dtype):
    @weft.vectorize
    def rounded(x, n):
        return np.round(x, n)

    @weft.vectorize
    def to_cents(x):
        return np.round(x, 2)

    x = np.array([2.675, 0.3425, 1.005, -2.5, 12345.678, 1e-3, 65000.0, 150, 250]).astype(dtype)
    for digits in (-3, -2, -1, 0, 1, 2, 3):
        with np.errstate(all="ignore"):
            wanted = np.round(x, digits)
        # What NumPy makes infinite by scaling stays what it is.
        wanted = np.where(np.isfinite(wanted), wanted, x)
        np.testing.assert_array_equal(rounded(x, np.full(x.size, digits)), wanted)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(to_cents(x[:4]), np.round(x[:4], 2))
    if dtype is np.float64:
        assert rounded(np.array([1e300, 3.5]), np.array([20, 400])).tolist() == [1e300, 3.5]

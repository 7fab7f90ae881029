"""Math functions with exact results, and those with two: against NumPy and Python, special values included."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from frontend.opencl.library.running import FLOATS, TYPES, Call, Program, load

BITS = {"half": np.uint16, "float": np.uint32, "double": np.uint64}
UNARY = ("ceil", "floor", "trunc", "rint", "round", "fabs", "logb", "ilogb")
BINARY = ("copysign", "fmax", "fmin", "maxmag", "minmag", "nextafter")
WITH_POINTER = {"fract": "", "modf": "", "frexp": "int", "sincos": "", "lgamma_r": "int"}


def pool(t: str) -> np.ndarray:
    """Numbers of all kinds."""
    info = np.finfo(TYPES[t])
    named = [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 1e4, math.inf, -math.inf, math.nan]
    edges = [
        info.max,
        -info.max,
        info.tiny,
        -info.tiny,
        info.smallest_subnormal,
        -info.smallest_subnormal,
        0.49999,
    ]
    draw = np.random.default_rng(5).integers(0, 2**info.bits, 60, dtype=np.uint64, endpoint=False)
    return np.concatenate([np.array(named + edges, TYPES[t]), draw.astype(BITS[t]).view(TYPES[t])])


@pytest.fixture(scope="module")
def program() -> Program:
    text = ""
    for t in FLOATS:
        for name in UNARY:
            text += Call(name, "int" if name == "ilogb" else t, (t,)).kernel(f"{name}_{t}")
        for name in BINARY:
            text += Call(name, t, (t, t)).kernel(f"{name}_{t}")
        for name, second in WITH_POINTER.items():
            text += Call(name, t, (t, f"{second or t}*")).kernel(f"{name}_{t}")
        text += Call("remquo", t, (t, t, "int*")).kernel(f"remquo_{t}")
        text += Call("nan", t, ({"half": "ushort", "float": "uint", "double": "ulong"}[t],)).kernel(
            f"nan_{t}"
        )
        text += Call("frexp", f"{t}3", (f"{t}3", "int3*")).kernel(f"frexp3_{t}")
    return load(text)


def alike(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where results are the same bits, NaN any NaN."""
    return (got.view(BITS[_name(got)]) == wanted.view(BITS[_name(wanted)])) | (
        np.isnan(got) & np.isnan(wanted)
    )


def _name(a: np.ndarray) -> str:
    return next(t for t in FLOATS if TYPES[t] == a.dtype)


def _magnitude(larger: bool, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b = (np.abs(x), np.abs(y)) if larger else (-np.abs(x), -np.abs(y))
    return np.where(a > b, x, np.where(b > a, y, (np.fmax if larger else np.fmin)(x, y)))


@pytest.mark.parametrize("t", FLOATS)
def test_one_and_two_arguments(program: Program, t: str) -> None:
    x = pool(t)
    with np.errstate(all="ignore"):
        away = np.where(np.abs(x) - np.floor(np.abs(x)) >= 0.5, np.ceil(np.abs(x)), np.floor(np.abs(x)))
        wanted = {
            "ceil": np.ceil(x), "floor": np.floor(x), "trunc": np.trunc(x), "rint": np.rint(x), "fabs": np.abs(x),
            "round": np.copysign(away, x).astype(x.dtype),
        }  # fmt: skip
        for name, right in wanted.items():
            result = np.zeros_like(x)
            program(f"{name}_{t}", x, result, len(x))
            assert alike(result, right).all(), name
        a, b = (
            np.ascontiguousarray(c) for c in np.array(list(itertools.product(x[:40], repeat=2)), x.dtype).T
        )
        pairs = {
            "copysign": np.copysign(a, b), "fmax": np.fmax(a, b), "fmin": np.fmin(a, b),
            "nextafter": np.nextafter(a, b), "maxmag": _magnitude(True, a, b), "minmag": _magnitude(False, a, b),
        }  # fmt: skip
        for name, right in pairs.items():
            result = np.zeros_like(a)
            program(f"{name}_{t}", a, b, result, len(a))
            # Which of two zeros, or of two NaN, is not said.
            assert (alike(result, right) | ((result == 0) & (right == 0) & (name != "copysign"))).all(), name


@pytest.mark.parametrize("t", FLOATS)
def test_exponents(program: Program, t: str) -> None:
    x = pool(t)
    number, exponent = np.zeros(len(x), np.int32), np.zeros(len(x), np.int32)
    logb, fraction = np.zeros_like(x), np.zeros_like(x)
    program(f"ilogb_{t}", x, number, len(x))
    program(f"logb_{t}", x, logb, len(x))
    program(f"frexp_{t}", x, exponent, fraction, len(x))
    for value, n, b, f, e in zip(*(c.tolist() for c in (x, number, logb, fraction, exponent)), strict=True):
        if math.isfinite(value) and value:
            assert (f, e) == math.frexp(value) and n == b == e - 1
        else:
            assert (f == value or math.isnan(value)) and e == 0
            assert n == (-(2**31) if value == 0 else 2**31 - 1)
            assert b == (-math.inf if value == 0 else math.inf) or math.isnan(value)
    exponents, fractions = np.zeros(len(x), np.int32), np.zeros_like(x)
    program(f"frexp3_{t}", x, exponents, fractions, len(x) // 3)
    whole = len(x) // 3 * 3
    assert (exponents[:whole] == exponent[:whole]).all() and alike(fractions[:whole], fraction[:whole]).all()


@pytest.mark.parametrize("t", FLOATS)
def test_parts(program: Program, t: str) -> None:
    x = pool(t)
    below_one = np.nextafter(TYPES[t](1), TYPES[t](0))
    with np.errstate(all="ignore"):
        part, whole = np.zeros_like(x), np.zeros_like(x)
        program(f"modf_{t}", x, whole, part, len(x))
        right = np.modf(x)
        assert alike(part, right[0]).all() and alike(whole, right[1]).all()
        program(f"fract_{t}", x, whole, part, len(x))
        fraction = np.where(
            np.isinf(x), np.copysign(0, x), np.where(x == 0, x, np.fmin(x - np.floor(x), below_one))
        )
        fraction = np.where(np.isnan(x), x, fraction)
        assert alike(part, fraction.astype(x.dtype)).all() and alike(whole, np.floor(x)).all()
        small = x[np.abs(x) < 100]
        sine, cosine = np.zeros_like(small), np.zeros_like(small)
        program(f"sincos_{t}", small, cosine, sine, len(small))
        assert np.allclose(sine, np.sin(small), rtol=1e-3) and np.allclose(cosine, np.cos(small), rtol=1e-3)


@pytest.mark.parametrize("t", FLOATS)
def test_remainders(program: Program, t: str) -> None:
    x = np.concatenate([pool(t), np.arange(-8, 9).astype(TYPES[t]) / 2])
    a, b = (np.ascontiguousarray(c) for c in np.array(list(itertools.product(x, repeat=2)), x.dtype).T)
    rest, quotient = np.zeros_like(a), np.zeros(len(a), np.int32)
    program(f"remquo_{t}", a, b, quotient, rest, len(a))
    for u, v, r, q in zip(*(c.tolist() for c in (a, b, rest, quotient)), strict=True):
        if math.isnan(u) or math.isnan(v) or math.isinf(u) or v == 0:
            assert math.isnan(r) and q == 0
            continue
        right = math.remainder(u, v)
        assert r == right and math.copysign(1, r) == math.copysign(1, right), (u, v)
        assert q == _quotient(u, v), (u, v)


def _quotient(u: float, v: float) -> int:
    """The low seven bits of the quotient, with its sign."""
    if math.isinf(v):
        return 0
    (a, b), (c, d) = abs(u).as_integer_ratio(), abs(v).as_integer_ratio()
    n, rest = divmod(a * d, b * c)
    n += 2 * rest > b * c or (2 * rest == b * c and n % 2)
    return int(n % 128) * (-1 if (math.copysign(1, u) < 0) != (math.copysign(1, v) < 0) else 1)


@pytest.mark.parametrize("t", FLOATS)
def test_nan_and_signs_of_gamma(program: Program, t: str) -> None:
    code, result = np.arange(4, dtype=BITS[t]), np.zeros(4, TYPES[t])
    program(f"nan_{t}", code, result, 4)
    assert np.isnan(result).all() and len(set(result.view(BITS[t]).tolist())) == 4
    x = np.array([0.5, -0.5, -1.5, -2.5, 3], TYPES[t])
    sign, value = np.zeros(5, np.int32), np.zeros(5, TYPES[t])
    program(f"lgamma_r_{t}", x, sign, value, 5)
    assert sign.tolist() == [1, -1, 1, -1, 1]
    assert np.allclose(value.astype(float), [math.lgamma(v) for v in x.tolist()], rtol=1e-3)

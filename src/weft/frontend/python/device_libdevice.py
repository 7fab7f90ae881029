"""``cuda.libdevice``: CUDA's functions of numbers by their names, in the kernel language itself.

A name that ends in f is of float32, the same without it of float64; `fast_sinf` is the function without ``fast_``. What
is rounded in another way than to the nearest (``fadd_rd``) has no counterpart and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

_F32, _F64 = np.float32, np.float64


def _rsqrt(x: Any) -> Any:
    return 1 / math.sqrt(x)


def _rcbrt(x: Any) -> Any:
    return 1 / np.cbrt(x)


def _sinpi(x: Any) -> Any:
    return math.sin(math.pi * math.fmod(x, 2))


def _cospi(x: Any) -> Any:
    return math.cos(math.pi * math.fmod(x, 2))


def _normcdf(x: Any) -> Any:
    return 0.5 * math.erfc(-x * 0.7071067811865476)


def _exp10(x: Any) -> Any:
    return 10.0**x


def _saturate(x: Any) -> Any:
    return min(max(x, 0.0), 1.0) if x == x else x * 0


def _fdim(x: Any, y: Any) -> Any:
    return x - y if not x <= y else x * 0


def _round(x: Any) -> Any:
    """Halves away from zero, as C has it."""
    whole = math.trunc(x)
    nearest = math.floor(abs(x) + 0.5) if abs(x - whole) != 0 else abs(x)
    return math.copysign(nearest, x)


_ONE: dict[str, Callable[..., Any]] = {
    "acos": math.acos, "acosh": math.acosh, "asin": math.asin, "asinh": math.asinh, "atan": math.atan,
    "atanh": math.atanh, "cbrt": np.cbrt, "ceil": np.ceil, "cos": math.cos, "cosh": math.cosh, "cospi": _cospi,
    "erf": math.erf, "erfc": math.erfc, "exp": math.exp, "exp10": _exp10, "exp2": np.exp2, "expm1": math.expm1,
    "fabs": math.fabs, "floor": np.floor, "lgamma": math.lgamma, "log": math.log, "log10": math.log10,
    "log1p": math.log1p, "log2": math.log2, "nearbyint": np.rint, "normcdf": _normcdf, "rcbrt": _rcbrt,
    "rint": np.rint, "rsqrt": _rsqrt, "sin": math.sin, "sinh": math.sinh, "sinpi": _sinpi, "sqrt": math.sqrt,
    "tan": math.tan, "tanh": math.tanh, "tgamma": math.gamma, "trunc": np.trunc, "round": _round,
}  # fmt: skip
_TWO: dict[str, Callable[..., Any]] = {
    "atan2": math.atan2, "copysign": math.copysign, "fdim": _fdim, "fmax": np.fmax, "fmin": np.fmin,
    "fmod": math.fmod, "hypot": math.hypot, "nextafter": math.nextafter, "pow": math.pow,
    "remainder": math.remainder,
}  # fmt: skip
_FAST = ("cos", "exp", "exp10", "log", "log10", "log2", "sin", "tan")


def _of_one(function: Callable[..., Any], kind: Any) -> FunctionType:
    def call(x):
        return kind(function(kind(x)))

    return call


def _of_two(function: Callable[..., Any], kind: Any) -> FunctionType:
    def call(x, y):
        return kind(function(kind(x), kind(y)))

    return call


def _pair(first: Callable[..., Any], second: Callable[..., Any], kind: Any) -> FunctionType:
    def call(x):
        return kind(first(kind(x))), kind(second(kind(x)))

    return call


def _test(function: Callable[..., Any]) -> FunctionType:
    def call(x):
        return np.int32(function(x))

    return call


def _frexp(kind: Any) -> FunctionType:
    def call(x):
        part, power = math.frexp(kind(x))
        return kind(part), np.int32(power)

    return call


def _modf(kind: Any) -> FunctionType:
    def call(x):
        part, whole = math.modf(kind(x))
        return kind(part), kind(whole)

    return call


def _ldexp(kind: Any) -> FunctionType:
    def call(x, n):
        return kind(math.ldexp(kind(x), int(np.int32(n))))

    return call


def _sad(kind: Any, difference: Any) -> FunctionType:
    def call(x, y, z):
        a, b = kind(x), kind(y)
        return difference((a - b if a > b else b - a) + kind(z))

    return call


def _extreme(kind: Any, least: bool) -> FunctionType:
    if least:

        def smaller(x, y):
            return min(kind(x), kind(y))

        return smaller

    def larger(x, y):
        return max(kind(x), kind(y))

    return larger


def _abs(kind: Any) -> FunctionType:
    def call(x):
        return abs(kind(x))

    return call


def _mulhi(kind: Any, wide: Any, bits: int) -> FunctionType:
    def call(x, y):
        return kind((wide(kind(x)) * wide(kind(y))) >> bits)

    return call


def _mul24(kind: Any) -> FunctionType:
    def call(x, y):
        a, b = kind(x) << kind(8), kind(y) << kind(8)
        return (a >> kind(8)) * (b >> kind(8))

    return call


def _average(kind: Any, wide: Any, rounded: int) -> FunctionType:
    def call(x, y):
        return kind((wide(kind(x)) + wide(kind(y)) + rounded) >> 1)

    return call


def _fdividef(x: Any, y: Any) -> Any:
    return _F32(x) / _F32(y)


def _powi(kind: Any) -> FunctionType:
    def call(x, n):
        return kind(math.pow(kind(x), float(np.int32(n))))

    return call


def _made() -> dict[str, FunctionType]:
    found: dict[str, FunctionType] = {"fast_fdividef": _fdividef}
    for end, kind in (("", _F64), ("f", _F32)):
        for name, function in _ONE.items():
            found[name + end] = _of_one(function, kind)
        for name, function in _TWO.items():
            found[name + end] = _of_two(function, kind)
        found |= {
            f"sincos{end}": _pair(math.sin, math.cos, kind), f"sincospi{end}": _pair(_sinpi, _cospi, kind),
            f"frexp{end}": _frexp(kind),
            f"modf{end}": _modf(kind), f"ldexp{end}": _ldexp(kind), f"scalbn{end}": _ldexp(kind),
            f"powi{end}": _powi(kind),
        }  # fmt: skip
    found |= {f"fast_{name}f": found[f"{name}f"] for name in _FAST}
    found |= {
        "fast_powf": found["powf"],
        "fast_sincosf": found["sincosf"],
        "saturatef": _of_one(_saturate, _F32),
    }
    i32, u32, i64, u64 = np.int32, np.uint32, np.int64, np.uint64
    return found | {
        "isnand": _test(np.isnan), "isnanf": _test(np.isnan), "isinfd": _test(np.isinf), "isinff": _test(np.isinf),
        "isfinited": _test(np.isfinite), "finitef": _test(np.isfinite), "signbitd": _test(np.signbit),
        "signbitf": _test(np.signbit), "abs": _abs(i32),
        "llabs": _abs(i64), "min": _extreme(i32, True), "max": _extreme(i32, False),
        "umin": _extreme(u32, True), "umax": _extreme(u32, False), "llmin": _extreme(i64, True),
        "llmax": _extreme(i64, False), "ullmin": _extreme(u64, True), "ullmax": _extreme(u64, False),
        "sad": _sad(i32, u32), "usad": _sad(u32, u32), "mulhi": _mulhi(i32, i64, 32),
        "umulhi": _mulhi(u32, u64, 32), "mul24": _mul24(i32), "umul24": _mul24(u32),
        "hadd": _average(i32, i64, 0), "rhadd": _average(i32, i64, 1), "uhadd": _average(u32, u64, 0),
        "urhadd": _average(u32, u64, 1),
    }  # fmt: skip


FUNCTIONS = _made()
"""By name; those that are names of `cuda` as well (`fma`, `popc`, ...) are lowered with these."""

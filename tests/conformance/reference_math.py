"""`math`, `numpy` and the builtin functions as kernels see them, for plain Python execution.

Each math function is computed in float64 by NumPy or SciPy and rounded once to the type the dialect gives it:
float32 for float32 and narrower, float64 for wider ones and integers, weak for weak ones.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special

from conformance.reference_scalars import WeakInt, cast, saturate

_IN_FLOAT64: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "fabs")},
    **{
        name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot", "copysign")
    },
    **{name: getattr(np, name) for name in ("fmod", "degrees", "radians", "nextafter")},
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "erf": special.erf,
    "erfc": special.erfc,
    "gamma": special.gamma,
    "lgamma": special.gammaln,
    "exp2": np.exp2,
    "cbrt": np.cbrt,
}
# These depend on the format itself: computed in the type, not in float64.
_IN_OWN_TYPE = {"nextafter", "fmod", "copysign", "fabs"}


def result_type(*values: Any) -> Any:
    """Return the type of a math function of these arguments: a dtype's, or float when all are weak."""
    strong = [value.dtype for value in values if isinstance(value, np.generic)]
    if not strong:
        return float
    dtype = np.result_type(*strong)
    return dtype.type if dtype.kind == "f" else np.float64


def float_function(name: str) -> Callable[..., Any]:
    """Return a math function by its name in `math`, typed as in the dialect."""
    compute = _IN_FLOAT64[name]

    def function(*values: Any) -> Any:
        kind = result_type(*values)
        working = kind if name in _IN_OWN_TYPE else np.float64
        return kind(compute(*(working(value) for value in values)))

    function.__name__ = name
    return function


def _rounding(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        if isinstance(value, (int, np.integer)):
            return value
        return WeakInt(saturate(float(compute(np.float64(value))), np.dtype(np.int64)))

    return function


def _predicate(compute: Callable[[Any], Any]) -> Callable[[Any], bool]:
    return lambda value: bool(compute(np.float64(value)))


def _frexp(value: Any) -> tuple[Any, Any]:
    mantissa, exponent = np.frexp(np.float64(value))
    return result_type(value)(mantissa), np.int32(exponent)


def _modf(value: Any) -> tuple[Any, Any]:
    kind = result_type(value)
    fraction, whole = np.modf(np.float64(value))
    return kind(fraction), kind(whole)


def _ldexp(value: Any, exponent: Any) -> Any:
    kind = result_type(value)
    return kind(np.ldexp(kind(value), int(exponent)))


MATH = SimpleNamespace(
    **{name: float_function(name) for name in _IN_FLOAT64},
    floor=_rounding(np.floor),
    ceil=_rounding(np.ceil),
    trunc=_rounding(np.trunc),
    isnan=_predicate(np.isnan),
    isinf=_predicate(np.isinf),
    isfinite=_predicate(np.isfinite),
    frexp=_frexp,
    modf=_modf,
    ldexp=_ldexp,
    gcd=lambda a, b: WeakInt(math.gcd(int(a), int(b))),
    pi=math.pi,
    e=math.e,
    tau=math.tau,
    inf=math.inf,
    nan=math.nan,
)


class Cast:
    """A scalar type called as a function, and still a dtype to NumPy."""

    def __init__(self, kind: Any) -> None:
        self.dtype = np.dtype(kind)

    def __call__(self, value: Any = 0) -> Any:
        return cast(value, self.dtype)


class ReferenceNumPy:
    """NumPy's scalar functions and types, taking weak integers."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        if isinstance(value, type) and issubclass(value, np.generic):
            return Cast(value)
        if callable(value):
            return lambda *operands: value(*_strong(operands))
        return value


def _strong(operands: tuple[Any, ...]) -> Iterator[Any]:
    beside_float = any(isinstance(operand, (float, np.inexact)) for operand in operands)
    for operand in operands:
        if isinstance(operand, WeakInt):
            yield int(operand) if beside_float else np.int64(int(operand))
        else:
            yield operand


def _joined(choose: Callable[..., Any], *values: Any) -> Any:
    """Choose a value and give it the type that arithmetic on all of them would have."""
    if len(values) == 1:
        (values,) = values
    chosen, total = choose(values), values[0]
    for value in values[1:]:
        total = total + value
    return cast(chosen, total.dtype) if isinstance(total, np.generic) else type(total)(chosen)


def _int(value: Any) -> WeakInt:
    if isinstance(value, (float, np.floating)):
        return WeakInt(saturate(float(value), np.dtype(np.int64)))
    return WeakInt(int(value))


def _round(value: Any, digits: Any = None) -> Any:
    if digits is None:
        return WeakInt(saturate(float(np.rint(np.float64(value))), np.dtype(np.int64)))
    return type(value)(builtins.round(float(value), int(digits)))


def _print(*values: Any) -> None:
    shown = (value.item() if isinstance(value, np.generic) else value for value in values)
    builtins.print(*(int(value) if isinstance(value, WeakInt) else value for value in shown))


BUILTINS: dict[str, Any] = {
    "int": _int,
    "float": float,
    "bool": bool,
    "complex": np.complex128,
    "len": lambda array: WeakInt(builtins.len(array)),
    "range": lambda *limits: map(WeakInt, builtins.range(*map(int, limits))),
    "min": lambda *values: _joined(builtins.min, *values),
    "max": lambda *values: _joined(builtins.max, *values),
    "pow": lambda base, exponent: base**exponent,
    "round": _round,
    "print": _print,
}

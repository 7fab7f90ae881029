"""Float arithmetic on lane data: each operation rounded once, in its own format.

``float`` and ``double`` are NumPy's. ``half`` is computed by NumPy in float32 and rounded, which for one
operation of + - * / or a square root is the correctly rounded result (24 bits are at least 2·11 + 2).
``bfloat`` data are bit patterns, computed in float32 and rounded here, by the same argument.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.ir.types import FloatType

Array = np.ndarray
FloatKernel = Callable[..., Array]

_BINARY = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.true_divide, "frem": np.fmod}

_SIGN_BITS = {"half": 15, "bfloat": 15, "float": 31, "double": 63}


def bfloat_to_float(bits: Array) -> Array:
    """The float32 values of bfloat bit patterns; exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def float_to_bfloat(values: Array) -> Array:
    """float32 values rounded to nearest even bfloat bit patterns; NaNs stay NaNs."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    quiet = bits | np.uint32(0x400000)
    return (np.where(np.isnan(values), quiet, rounded) >> np.uint32(16)).astype(np.uint16)


def double_to_odd_float(values: Array) -> Array:
    """float64 values as float32, inexact ones rounded to the neighbour whose last bit is 1.

    Rounding that result to a format of at most 22 bits gives what rounding the float64 values would.
    """
    nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.uint32)
    inexact = np.isfinite(values) & (back != values)
    is_even = (bits & np.uint32(1)) == 0
    # An even result is one step away from the odd neighbour on the side of the exact value.
    away = np.abs(back) < np.abs(values)
    stepped = np.where(away, bits + np.uint32(1), bits - np.uint32(1))
    return np.where(inexact & is_even, stepped, bits).astype(np.uint32).view(np.float32)


def double_to_bfloat(values: Array) -> Array:
    """float64 values rounded once to bfloat bit patterns."""
    return float_to_bfloat(double_to_odd_float(values))


def in_float(kernel: FloatKernel) -> FloatKernel:
    """A kernel on bfloat bit patterns from one on float32."""
    return lambda *operands: float_to_bfloat(kernel(*map(bfloat_to_float, operands)))


def for_kind(kernel: FloatKernel, kind: str) -> FloatKernel:
    """`kernel` on the data of float format `kind`."""
    return in_float(kernel) if kind == "bfloat" else kernel


def binary(op: str, type: FloatType) -> FloatKernel:
    """The function on lane data that computes float opcode `op`."""
    return for_kind(_BINARY[op], type.kind)


def as_bits(type: FloatType, data: Array) -> Array:
    """The bit patterns of float data, unsigned."""
    return data if type.kind == "bfloat" else data.view(f"u{data.dtype.itemsize}")


def from_bits(type: FloatType, bits: Array) -> Array:
    """Float data with these bit patterns."""
    return bits if type.kind == "bfloat" else bits.view(f"f{bits.dtype.itemsize}")


def _sign_mask(type: FloatType) -> np.unsignedinteger:
    sign = _SIGN_BITS[type.kind]
    return np.dtype(f"u{(sign + 1) // 8}").type(1 << sign)


def negate(type: FloatType) -> FloatKernel:
    """The sign bit flipped, also of NaN."""
    sign = _sign_mask(type)
    return lambda a: from_bits(type, as_bits(type, a) ^ sign)


def absolute(type: FloatType) -> FloatKernel:
    """The sign bit cleared, also of NaN."""
    clear = ~_sign_mask(type)
    return lambda a: from_bits(type, as_bits(type, a) & clear)


def copy_sign(type: FloatType) -> FloatKernel:
    """The first operand with the sign bit of the second."""
    sign = _sign_mask(type)
    return lambda a, b: from_bits(type, (as_bits(type, a) & ~sign) | (as_bits(type, b) & sign))


def values(type: FloatType, data: Array) -> Array:
    """The data in a dtype in which NumPy compares and computes (float32 for bfloat)."""
    return bfloat_to_float(data) if type.kind == "bfloat" else data


def rounded(type: FloatType, exact: Array) -> Array:
    """float64 values rounded once to the data of `type`."""
    if type.kind == "bfloat":
        return double_to_bfloat(exact)
    return exact.astype({"half": np.float16, "float": np.float32, "double": np.float64}[type.kind])


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
}  # fmt: skip


def compare(predicate: str, type: FloatType) -> FloatKernel:
    """The function on lane data for an ``fcmp`` predicate."""

    def unordered(a: Array, b: Array) -> Array:
        return np.isnan(a) | np.isnan(b)

    def on_values(a: Array, b: Array) -> Array:
        if predicate in ("false", "true"):
            return np.full(np.broadcast_shapes(a.shape, b.shape), predicate == "true")
        if predicate in ("uno", "ord"):
            nan = unordered(a, b)
            return nan if predicate == "uno" else ~nan
        relation = predicate[1:]
        if relation == "ne":
            differs = np.not_equal(a, b)
            return differs if predicate[0] == "u" else differs & ~unordered(a, b)
        holds = _COMPARE[relation](a, b)
        return holds if predicate[0] == "o" else holds | unordered(a, b)

    if predicate[1:] in _COMPARE and predicate[0] == "o" and type.kind != "bfloat":
        return _COMPARE[predicate[1:]]
    if type.kind == "bfloat":
        return lambda a, b: on_values(bfloat_to_float(a), bfloat_to_float(b))
    return on_values


def fast_math_poison(type: FloatType, flags: tuple[str, ...]) -> Callable[..., Array] | None:
    """The condition on operands and result under which ``nnan`` and ``ninf`` make a result poison."""
    no_nan = "nnan" in flags or "fast" in flags
    no_infinity = "ninf" in flags or "fast" in flags
    if not (no_nan or no_infinity):
        return None

    def excluded(*data: Array) -> Array:
        bad = np.zeros(1, np.bool_)
        for d in data:
            v = values(type, d)
            if no_nan:
                bad = bad | np.isnan(v)
            if no_infinity:
                bad = bad | np.isinf(v)
        return bad

    return excluded


def _ordered_zero(pick: FloatKernel, prefer_negative: bool) -> FloatKernel:
    """`pick` (a minimum or maximum) made to tell -0 from +0."""

    def kernel(a: Array, b: Array) -> Array:
        both_zero = (a == 0) & (b == 0)
        if not both_zero.any():
            return pick(a, b)
        negative = np.signbit(a) | np.signbit(b) if prefer_negative else np.signbit(a) & np.signbit(b)
        zero = np.zeros(1, a.dtype)
        return np.where(both_zero, np.where(negative, -zero, zero), pick(a, b))

    return kernel


EXTREMA: dict[str, FloatKernel] = {
    "maxnum": np.fmax,
    "minnum": np.fmin,
    "maximum": _ordered_zero(np.maximum, False),
    "minimum": _ordered_zero(np.minimum, True),
    "maximumnum": _ordered_zero(np.fmax, False),
    "minimumnum": _ordered_zero(np.fmin, True),
}
"""LLVM's minima and maxima: ``num`` prefers a number to NaN; the others tell the zeros apart."""

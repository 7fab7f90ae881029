"""Semantics of LLVM's float intrinsics.

What IEEE 754 determines is computed by NumPy; the rest by the C library, like machine code. ``half`` and
``bfloat`` go through ``float``, as LLVM has them go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.calls.pure import lanewise
from weft.interp.code import Compute
from weft.interp.lanes import Array, Bundle, Lanes, LaneValue
from weft.interp.numbers import floats, libm
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import FloatType, IntType

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]
Kernel = Callable[..., Array]


def _format(i: Instruction) -> FloatType:
    scalar = i.args[0].type.scalar
    assert isinstance(scalar, FloatType)
    return scalar


def _decode(i: Instruction, decoder: Decoder, kernel: Kernel, operands: int | None = None) -> Compute:
    return lanewise(decoder, i, kernel, operands, floats.fast_math_poison(_format(i), i.flags))


def _on_bits(make: Callable[[FloatType], Kernel]) -> Decode:
    """An intrinsic that works on representations."""
    return lambda decoder, i: _decode(i, decoder, make(_format(i)))


def _exact(kernel: Kernel) -> Decode:
    """An intrinsic that NumPy computes correctly rounded in every format."""
    return lambda decoder, i: _decode(i, decoder, floats.for_kind(kernel, _format(i).kind))


def library_kernel(name: str, type: FloatType) -> Kernel:
    """The C function `name` (spelled for double) in the format of `type`."""
    if type.kind == "double":
        return libm.call(name)
    single = libm.call(f"{name}f")
    if type.kind == "float":
        return single
    if type.kind == "bfloat":
        return floats.in_float(single)
    return lambda *operands: single(*(o.astype(np.float32) for o in operands)).astype(np.float16)


def _library(name: str) -> Decode:
    return lambda decoder, i: _decode(i, decoder, library_kernel(name, _format(i)))


def round_half_away(a: Array) -> Array:
    """Rounded to an integer, halves away from zero."""
    whole = np.trunc(a)
    step = np.where(np.abs(a - whole) >= a.dtype.type(0.5), np.ones(1, a.dtype), np.zeros(1, a.dtype))
    return np.copysign(whole + np.copysign(step, a), a)


def _fused(type: FloatType) -> Kernel:
    if type.kind in ("float", "double"):
        return library_kernel("fma", type)
    double = libm.call("fma")

    # The product of two short floats is exact in double and the sum almost always; odd rounding keeps the rest.
    def kernel(a: Array, b: Array, c: Array) -> Array:
        wide = [floats.values(type, x).astype(np.float64) for x in (a, b, c)]
        return floats.rounded(type, double(*wide))

    return kernel


def _ldexp(decoder: Decoder, i: Instruction) -> Compute:
    type = _format(i)

    def kernel(a: Array, exponent: Array) -> Array:
        power = np.clip(exponent.view(np.int32) if exponent.dtype == np.uint32 else exponent, -5000, 5000)
        exact = np.ldexp(floats.values(type, a).astype(np.float64), power.astype(np.int32))
        if type.kind == "double":
            return exact
        # A float scaled in double is exact unless it leaves double's range, where float has long left its own.
        return floats.rounded(type, exact)

    return _decode(i, decoder, kernel)


def _power_by_integer(decoder: Decoder, i: Instruction) -> Compute:
    """``powi``: repeated squaring, as the runtime library does it."""
    type = _format(i)
    multiply, divide = floats.binary("fmul", type), floats.binary("fdiv", type)
    one = floats.rounded(type, np.ones(1))

    def kernel(a: Array, exponent: Array) -> Array:
        power = np.abs(exponent.view(np.int32).astype(np.int64))
        result, square = one, a
        while power.any():
            result = np.where(power & 1, multiply(result, square), result)
            power = power >> 1
            if power.any():
                square = multiply(square, square)
        return np.where(exponent.view(np.int32) < 0, divide(one, result), result)

    return _decode(i, decoder, kernel)


_CLASS_TESTS: list[tuple[int, Callable[[Array, Array, float], Array]]] = [
    (0x004, lambda v, sign, tiny: np.isinf(v) & sign),
    (0x008, lambda v, sign, tiny: np.isfinite(v) & (np.abs(v) >= tiny) & sign),
    (0x010, lambda v, sign, tiny: (np.abs(v) < tiny) & (v != 0) & sign),
    (0x020, lambda v, sign, tiny: (v == 0) & sign),
    (0x040, lambda v, sign, tiny: (v == 0) & ~sign),
    (0x080, lambda v, sign, tiny: (np.abs(v) < tiny) & (v != 0) & ~sign),
    (0x100, lambda v, sign, tiny: np.isfinite(v) & (np.abs(v) >= tiny) & ~sign),
    (0x200, lambda v, sign, tiny: np.isinf(v) & ~sign),
]
_QUIET_BIT = {"half": 9, "bfloat": 6, "float": 22, "double": 51}
_TINY = {"half": 2.0**-14, "bfloat": 2.0**-126, "float": 2.0**-126, "double": 2.0**-1022}


def _is_fpclass(decoder: Decoder, i: Instruction) -> Compute:
    type = _format(i)
    wanted = i.args[1]
    assert isinstance(wanted, ConstInt)
    tests = [test for bit, test in _CLASS_TESTS if wanted.value & bit]

    def kernel(a: Array) -> Array:
        value, bits = floats.values(type, a), floats.as_bits(type, a)
        sign = np.signbit(value)
        found = np.zeros(1, np.bool_)
        for test in tests:
            found = found | test(value, sign, _TINY[type.kind])
        if wanted.value & 3:
            quiet = (bits >> bits.dtype.type(_QUIET_BIT[type.kind])) & 1 != 0
            nan = np.isnan(value)
            if wanted.value & 1:
                found = found | (nan & ~quiet)
            if wanted.value & 2:
                found = found | (nan & quiet)
        return np.broadcast_to(found, a.shape)

    return lanewise(decoder, i, kernel, 1)


def _to_integer(name: str) -> Decode:
    """``lround`` and its like."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        kernel = library_kernel_to_int(name, _format(i))
        result = i.type.scalar
        assert isinstance(result, IntType)
        dtype = f"u{result.bits // 8}"
        return lanewise(decoder, i, lambda a: kernel(a).view(np.uint64).astype(dtype))

    return decode


def library_kernel_to_int(name: str, type: FloatType) -> Kernel:
    """A C function from floats to ``long``."""
    if type.kind == "double":
        return libm.call(name)
    single = libm.call(f"{name}f")
    return lambda a: single(floats.values(type, a).astype(np.float32))


def _two_results(first: Callable[[Array], Array], second: Callable[[Array], Array]) -> Decode:
    """An intrinsic that returns a pair, each member computed on its own."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        slot = decoder.slot(i.args[0])
        kind = _format(i).kind

        def compute(frame: Frame) -> LaneValue:
            a = frame.env[slot]
            one, two = floats.for_kind(first, kind), floats.for_kind(second, kind)
            return Bundle((Lanes(one(a.data), a.flags), Lanes(two(a.data), a.flags)))

        return compute

    return decode


def _sincos(decoder: Decoder, i: Instruction) -> Compute:
    type = _format(i)
    slot = decoder.slot(i.args[0])
    sine, cosine = library_kernel("sin", type), library_kernel("cos", type)

    def compute(frame: Frame) -> LaneValue:
        a = frame.env[slot]
        return Bundle((Lanes(sine(a.data), a.flags), Lanes(cosine(a.data), a.flags)))

    return compute


def _frexp(decoder: Decoder, i: Instruction) -> Compute:
    type = _format(i)
    slot = decoder.slot(i.args[0])

    def compute(frame: Frame) -> LaneValue:
        a = frame.env[slot]
        mantissa, exponent = np.frexp(floats.values(type, a.data))
        mantissa = floats.float_to_bfloat(mantissa) if type.kind == "bfloat" else mantissa
        return Bundle((Lanes(mantissa, a.flags), Lanes(exponent.astype(np.int32).view(np.uint32), a.flags)))

    return compute


def _inverse_root_estimate(decoder: Decoder, i: Instruction) -> Compute:
    """Estimates of inverse roots: of the right ones that processors may give, those with 14 bits behind the point.

    Those of AVX and SSE are right to 11 bits; what has 14 is, too.
    """
    slot = decoder.slot(i.args[0])

    def compute(frame: Frame) -> LaneValue:
        a = frame.env[slot]
        mantissa, exponent = np.frexp(1 / np.sqrt(a.data))
        return Lanes(np.ldexp(np.round(mantissa * 2**15) / 2**15, exponent).astype(a.data.dtype), a.flags)

    return compute


def _fraction(a: Array) -> Array:
    """The part behind the point, with the sign of the whole."""
    return np.copysign(np.where(np.isinf(a), np.zeros(1, a.dtype), a - np.trunc(a)), a)


_LIBRARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "exp", "exp2", "exp10", "log", "log2", "log10", "pow", "atan2",
)  # fmt: skip

TABLE: dict[str, Decode] = {
    **{name: _library(name) for name in _LIBRARY},
    **{name: _exact(kernel) for name, kernel in floats.EXTREMA.items()},
    "fabs": _on_bits(floats.absolute),
    "copysign": _on_bits(floats.copy_sign),
    "sqrt": _exact(np.sqrt),
    **dict.fromkeys(
        ("x86.avx512.rsqrt14.pd", "x86.avx512.rsqrt14.ps", "x86.avx.rsqrt.ps", "x86.sse.rsqrt.ps"),
        _inverse_root_estimate,
    ),
    "floor": _exact(np.floor),
    "ceil": _exact(np.ceil),
    "trunc": _exact(np.trunc),
    "rint": _exact(np.rint),
    "nearbyint": _exact(np.rint),
    "roundeven": _exact(np.rint),
    "round": _exact(round_half_away),
    "canonicalize": _exact(lambda a: a),
    "arithmetic.fence": _exact(lambda a: a),
    "fma": lambda decoder, i: _decode(i, decoder, _fused(_format(i))),
    # LLVM may fuse it or not; machine code for a processor with fused multiply-add does.
    "fmuladd": lambda decoder, i: _decode(i, decoder, _fused(_format(i))),
    "ldexp": _ldexp,
    "powi": _power_by_integer,
    "is.fpclass": _is_fpclass,
    "sincos": _sincos,
    "frexp": _frexp,
    "modf": _two_results(_fraction, np.trunc),
    **{name: _to_integer(name) for name in ("lround", "llround", "lrint", "llrint")},
}

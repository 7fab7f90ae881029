"""Floats taken apart: `modf`, `frexp`, `ldexp`, `nextafter`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.components import ir_scalar
from weft.frontend.python.lowering.arrays.numpy_calls import extreme
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, literal, scalar_type
from weft.frontend.python.lowering.numbers import bfloat
from weft.frontend.python.lowering.numbers.casts import cast, number, to_real
from weft.frontend.python.lowering.numbers.complexes import floats_of
from weft.frontend.python.types import Scalar, bfloat16, float32, int32, pyint
from weft.frontend.python.typing_rules import function_type
from weft.ir.builder import const_int
from weft.ir.types import I32, int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_EXPONENT_KINDS = "biu"


@call(math.modf, np.modf)
def _modf(low: Lowering, args: Arguments) -> Typed:
    """Fraction and integer part, both with the sign of the argument."""
    (value,) = args.bind("x")
    type = scalar_type(value)
    if type is None or type.kind == "c":
        raise TypingError(f"modf() takes a real number, not {value.type}")
    result = function_type(type)
    value = cast(low, value, result)
    x = number(low, value)
    f = floats_of(low, x)
    whole = f.llvm("trunc", x)
    infinite = low.builder.fcmp("oeq", f.llvm("fabs", x), f.const(float("inf")))
    fraction = low.builder.select(infinite, f.const(0.0), f.sub(x, whole))
    return TupleValue((Typed(result, (f.llvm("copysign", fraction, x),)), Typed(result, (whole,))))


@call(math.ldexp, np.ldexp)
def _ldexp(low: Lowering, args: Arguments) -> Typed:
    value, exponent = args.bind("x", "i")
    type = scalar_type(value)
    power = scalar_type(exponent)
    if type is None or type.kind == "c" or power is None or power.kind not in _EXPONENT_KINDS:
        raise TypingError(f"ldexp() takes a real number and an integer, not {value.type} and {exponent.type}")
    result = function_type(type)
    working = float32 if result.bits == 16 else result
    x = to_real(low, cast(low, value, result), working)
    function = low.unit.llvm(f"llvm.ldexp.f{working.bits}.i32", x.type, x.type, I32)
    scaled = low.builder.call(function, (x, _clamped_exponent(low, exponent)))
    return cast(low, Typed(working, (scaled,)), result)


def _clamped_exponent(low: Lowering, exponent: Typed) -> Value:
    """An exponent as i32; beyond ±5000 the result is zero or infinite all the same."""
    least, most = literal(-5000), literal(5000)
    signed = cast(low, exponent, pyint)
    clamped = extreme(low, "minimum", "<", extreme(low, "maximum", ">", signed, least), most)
    return to_real(low, clamped, int32)


@call(math.frexp, np.frexp)
def _frexp(low: Lowering, args: Arguments) -> Typed:
    """Mantissa in [0.5, 1) and exponent, from the bits; zero, infinity and NaN have exponent 0."""
    (value,) = args.bind("x")
    type = scalar_type(value)
    if type is None or type.kind == "c":
        raise TypingError(f"frexp() takes a real number, not {value.type}")
    result = function_type(type)
    working = float32 if result.bits == 16 else result
    x = to_real(low, cast(low, value, result), working)
    f, b = floats_of(low, x), low.builder
    mantissa_bits, bias = (23, 126) if working.bits == 32 else (52, 1022)
    word = int_type(working.bits)
    size = f.llvm("fabs", x)
    smallest = f.const(2.0**-bias)
    subnormal = b.fcmp("olt", size, smallest)
    scaled = b.select(subnormal, f.mul(x, f.const(2.0**64)), x)
    bits = b.cast("bitcast", scaled, word)
    field = b.binary("lshr", bits, const_int(mantissa_bits, word))
    field = b.binary("and", field, const_int((1 << (working.bits - 1 - mantissa_bits)) - 1, word))
    exponent = b.binary("sub", field, b.select(subnormal, const_int(bias + 64, word), const_int(bias, word)))
    kept = (1 << working.bits) - 1 - (((1 << (working.bits - 1 - mantissa_bits)) - 1) << mantissa_bits)
    half = b.binary(
        "or", b.binary("and", bits, const_int(kept, word)), const_int(bias << mantissa_bits, word)
    )
    mantissa = b.cast("bitcast", half, x.type)
    special = b.binary("or", _is_zero_or_not_finite(low, size), b.fcmp("uno", x, x))
    mantissa = b.select(special, x, mantissa)
    exponent = b.select(special, const_int(0, word), exponent)
    exponent_type = Scalar("", "i", working.bits)
    return TupleValue(
        (cast(low, Typed(working, (mantissa,)), result), cast(low, Typed(exponent_type, (exponent,)), pyint))
    )


def _is_zero_or_not_finite(low: Lowering, size: Value) -> Value:
    f = floats_of(low, size)
    zero = low.builder.fcmp("oeq", size, f.const(0.0))
    return low.builder.binary("or", zero, low.builder.fcmp("oeq", size, f.const(float("inf"))))


@call(math.nextafter, np.nextafter)
def _nextafter(low: Lowering, args: Arguments) -> Typed:
    """The next float of the arguments' own type on the way from the first to the second, from the bits."""
    values = args.bind("x", "y")
    types = [scalar_type(value) for value in values]
    if any(type is None or type.kind == "c" for type in types):
        raise TypingError(f"nextafter() takes real numbers, not {values[0].type} and {values[1].type}")
    result = function_type(*(type for type in types if type is not None))
    x, y = (to_real(low, value, result) for value in values)
    f, b, word = floats_of(low, x), low.builder, int_type(result.bits)
    bits = _bits_of(low, x, result)
    # Bit patterns are ordered as the sizes of numbers.
    grows = b.icmp("eq", b.fcmp("olt", x, y), b.icmp("sge", bits, const_int(0, word)))
    step = b.select(grows, const_int(1, word), const_int(-1, word))
    moved = _of_bits(low, b.binary("add", bits, step), result)
    smallest = _of_bits(low, const_int(1, word), result)
    moved = b.select(b.fcmp("oeq", x, f.const(0.0)), f.llvm("copysign", smallest, y), moved)
    moved = b.select(b.fcmp("oeq", x, y), y, moved)
    return Typed(result, (b.select(b.fcmp("uno", x, y), f.add(x, y), moved),))


def _bits_of(low: Lowering, value: Value, type: Scalar) -> Value:
    if type is bfloat16:
        return bfloat.bits_of(low, value)
    return low.builder.cast("bitcast", value, int_type(type.bits))


def _of_bits(low: Lowering, bits: Value, type: Scalar) -> Value:
    return (
        bfloat.of_bits(low, bits) if type is bfloat16 else low.builder.cast("bitcast", bits, ir_scalar(type))
    )

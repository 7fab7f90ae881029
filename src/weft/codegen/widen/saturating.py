"""Floats as integers that stay at the ends of their range: conversions of vectors, of numbers that are in it.

LLVM takes ``llvm.fptosi.sat`` and ``llvm.fptoui.sat`` of vectors apart, lane by lane. Here lanes convert the nearest
number that is in range. Where the ends have fewer bits than floats are exact in, that is all. Otherwise lanes that are
beyond the last float in range choose the end. Numbers of 8 and 16 bits are converted to 32 and cut off. NaN is 0.
"""

from __future__ import annotations

import math

from weft.analysis.integers.converted_floats import is_never_nan
from weft.codegen.widen.context import Widening
from weft.ir import ConstFloat, ConstInt, Instruction, Value
from weft.ir.types import I32, FloatType, IntType

_SIGNED, _NATURAL = "llvm.fptosi.sat.", "llvm.fptoui.sat."
_EXACT_BITS = {32: 24, 64: 53}


def widen_saturating(w: Widening, call: Instruction) -> bool:
    """Widen a conversion to integers of at most 64 bits; False where the call is none."""
    name = call.callee_name or ""
    if not name.startswith((_SIGNED, _NATURAL)):
        return False
    (number,), type = call.args, call.type
    if not isinstance(type, IntType) or type.bits > 64:
        return False
    if not isinstance(number.type, FloatType) or number.type.bits not in _EXACT_BITS:
        return False
    w.set_vector(call, _nearest(w, number, type, name.startswith(_SIGNED)))
    return True


def _nearest(w: Widening, number: Value, type: IntType, signed: bool) -> Value:
    """The nearest number in range, converted; beyond the last float in range, the end."""
    assert isinstance(number.type, FloatType)
    float_type, builder, lanes, vector = number.type, w.builder, w.lanes, w.vector(number)
    least, most = (
        (-(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1) if signed else (0, (1 << type.bits) - 1)
    )
    last, exact = _last_up_to(most, _EXACT_BITS[float_type.bits])
    low, high = (lanes.splat(ConstFloat.of(float_type, float(end))) for end in (least, last))
    # NaN becomes the least number.
    kept = builder.select(builder.fcmp("ogt", vector, low), vector, low)
    kept = builder.select(builder.fcmp("olt", kept, high), kept, high)
    short = I32 if type.bits < I32.bits else type
    found: Value = builder.cast(
        "fptosi" if signed or type.bits < I32.bits else "fptoui", kept, lanes.vector(short)
    )
    if short is not type:
        found = builder.cast("trunc", found, lanes.vector(type))
    if not exact:
        beyond = builder.fcmp("ogt", vector, high)
        found = builder.select(beyond, lanes.splat(ConstInt(type, most)), found)
    if least != 0 and not is_never_nan(number):
        is_number = builder.fcmp("ord", vector, lanes.splat(ConstFloat.of(float_type, 0.0)))
        found = builder.select(is_number, found, lanes.splat(ConstInt(type, 0)))
    return found


def _last_up_to(most: int, bits: int) -> tuple[int, bool]:
    """The greatest integer that is no more than another and has so many bits, and whether it is that."""
    unused = max(0, most.bit_length() - bits)
    last = most >> unused << unused
    assert float(last) == last and math.isfinite(float(last))
    return last, last == most

"""Floats as integers that stay at the ends of their range: conversions of vectors, of numbers that are in it.

LLVM takes ``llvm.fptosi.sat`` and ``llvm.fptoui.sat`` of vectors apart, lane by lane. Here lanes convert the nearest
number that is in range. Where the ends have fewer bits than floats are exact in, that is all. Otherwise lanes that are
beyond the last float in range choose the end. Numbers of 8 and 16 bits are converted to 32 and cut off. NaN is 0.

The processor's own instruction (SSE2, AVX) is asked for where it spares something. It gives the least number for all
that does not fit, which is right below the range; above it that is turned around, or the lesser of the number and the
end is converted. What is brought into the range of few bits as an integer is cut off by packs that do just that.
"""

from __future__ import annotations

import math

from weft.analysis.integers.converted_floats import is_never_nan
from weft.codegen.widen.context import Widening
from weft.codegen.widen.permute import in_parts
from weft.codegen.widen.vectors import concatenated
from weft.ir import ConstFloat, ConstInt, Instruction, Value
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, FloatType, FunctionType, IntType, VectorType

_SIGNED, _NATURAL = "llvm.fptosi.sat.", "llvm.fptoui.sat."
_EXACT_BITS = {32: 24, 64: 53}

_OWN = {4: "llvm.x86.sse2.cvttps2dq", 8: "llvm.x86.avx.cvtt.ps2dq.256"}
"""By how many floats of 32 bits there are in a register: to I32, and to the least number what does not fit. Of doubles,
whose masks are twice as long as what they become, nothing is spared."""


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
    signed = name.startswith(_SIGNED)
    register = _own_register(w, number.type, type, signed)
    found = _by_own(w, number, type, signed, register) if register else _nearest(w, number, type, signed)
    w.set_vector(call, found)
    return True


def _own_register(w: Widening, float_type: FloatType, type: IntType, signed: bool) -> int:
    """How many floats the processor converts at a time; 0 where its instruction spares nothing."""
    if w.isa.arch != "x86_64" or w.isa.mask_registers or float_type.bits != 32:
        return 0
    if type.bits > I32.bits or (type is I32 and not signed):
        return 0
    if w.isa.vector_bits < 256 and type is not I32:
        # Integers of 32 bits have no lesser and greater one there.
        return 0
    register = min(w.lanes.width, w.isa.lanes(float_type.bits))
    return register if register in _OWN else 0


def _by_own(w: Widening, number: Value, type: IntType, signed: bool, register: int) -> Value:
    """The nearest number in range, by the processor's instruction."""
    assert isinstance(number.type, FloatType)
    builder, lanes, vector = w.builder, w.lanes, w.vector(number)
    least, most = _ends(type, signed)
    if type is I32:
        # All bits are turned around above the range.
        found = _truncated(w, vector, register)
        beyond = builder.fcmp("oge", vector, lanes.splat(ConstFloat.of(number.type, float(most + 1))))
        found = builder.binary("xor", found, builder.cast("sext", beyond, lanes.vector(I32)))
    else:
        # NaN stays what it is, and becomes the least number.
        high = lanes.splat(ConstFloat.of(number.type, float(most)))
        kept = builder.select(builder.fcmp("ogt", vector, high), high, vector)
        found = _truncated(w, kept, register)
        for op, end in (("smax", least), ("smin", most)):
            limit = lanes.splat(ConstInt(I32, end))
            callee = w.intrinsic(f"llvm.{op}.v{lanes.width}i32", limit.type, (limit.type, limit.type))
            found = builder.call(callee, (found, limit))
        found = builder.cast("trunc", found, lanes.vector(type))
    if least != 0 and not is_never_nan(number):
        is_number = builder.fcmp("ord", vector, lanes.splat(ConstFloat.of(number.type, 0.0)))
        found = builder.select(is_number, found, lanes.splat(ConstInt(type, 0)))
    return found


def _truncated(w: Widening, vector: Value, register: int) -> Value:
    """Floats without what is behind the point, as I32; all that does not fit, and NaN, is the least number."""
    assert isinstance(vector.type, VectorType) and isinstance(vector.type.element, FloatType)
    floats, integers = VectorType(vector.type.element, register), VectorType(I32, register)
    callee = w.module.declare(_OWN[register], FunctionType(integers, (floats,)), PURE)
    parts = in_parts(w.builder, vector, vector.type.count, register)
    return concatenated(w.builder, [w.builder.call(callee, (part,)) for part in parts])


def _ends(type: IntType, signed: bool) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    return (-(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1) if signed else (0, (1 << type.bits) - 1)


def _nearest(w: Widening, number: Value, type: IntType, signed: bool) -> Value:
    """The nearest number in range, converted; beyond the last float in range, the end."""
    assert isinstance(number.type, FloatType)
    float_type, builder, lanes, vector = number.type, w.builder, w.lanes, w.vector(number)
    least, most = _ends(type, signed)
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

"""Floats as integers that stay at the end of their range: conversions of vectors, of numbers that are in it.

LLVM takes ``llvm.fptosi.sat`` of a vector of 64-bit integers apart, lane by lane, with branches. Here lanes convert 0
where the number is not in range, and choose the end that it is beyond; NaN is 0.
"""

from __future__ import annotations

from weft.codegen.widen.context import Widening
from weft.ir import ConstFloat, ConstInt, Instruction
from weft.ir.types import FloatType, IntType

_NAME = "llvm.fptosi.sat."


def widen_saturating(w: Widening, call: Instruction) -> bool:
    """Widen a conversion to signed integers of 64 bits; False where the call is none."""
    if not (call.callee_name or "").startswith(_NAME):
        return False
    (number,), type = call.args, call.type
    if not isinstance(type, IntType) or type.bits != 64:
        return False
    if not isinstance(number.type, FloatType) or number.type.bits < 32:
        return False
    builder, lanes, vector = w.builder, w.lanes, w.vector(number)
    end = float(1 << (type.bits - 1))
    above = lanes.splat(ConstFloat.of(number.type, end))
    below = lanes.splat(ConstFloat.of(number.type, -end))
    too_great = builder.fcmp("oge", vector, above)
    in_range = builder.binary("and", builder.fcmp("olt", vector, above), builder.fcmp("oge", vector, below))
    kept = builder.select(in_range, vector, lanes.splat(ConstFloat.of(number.type, 0.0)))
    found = builder.cast("fptosi", kept, lanes.vector(type))
    found = builder.select(too_great, lanes.splat(ConstInt(type, (1 << (type.bits - 1)) - 1)), found)
    too_small = builder.fcmp("olt", vector, below)
    w.set_vector(call, builder.select(too_small, lanes.splat(ConstInt(type, 1 << (type.bits - 1))), found))
    return True

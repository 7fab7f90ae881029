"""Integer division of all lanes by way of floats: they are divided by one instruction, integers lane by lane.

Cut off, the rounded quotient of two integers below 2**32 is exact in double precision. A quotient that is no integer is
1/divisor or more below the next one, and rounding moves it by 2**-53 of itself at most, which is less since the
dividend is below 2**53. Below 2**16 the same holds of single precision. Nothing traps, whatever passive lanes hold.

Where all lanes have the same divisor, they are multiplied by what one division makes of it, which may stand before the
loop around. Four units in its last place are added, as a multiple of the divisor must not come out below its quotient;
of a dividend below 2**50 (2**21 in single precision) the product is still less than 1/divisor too great.
"""

from __future__ import annotations

from weft.analysis.divergence.row_divisions import DIVISIONS
from weft.codegen.widen.context import Widening, broadcast
from weft.ir import Builder, Instruction, Value
from weft.ir.builder import const_float
from weft.ir.constants import Constant
from weft.ir.types import F32, F64, IntType


def divides_as_floats(w: Widening, instruction: Instruction) -> bool:
    """Whether the instruction is a division for `widen_division`; by a constant LLVM multiplies instead."""
    if instruction.op not in DIVISIONS or isinstance(instruction.operands[1], Constant):
        return False
    assert isinstance(instruction.type, IntType)
    if instruction.type.bits > 32:
        return False
    # Without wide registers numbers of 32 bits without a sign become floats by many instructions.
    multiplies = w.is_uniform(instruction.operands[1]) and (
        instruction.op[0] == "s" or instruction.type.bits <= 16
    )
    return w.isa.divides_as_floats or multiplies


def widen_division(w: Widening, division: Instruction) -> Value:
    """Return the quotients or remainders."""
    builder, type = w.builder, division.type
    assert isinstance(type, IntType)
    dividend, divisor = (w.vector(v) for v in division.operands)
    floats = w.lanes.vector(F32 if type.bits <= 16 else F64)
    to_float, to_int = ("uitofp", "fptoui") if division.op[0] == "u" else ("sitofp", "fptosi")
    numbers = builder.cast(to_float, dividend, floats)
    if w.is_uniform(division.operands[1]):
        number = builder.cast(to_float, w.scalar(division.operands[1]), floats.element)
        exact = builder.binary("fmul", numbers, broadcast(builder, _inverse(builder, number), w.lanes))
    else:
        exact = builder.binary("fdiv", numbers, builder.cast(to_float, divisor, floats))
    quotient = builder.cast(to_int, exact, w.lanes.vector(type))
    if division.op.endswith("div"):
        return quotient
    return builder.binary("sub", dividend, builder.binary("mul", quotient, divisor))


def _inverse(builder: Builder, number: Value) -> Value:
    """What multiples of a number are multiplied by to be no less than their quotients."""
    type = number.type
    inverse = builder.binary("fdiv", const_float(1.0, type), number)
    return builder.binary(
        "fmul", inverse, const_float(1.0 + 2.0**-51 if type is F64 else 1.0 + 2.0**-22, type)
    )

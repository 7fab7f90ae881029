"""Integer division of all lanes by way of floats: they are divided by one instruction, integers lane by lane.

Cut off, the rounded quotient of two integers below 2**32 is exact in double precision. A quotient that is no integer is
1/divisor or more below the next one, and rounding moves it by 2**-53 of itself at most, which is less since the
dividend is below 2**53. Below 2**16 the same holds of single precision. Nothing traps, whatever passive lanes hold.
"""

from __future__ import annotations

from weft.analysis.divergence.row_divisions import DIVISIONS
from weft.codegen.widen.context import Widening
from weft.ir import Instruction, Value
from weft.ir.constants import Constant
from weft.ir.types import F32, F64, IntType


def divides_as_floats(w: Widening, instruction: Instruction) -> bool:
    """Whether the instruction is a division for `widen_division`; by a constant LLVM multiplies instead."""
    if not (w.isa.divides_as_floats and instruction.op in DIVISIONS):
        return False
    assert isinstance(instruction.type, IntType)
    return instruction.type.bits <= 32 and not isinstance(instruction.operands[1], Constant)


def widen_division(w: Widening, division: Instruction) -> Value:
    """Return the quotients or remainders."""
    builder, type = w.builder, division.type
    assert isinstance(type, IntType)
    dividend, divisor = (w.vector(v) for v in division.operands)
    floats = w.lanes.vector(F32 if type.bits <= 16 else F64)
    to_float, to_int = ("uitofp", "fptoui") if division.op[0] == "u" else ("sitofp", "fptosi")
    exact = builder.binary(
        "fdiv", builder.cast(to_float, dividend, floats), builder.cast(to_float, divisor, floats)
    )
    quotient = builder.cast(to_int, exact, w.lanes.vector(type))
    if division.op.endswith("div"):
        return quotient
    return builder.binary("sub", dividend, builder.binary("mul", quotient, divisor))

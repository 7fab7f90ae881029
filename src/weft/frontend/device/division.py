"""Integer division that has no meaning in C: by zero, and of the least number by -1.

In OpenCL C its result is any number, but no exception may follow (OpenCL C 3.0, §6.4.1; 1.2, §6.3 a), as on GPUs none
does. LLVM's division may be anything then, and x86 ends the process. Postcondition: such divisors are 1.
"""

from __future__ import annotations

from weft.ir import Builder, Constant, Function, Instruction, Value
from weft.ir.constants import ConstAggregate, ConstInt, ConstSplat
from weft.ir.types import IntType, VectorType

_DIVISIONS = ("udiv", "sdiv", "urem", "srem")


def settle_division(function: Function) -> None:
    """Replace divisors that some dividend must not be divided by, where they may be such."""
    for division in [i for i in function.instructions() if i.op in _DIVISIONS]:
        signed = division.op[0] == "s"
        if not _is_harmless(division.operands[1], signed):
            division.set_operand(1, _guarded(division, signed))


def _is_harmless(divisor: Value, signed: bool) -> bool:
    if isinstance(divisor, ConstInt):
        return divisor.value != 0 and not (signed and divisor.signed == -1)
    if isinstance(divisor, ConstSplat):
        return _is_harmless(divisor.element, signed)
    if isinstance(divisor, ConstAggregate):
        return all(_is_harmless(element, signed) for element in divisor.elements)
    return False


def _guarded(division: Instruction, signed: bool) -> Value:
    builder = Builder(before=division)
    builder.loc = division.loc
    dividend, divisor = division.operands
    wrong: Value = builder.icmp("eq", divisor, _number(divisor, 0))
    if signed:
        type = divisor.type.element if isinstance(divisor.type, VectorType) else divisor.type
        assert isinstance(type, IntType)
        least = builder.icmp("eq", dividend, _number(divisor, -1 << (type.bits - 1)))
        overflows = builder.binary("and", least, builder.icmp("eq", divisor, _number(divisor, -1)))
        wrong = builder.binary("or", wrong, overflows)
    return builder.select(wrong, _number(divisor, 1), divisor)


def _number(like: Value, number: int) -> Constant:
    type = like.type
    if isinstance(type, VectorType):
        assert isinstance(type.element, IntType)
        return ConstSplat(type, ConstInt(type.element, number))
    assert isinstance(type, IntType)
    return ConstInt(type, number)

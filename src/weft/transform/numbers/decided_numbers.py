"""What is left of computations of which a part is a constant: ``c and false``, ``x + 0``, ``false ? y : x``.

LLVM folds all that, but when lanes are vectors already; what is to be seen before, such as how far the places of lanes
are apart, is hidden by it (`weft.transform.numbers.aligned_versions`).

Precondition: P-LLVM. Postcondition: nothing is chosen by a constant, or between one value and itself; nothing is added
to zero, masked with it or extended from a constant. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.constants import is_zero
from weft.ir.types import IntType

_NEUTRAL_RIGHT = ("add", "or", "xor", "sub", "shl", "lshr", "ashr")
_NEUTRAL_LEFT = ("add", "or", "xor")


def fold_decided(function: Function) -> bool:
    """Replace what follows from constants; return whether there was anything."""
    pending = list(function.instructions())
    folded = False
    while pending:
        instruction = pending.pop()
        if instruction.block is None:
            continue
        value = _value_of(instruction)
        if value is not None:
            pending += instruction.instruction_users()
            replace_and_erase(instruction, value)
            folded = True
    return folded


def _value_of(instruction: Instruction) -> Value | None:
    op, type = instruction.op, instruction.type
    if op == "select":
        condition, a, b = instruction.operands
        if a is b or a == b:
            return a
        return (a if condition.value else b) if isinstance(condition, ConstInt) else None
    if not isinstance(type, IntType):
        return None
    if op in ("zext", "sext"):
        number = instruction.operands[0]
        if not isinstance(number, ConstInt):
            return None
        return const_int(number.signed if op == "sext" else number.value, type)
    if op == "and":
        return next((v for v in instruction.operands if is_zero(v)), None)
    if op in _NEUTRAL_LEFT and is_zero(instruction.operands[0]):
        return instruction.operands[1]
    if op in _NEUTRAL_RIGHT and is_zero(instruction.operands[1]):
        return instruction.operands[0]
    return None

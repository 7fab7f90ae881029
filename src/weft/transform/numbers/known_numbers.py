"""Integers of which ranges know the value, and what is chosen by them.

An index of the source language counts from the end where it is negative. The front end leaves that out where it sees
that an index is not; LLVM does not see more, as it knows nothing of how large thread numbers are, nor of loops around
barriers. Ranges do, and so do conditions between numbers: the comparison with zero, or the shift of the sign that LLVM
has made of it, is a constant then.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: a number whose sign they know is not asked
for it. Preserves the program under FR: what is known of a number holds wherever it is not poison.
"""

from __future__ import annotations

from weft.analysis.integers.differences import Differences
from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType

_SIGN_SHIFTS = ("lshr", "ashr")
_CLAMPS = ("llvm.smin.", "llvm.smax.")


def replace_known_numbers(function: Function, comparisons: bool = False) -> int:
    """Replace what asks for the sign of a number of known sign; return how many instructions that was.

    With `comparisons`, those with constants that are known to hold or to fail are replaced, too.
    """
    asking = [i for i in function.instructions() if asks_for_sign(i) or (comparisons and _compares(i))]
    if not asking:
        return 0
    view = cfg_of(function)
    ranges = ranges_of(function, view)
    differences = Differences(ranges)
    known = {i: value for i in asking if (value := _value(i, ranges, differences)) is not None}
    for instruction, value in known.items():
        answer(instruction, value)
    return len(known)


def answer(question: Instruction, value: int = 0) -> None:
    """Replace what asks for a sign, or compares, by what is known to come of it; what is chosen by it, too."""
    assert isinstance(question.type, IntType)
    for user in list(question.instruction_users()):
        if user.op == "select" and user.operands[0] is question:
            user.replace_all_uses(user.operands[1 if value else 2])
            user.erase()
    question.replace_all_uses(ConstInt(question.type, value))
    question.erase()


def _value(instruction: Instruction, ranges: Ranges, differences: Differences) -> int | None:
    """What is known to come of it: of what asks for the sign of a number that is not negative zero."""
    block = instruction.block
    assert block is not None
    number = _sign_bit_of(instruction) if instruction.op == "and" else None
    known = ranges.at(number if number is not None else instruction, block)
    if number is not None and known is not None:
        known = Interval(0, 0) if known.lo >= 0 else None
    if known is not None and known.lo == known.hi:
        return known.lo
    if number is None and _asks_for_nothing_else(instruction):
        number = instruction.operands[0]
    return 0 if number is not None and differences.is_not_negative(number, block) else None


def _asks_for_nothing_else(instruction: Instruction) -> bool:
    """Whether a comparison or shift says of any number whether it is negative, and nothing else."""
    if instruction.op == "icmp":
        return asks_for_sign(instruction)
    count = instruction.operands[1] if instruction.op in _SIGN_SHIFTS else None
    assert isinstance(instruction.type, IntType)
    return isinstance(count, ConstInt) and count.value == instruction.type.bits - 1


def asks_for_sign(instruction: Instruction) -> bool:
    """Whether it is ``x < 0``, ``min(x, 0)`` or its like, or a shift of the sign to where it counts, maybe masked."""
    if instruction.op == "call" and (instruction.callee_name or "").startswith(_CLAMPS):
        return any(isinstance(v, ConstInt) and v.value == 0 for v in instruction.args)
    if instruction.op == "icmp" and instruction.predicate == "slt":
        number = instruction.operands[1]
        return isinstance(number, ConstInt) and number.value == 0
    if instruction.op == "and" and _sign_bit_of(instruction) is not None:
        return True
    if instruction.op not in _SIGN_SHIFTS or not isinstance(instruction.type, IntType):
        return False
    count = instruction.operands[1]
    return isinstance(count, ConstInt) and 2 * count.value >= instruction.type.bits


def number_asked_for_sign(instruction: Instruction) -> Value | None:
    """The number that is asked for its sign, and nothing else; None if the instruction does not ask so."""
    if instruction.op == "call" or not asks_for_sign(instruction):
        return None
    if instruction.op == "and":
        return _sign_bit_of(instruction)
    # A shift that leaves several bits, as the upper half of a byte, asks for a number.
    return instruction.operands[0] if _asks_for_nothing_else(instruction) else None


def _sign_bit_of(instruction: Instruction) -> Value | None:
    """The number of which a shift and a mask leave the sign and nothing else: ``(x < 0) * 32``."""
    shift, mask = instruction.operands
    if not isinstance(shift, Instruction) or shift.op not in _SIGN_SHIFTS or not isinstance(mask, ConstInt):
        return None
    count = shift.operands[1]
    if (
        not isinstance(shift.type, IntType)
        or not isinstance(count, ConstInt)
        or count.value >= shift.type.bits
    ):
        return None
    return (
        shift.operands[0]
        if mask.value >> (shift.type.bits - 1 - count.value) << (shift.type.bits - 1 - count.value)
        == mask.value
        else None
    )


def _compares(instruction: Instruction) -> bool:
    return instruction.op == "icmp" and isinstance(instruction.operands[1], ConstInt)

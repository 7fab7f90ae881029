"""Integers of which ranges know the value, and what is chosen by them.

An index of the source language counts from the end where it is negative. The front end leaves that out where it sees
that an index is not; LLVM does not see more, as it knows nothing of how large thread numbers are, nor of loops around
barriers. Ranges do: the comparison with zero, or the shift of the sign that LLVM has made of it, is a constant then.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: a number whose sign ranges know is not asked
for it. Preserves the program under FR: a range holds wherever the value is not poison.
"""

from __future__ import annotations

from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.ir import ConstInt, Function, Instruction
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
    ranges = Ranges(function, view, block_index(view.cfg))
    replaced = 0
    for instruction in asking:
        known = ranges.at(instruction, instruction.block)
        if known is None or known.lo != known.hi:
            continue
        assert isinstance(instruction.type, IntType)
        number = ConstInt(instruction.type, known.lo)
        for user in list(instruction.instruction_users()):
            if user.op == "select" and user.operands[0] is instruction:
                user.replace_all_uses(user.operands[1 if known.lo else 2])
                user.erase()
        instruction.replace_all_uses(number)
        instruction.erase()
        replaced += 1
    return replaced


def asks_for_sign(instruction: Instruction) -> bool:
    """Whether it is ``x < 0``, ``min(x, 0)`` or its like, or a shift that brings the sign down to where it counts."""
    if instruction.op == "call" and (instruction.callee_name or "").startswith(_CLAMPS):
        return any(isinstance(v, ConstInt) and v.value == 0 for v in instruction.args)
    if instruction.op == "icmp" and instruction.predicate == "slt":
        number = instruction.operands[1]
        return isinstance(number, ConstInt) and number.value == 0
    if instruction.op not in _SIGN_SHIFTS or not isinstance(instruction.type, IntType):
        return False
    count = instruction.operands[1]
    return isinstance(count, ConstInt) and 2 * count.value >= instruction.type.bits


def _compares(instruction: Instruction) -> bool:
    return instruction.op == "icmp" and isinstance(instruction.operands[1], ConstInt)

"""Comparisons of positions that the source keeps as ``int``, in the width that positions have.

``int i = get_global_id(0); if (i < n)`` compares 32 of 64 bits, which the program promises to be all that count
(``trunc nsw``). Where the other side is a constant, a parameter or a position, too, comparing all 64 says the same;
guards of rows are found then (`weft.transform.groups.guard_splitting`).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no comparison of a number that was cut
short, and lost nothing, with what is the same for all threads. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.types import IntType

_READING = {"s": "nsw", "u": "nuw"}
_EITHER = ("eq", "ne")


def widen_comparisons(function: Function) -> int:
    """Compare what numbers were before they were cut short; return how many comparisons that are."""
    found = [i for i in function.instructions() if i.op == "icmp"]
    return sum(map(_widen, found))


def _widen(comparison: Instruction) -> bool:
    predicate = comparison.predicate
    for reading in ("nsw", "nuw") if predicate in _EITHER else (_READING[predicate[0]],):
        left, right = (_whole(v, reading) for v in comparison.operands)
        wide = left or right
        if wide is None or (left is not None and right is not None and left.type is not right.type):
            continue
        if (left is None and not _is_fixed(comparison.operands[0])) or (
            right is None and not _is_fixed(comparison.operands[1])
        ):
            continue
        assert isinstance(wide.type, IntType)
        builder = Builder(before=comparison)
        builder.loc = comparison.loc
        for k, whole in enumerate((left, right)):
            value = (
                whole if whole is not None else _extended(builder, comparison.operands[k], wide.type, reading)
            )
            comparison.set_operand(k, value)
        comparison.flags = ()
        return True
    return False


def _whole(value: Value, reading: str) -> Value | None:
    """What a number was before it was cut short, if that took nothing away."""
    if isinstance(value, Instruction) and value.op == "trunc" and reading in value.flags:
        return value.operands[0]
    return None


def _is_fixed(value: Value) -> bool:
    """Whether a number is the same for all threads at a glance."""
    return isinstance(value, (ConstInt, Argument))


def _extended(builder: Builder, value: Value, type: IntType, reading: str) -> Value:
    if isinstance(value, ConstInt):
        return ConstInt(type, value.signed if reading == "nsw" else value.value)
    return builder.cast("sext" if reading == "nsw" else "zext", value, type)

"""Sums that are computed of ids as ``int`` and extended are computed in 64 bits, without wrapping around.

    %i = trunc i64 %id to i32                      %i = trunc i64 %id to i32
    %m = mul nsw i32 %i, 9                         %w = sext i32 %i to i64
    %s = add nsw i32 %m, 1                ==>      %m = mul nsw i64 %w, 9
    %p = sext i32 %s to i64                        %s = add nsw i64 %m, 1

LLVM's ``instcombine`` computes such sums in 64 bits as well, where all that is in them is truncated or constant, but
as ``(id * 9 << 32) >> 32``, which says no longer that they do not wrap around: then nobody knows that lanes are
neighbours. Other sums it leaves as they are, and so does this.

Precondition: plain LLVM IR; what is in variables is not seen. Postcondition: no ``int`` is extended that is computed of
ids and constants alone, its last operation without wrapping around. Preserves the program under FR: a sum that wraps
around where it may not is poison.
"""

from __future__ import annotations

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.types import I32, I64

_OPERATIONS = ("add", "sub", "mul")
_MOST = 8
"""Operations in one another."""


def keeps_ids_in_memory(function: Function) -> bool:
    """Whether a function has variables that such sums may be hidden by: what is truncated is stored in them."""
    return any(
        i.op == "store"
        and _is_truncated(i.stored_value)
        and i.stored_value.type == I32
        and _is_slot(i.pointer)
        for i in function.instructions()
    )


def widen_sums(function: Function) -> int:
    """Extend what such sums are made of in their place; of how many sums."""
    found = [i for i in function.instructions() if _extends_sum(i)]
    for extension in found:
        build = Builder(before=extension)
        build.loc = extension.loc
        extension.replace_all_uses(_widened(extension.operands[0], build))
    if found:
        remove_dead_instructions(function)
    return len(found)


def _is_slot(value: Value) -> bool:
    return isinstance(value, Instruction) and value.op == "alloca"


def _extends_sum(i: Instruction) -> bool:
    if i.op != "sext" or i.type != I64:
        return False
    value = i.operands[0]
    return isinstance(value, Instruction) and _is_operation(value) and _is_made_of_ids(value, _MOST)


def _is_operation(value: Instruction) -> bool:
    """Whether a value is computed without wrapping around; what may wrap around is extended as it is."""
    return value.op in _OPERATIONS and "nsw" in value.flags and not value.total


def _is_made_of_ids(value: Value, depth: int) -> bool:
    if _constant(value) is not None or _is_truncated(value):
        return True
    if not depth or not isinstance(value, Instruction) or value.op not in _OPERATIONS:
        return False
    return all(_is_made_of_ids(operand, depth - 1) for operand in value.operands)


def _constant(value: Value) -> int | None:
    """The number that a constant is, or a chain of sums of constants: counters of loops that have been written out."""
    total = 0
    while (
        isinstance(value, Instruction)
        and value.op == "add"
        and isinstance(last := value.operands[1], ConstInt)
    ):
        total, value = total + last.signed, value.operands[0]
    if not isinstance(value, ConstInt):
        return None
    total += value.signed
    return total if -(1 << 31) <= total < 1 << 31 else None


def _is_truncated(value: Value) -> bool:
    return isinstance(value, Instruction) and value.op == "trunc" and value.operands[0].type == I64


def _widened(value: Value, build: Builder) -> Value:
    known = _constant(value)
    if known is not None:
        return ConstInt(I64, known)
    assert isinstance(value, Instruction)
    if not _is_operation(value):
        return build.cast("sext", value, I64)
    a, b = (_widened(operand, build) for operand in value.operands)
    return build.binary(value.op, a, b, ("nsw",))

"""Sums that compilers write with ``or``: an address whose low bits are known, and a constant that has none of these.

LLVM makes ``or`` of an ``add`` that carries nothing, as of a distance within a vector that is aligned on the stack.

Postcondition of `write_sums`: each is an ``add`` again, which says where an address comes from. Same values.
"""

from __future__ import annotations

from weft.graph.cfg import reverse_postorder
from weft.ir import Builder, ConstExpr, ConstInt, Function, GlobalVariable, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType

_MOST = 12
"""Low bits that are looked at; no variable is aligned to more."""

LowBits = tuple[int, int]
"""How many low bits of a number are known, and what they are."""

_UNKNOWN: LowBits = (0, 0)


def write_sums(function: Function) -> None:
    """Make ``add`` of each ``or`` whose constant has no bit in common with the other operand's known ones."""
    known: dict[Value, LowBits] = {}
    view = cfg_of(function)
    blocks = [view.blocks[number] for number in reverse_postorder(view.cfg.succs)]
    # In this order a value is known before its uses, but around loops.
    for value in [i for block in blocks for i in block.instructions]:
        if not isinstance(value.type, IntType):
            continue
        found = _low_bits(value, known)
        if value.op == "or" and _is_sum(value, known):
            builder = Builder(before=value)
            builder.loc = value.loc
            made = builder.binary("add", value.operands[0], value.operands[1])
            replace_and_erase(value, made)
            value = made
        if found[0]:
            known[value] = found


def _is_sum(value: Instruction, known: dict[Value, LowBits]) -> bool:
    other, constant = value.operands
    if not isinstance(constant, ConstInt):
        return False
    count, bits = _of(other, known)
    return constant.value < 1 << count and not constant.value & bits


def _of(value: Value, known: dict[Value, LowBits]) -> LowBits:
    if isinstance(value, ConstInt):
        return _cut(_MOST, value.value)
    if isinstance(value, ConstExpr) and value.op == "ptrtoint":
        return _of_object(value.operands[0])
    return known.get(value, _UNKNOWN)


def _of_object(target: Value) -> LowBits:
    if isinstance(target, Instruction) and target.op == "alloca":
        align = target.alignment
    elif isinstance(target, GlobalVariable):
        align = target.linkage.align or 1
    else:
        return _UNKNOWN
    return min(align.bit_length() - 1, _MOST), 0


def _cut(count: int, bits: int) -> LowBits:
    count = min(count, _MOST)
    return count, bits & ((1 << count) - 1)


def _low_bits(value: Instruction, known: dict[Value, LowBits]) -> LowBits:
    operands = [_of(o, known) for o in value.operands]
    match value.op:
        case "ptrtoint":
            return _of_object(value.operands[0])
        case "add" | "sub" | "or" | "and" | "xor" | "mul":
            (a, left), (b, right) = operands
            if value.op == "mul":
                return _multiplied(operands)
            made = {"add": left + right, "sub": left - right, "or": left | right, "and": left & right}
            return _cut(min(a, b), made.get(value.op, left ^ right))
        case "shl" if isinstance(value.operands[1], ConstInt):
            count, bits = operands[0]
            shift = min(value.operands[1].value, _MOST)
            return _cut(count + shift, bits << shift)
        case "zext" | "sext" | "trunc":
            # What is extended has as many bits as there were at least.
            inner, outer = value.operands[0].type, value.type
            assert isinstance(inner, IntType) and isinstance(outer, IntType)
            return _cut(min(operands[0][0], inner.bits, outer.bits), operands[0][1])
        case _:
            return _UNKNOWN


def _multiplied(operands: list[LowBits]) -> LowBits:
    """Low zeros of a product: those of both factors."""
    zeros = sum(count if not bits else (bits & -bits).bit_length() - 1 for count, bits in operands)
    return _cut(zeros, 0)

"""Addresses whose indices the source keeps as ``int``: what is the same for a row of lane groups is apart.

``a[y * width + x]`` of an ``int`` x adds up 32 bits and extends the sum, for each access of each lane group anew. As no
part of the sum wraps around, the extended parts make the same sum, and the place of the thread was a number of 64 bits
before it became an ``int``. So the row of the array has an address of its own, that LLVM computes before the row of
threads, and the thread's place is an index of it::

    i = add nsw (m, trunc nsw t)            row = getelementptr a, sext m
    p = getelementptr a, sext i      ==>    p   = getelementptr row, t

Precondition: code for lanes, before LLVM's pipeline. Postcondition: no address of one place is indexed by the extended
sum of a truncated number and others, all without wrapping. Preserves the program under FR and OBL: where a sum or a
truncation is not what it promises, the address was poison.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, replace_and_erase
from weft.ir.types import I32, I64

_MOST_PARTS = 4


def widen_addresses(function: Function) -> int:
    """Index arrays by places of 64 bits, behind all else; return how many addresses that changed."""
    addresses = [i for i in function.instructions() if i.op == "getelementptr" and len(i.operands) == 2]
    changed = sum(map(_widen, addresses))
    if changed:
        remove_dead_instructions(function)
    return changed


def _widen(address: Instruction) -> bool:
    base, index = address.operands
    if not isinstance(index, Instruction) or not _extends_int(index):
        return False
    # Of shared sums there are twice as many parts with each.
    parts = list(islice(_parts(index.operands[0]), _MOST_PARTS + 1))
    places = [part for part in parts if part.type == I64]
    if not places or len(parts) > _MOST_PARTS:
        return False
    builder = Builder(before=address)
    builder.loc = address.loc
    for part in parts:
        if part.type == I32 and not isinstance(part, ConstInt):
            base = builder.gep(address.source_type, base, (builder.cast("sext", part, I64),))
    place, *others = [*places, *(const_int(p.signed) for p in parts if isinstance(p, ConstInt) and p.signed)]
    for other in others:
        place = builder.binary("add", place, other)
    replace_and_erase(address, builder.gep(address.source_type, base, (place,)))
    return True


def _extends_int(index: Instruction) -> bool:
    """Whether it is a signed number of 32 bits in 64."""
    if index.type != I64 or index.operands[0].type != I32:
        return False
    return index.op == "sext" or (index.op == "zext" and "nneg" in index.flags)


def _parts(value: Value) -> Iterator[Value]:
    """What makes a number of 32 bits when it is added up in 64: numbers of 32 bits, and those that were cut to that."""
    if isinstance(value, Instruction) and "nsw" in value.flags:
        if value.op == "add":
            for operand in value.operands:
                yield from _parts(operand)
            return
        if value.op == "trunc" and value.operands[0].type == I64:
            yield value.operands[0]
            return
    yield value

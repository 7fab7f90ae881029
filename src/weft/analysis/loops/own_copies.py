"""Loops that only copy between memory and objects that each iteration of a loop around has for itself.

Rows that are copied so come in strips (`weft.codegen.widen.own_rows`) where lanes run along the loop around, and what
is done with the copies is done side by side: such loops speak for lanes along the one around, not along themselves.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.memory.alias import locate
from weft.ir import BasicBlock, Instruction
from weft.ir.layout import DataLayout


def is_on_stack(access: Instruction, layout: DataLayout) -> bool:
    """Whether an access is one to an object of the iteration itself: of these lanes have theirs side by side."""
    base = locate(access.pointer, layout).base
    return isinstance(base, Instruction) and base.op == "alloca"


def copies_own(inside: Collection[BasicBlock], layout: DataLayout) -> bool:
    """Whether these blocks only copy between memory and such objects, and access nothing else."""
    accesses = [i for block in inside for i in block.instructions if i.op in ("load", "store")]
    stores = [i for i in accesses if i.op == "store"]
    copied = [i.stored_value for i in stores]
    return (
        bool(stores)
        and len(accesses) == 2 * len(stores)
        and all(isinstance(v, Instruction) and v.op == "load" and v.block in inside for v in copied)
        and sum(is_on_stack(i, layout) for i in accesses) == len(stores)
    )


def copies_back(inside: Collection[BasicBlock], layout: DataLayout) -> bool:
    """Whether they copy so, from the objects to memory."""
    stores = (i for block in inside for i in block.instructions if i.op == "store")
    return copies_own(inside, layout) and not any(is_on_stack(i, layout) for i in stores)

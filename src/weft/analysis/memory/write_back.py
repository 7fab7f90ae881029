"""Conditional stores whose threads have read the place: those that do not store may write back what is there.

A thread that reads a place and writes it under a condition, with nothing in between that orders memory, lets no other
thread write there meanwhile: that would be a race with what it reads (docs/memory_model.md). So it makes no difference
whether a thread whose condition does not hold writes the place again as it finds it; where masked stores are slow, a
whole vector is stored that way. The place must be one that can be written whether or not the program writes it: whoever
launches the function sees to that (`WRITABLE_ATTRIBUTE`).
"""

from __future__ import annotations

from weft.graph.dominators import dominator_tree
from weft.ir import Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_write
from weft.ir.intrinsics import WRITABLE_ATTRIBUTE


def loads_before_stores(view: CFGView) -> dict[Instruction, list[Instruction]]:
    """For each plain store that may be written back to the loads of its bytes that come before on every way.

    A thread that has run one of these loads may store what it finds there, at any time up to the store.
    """
    function = view.blocks[0].function
    if (
        function is None
        or function.attribute(WRITABLE_ATTRIBUTE) is None
        or any(_orders(i) for i in function.instructions())
    ):
        return {}
    loads: dict[Value, list[tuple[int, Instruction]]] = {}
    for number, block in enumerate(view.blocks):
        for load in block.instructions:
            if load.op == "load":
                loads.setdefault(load.pointer, []).append((number, load))
    found: dict[Instruction, list[Instruction]] = {}
    tree = dominator_tree(view.cfg)
    for number, block in enumerate(view.blocks):
        seen: set[Instruction] = set()
        for instruction in block.instructions:
            seen.add(instruction)
            if instruction.op != "store":
                continue
            size = function.layout.store_size(instruction.accessed_type)
            before = [
                load
                for at, load in loads.get(instruction.pointer, ())
                if function.layout.store_size(load.accessed_type) == size
                and (load in seen if at == number else tree.dominates(at, number))
            ]
            if before:
                found[instruction] = before
    return found


def _orders(instruction: Instruction) -> bool:
    """Whether what other threads do before or behind it may depend on it."""
    if instruction.is_plain_access or (instruction.callee_name or "").startswith("llvm.lifetime."):
        return False
    return instruction.op == "fence" or may_write(instruction)

"""Conditional stores whose threads have accessed the place: those that do not store may write back what is there.

A thread that reads or writes a place, and writes it under a condition, with nothing in between that orders memory, lets
no other thread write there meanwhile: that would be a race with its first access (docs/memory_model.md). So it makes no
difference whether a thread whose condition does not hold writes the place again as it finds it; where masked stores are
slow, a whole vector is stored that way. The place must be one that can be written whether or not the program writes it.
A place that the thread has written is; of others whoever launches the function sees to that (`WRITABLE_ATTRIBUTE`).
Objects on the thread's stack always are.

Two accesses have the same place where one address serves both, or where both are computed alike, from the same values:
those of stack objects are computed at each use (`weft.transform.stack_addresses`). An access that comes before a store
on every way comes behind the last change of the values that both addresses are computed of.
"""

from __future__ import annotations

from weft.graph.dominators import dominator_tree
from weft.ir import Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_write
from weft.ir.intrinsics import WRITABLE_ATTRIBUTE


def accesses_before_stores(view: CFGView) -> dict[Instruction, list[Instruction]]:
    """For each plain store that may be written back to the accesses of its bytes that come before on every way.

    A thread that has run one of these loads and stores may store what it finds there, at any time up to the store.
    """
    function = view.blocks[0].function
    if function is None or any(_orders(i) for i in function.instructions()):
        return {}
    writable = function.attribute(WRITABLE_ATTRIBUTE) is not None
    accesses: dict[object, list[tuple[int, Instruction]]] = {}
    for number, block in enumerate(view.blocks):
        for access in block.instructions:
            if access.op not in ("load", "store") or not access.is_plain_access:
                continue
            if access.op == "store" or writable or _is_on_stack(access.pointer):
                accesses.setdefault(_computation(access.pointer), []).append((number, access))
    found: dict[Instruction, list[Instruction]] = {}
    tree = dominator_tree(view.cfg)
    for number, block in enumerate(view.blocks):
        seen: set[Instruction] = set()
        for instruction in block.instructions:
            if instruction.op == "store":
                size = function.layout.store_size(instruction.accessed_type)
                before = [
                    access
                    for at, access in accesses.get(_computation(instruction.pointer), ())
                    if function.layout.store_size(access.accessed_type) == size
                    and (access in seen if at == number else tree.dominates(at, number))
                ]
                if before:
                    found[instruction] = before
            seen.add(instruction)
    return found


def _computation(address: Value) -> object:
    """How an address is computed: equal ones are of the same values, in the same steps, under the same flags."""
    if not isinstance(address, Instruction) or address.op != "getelementptr":
        return address
    return (
        str(address.attrs["source_type"]),
        tuple(address.flags),
        _computation(address.operands[0]),
        *address.operands[1:],
    )


def _is_on_stack(address: Value) -> bool:
    """Whether an address leads into a stack object of the function."""
    while isinstance(address, Instruction) and address.op == "getelementptr":
        address = address.operands[0]
    return isinstance(address, Instruction) and address.op == "alloca"


def _orders(instruction: Instruction) -> bool:
    """Whether what other threads do before or behind it may depend on it."""
    if instruction.is_plain_access or (instruction.callee_name or "").startswith("llvm.lifetime."):
        return False
    return instruction.op == "fence" or may_write(instruction)

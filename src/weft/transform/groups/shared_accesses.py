"""Accesses to shared memory say so: CUDA C++ casts the addresses of ``__shared__`` variables to plain pointers.

    %p = addrspacecast ptr addrspace(3) %own to ptr
    %q = getelementptr i32, ptr %p, i64 %k            ==>   %q = getelementptr i32, ptr addrspace(3) %own, i64 %k
    atomicrmw add ptr %q, i32 1                             atomicrmw add ptr addrspace(3) %q, i32 1

Then atomic operations there need no locks (`weft.transform.groups.group_atomics`). Pointers that may lead elsewhere
stay.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no load, store or atomic operation is at a
place that is reckoned from such a cast. Preserves the program under FR.
"""

from __future__ import annotations

from weft.ir import Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import PointerType, pointer

_POINTERS = {"load": 0, "store": 1, "atomicrmw": 0, "cmpxchg": 0}
"""Which operand the pointer is."""


def access_shared(function: Function) -> int:
    """Let accesses to shared memory say so; how many."""
    known: dict[Value, Value | None] = {}
    changed = 0
    for block in function.blocks:
        for i in list(block.instructions):
            index = _POINTERS.get(i.op)
            if index is None or not _is_plain(i.operands[index]):
                continue
            place = _in_shared(i.operands[index], known)
            if place is not None:
                i.set_operand(index, place)
                changed += 1
    if changed:
        remove_dead_instructions(function)
    return changed


def _is_plain(value: Value) -> bool:
    return isinstance(value.type, PointerType) and value.type.space == 0


def _in_shared(value: Value, known: dict[Value, Value | None]) -> Value | None:
    """The pointer to shared memory that a plain one is made of; None if it is not."""
    if value in known:
        return known[value]
    found: Value | None = None
    if isinstance(value, Instruction) and value.op == "addrspacecast":
        source = value.operands[0]
        if isinstance(source.type, PointerType) and source.type.space == SHARED_SPACE:
            found = source
    elif isinstance(value, Instruction) and value.op == "getelementptr" and _is_plain(value):
        base = _in_shared(value.operands[0], known)
        if base is not None:
            found = _moved(value, base)
    known[value] = found
    return found


def _moved(address: Instruction, base: Value) -> Instruction:
    assert address.block is not None
    made = Instruction(
        "getelementptr",
        pointer(SHARED_SPACE),
        (base, *address.operands[1:]),
        flags=address.flags,
        attrs=dict(address.attrs),
    )
    made.loc = address.loc
    address.block.insert_before(address, made)
    return made

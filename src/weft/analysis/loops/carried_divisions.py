"""Loops that wait for a division of the iteration before: ``p[j] = c / (b - a * p[j - 1])``.

A division takes longer than anything else that such a loop hands on. Where LLVM makes a superword of it and of another
division, what is handed on is inserted and extracted besides, each time around (adi of PolyBench: 78 and 63 ms).

It is asked about instructions alone: what is loaded of an object counts as what was stored to it elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.ir import BasicBlock, Instruction, Value

_DIVIDES = frozenset(("fdiv", "frem"))


def carries_division(header: BasicBlock, blocks: Collection[BasicBlock]) -> bool:
    """Whether what a loop hands on, in φs or in objects, is divided on its way."""
    inside = set(blocks)
    instructions = [i for block in inside for i in block.instructions]
    divisions = [i for i in instructions if _divides(i)]
    if not divisions:
        return False
    stores = [i for i in instructions if i.op == "store"]
    written = {_root(i.pointer): i.pointer for i in stores}
    begins: set[Value] = {*header.phis()}
    begins |= {
        i
        for i in instructions
        if i.op == "load" and written.get(_root(i.pointer), i.pointer) is not i.pointer
    }
    reached = _computed_from(begins, inside)
    results = _computed_from({i for i in divisions if i in reached}, inside)
    handed = {
        phi.incoming_value(block) for phi in header.phis() for block in header.predecessors if block in inside
    }
    read = {_root(i.pointer) for i in begins if isinstance(i, Instruction) and i.op == "load"}
    return bool(handed & results) or any(
        i.operands[0] in results and _root(i.pointer) in read for i in stores
    )


def _divides(instruction: Instruction) -> bool:
    return instruction.op in _DIVIDES or (instruction.callee_name or "").startswith("llvm.sqrt.")


def _root(pointer: Value) -> Value:
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr":
        pointer = pointer.operands[0]
    return pointer


def _computed_from(values: Collection[Value], inside: set[BasicBlock]) -> set[Value]:
    """Values, and what is computed of them in the same iteration."""
    found, work = set(values), list(values)
    while work:
        value = work.pop()
        users = value.instruction_users() if isinstance(value, Instruction) else ()
        for user in users:
            if user.block in inside and not user.is_phi and user not in found:
                found.add(user)
                work.append(user)
    return found

"""What the test of a loop loads is loaded before it, where the loop does not store there.

    for (k = starts[i]; k < starts[i + 1]; k++) result[k] = x;        e = starts[i + 1]; for (...; k < e; ...) ...

A loop whose bound is loaded again for each iteration counts to nothing that is known. C says ``restrict`` of what lies
apart; a range of Python asks for its bound once.

Precondition: canonical P-LLVM whose invariant addresses are computed before loops, or in their headers. Postcondition:
no header of a loop loads from one place what the loop cannot write. Preserves the program under FR: a header runs
whenever its loop is entered.
"""

from __future__ import annotations

from weft.analysis.memory.alias import are_apart, bases_of
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.effects import is_speculatable, may_write
from weft.ir.layout import DataLayout


def hoist_tested_loads(function: Function) -> int:
    """Move such loads before their loops; how many."""
    view = cfg_of(function)
    moved = 0
    for loop in reversed(loop_forest(view.cfg).loops):
        outside = [p for p in view.cfg.preds[loop.header] if p not in loop.blocks]
        if len(outside) != 1 or len(view.cfg.succs[outside[0]]) != 1:
            continue
        before, header = view.blocks[outside[0]], view.blocks[loop.header]
        inside = {view.blocks[b] for b in loop.blocks}
        loads = _first_loads(header, inside)
        written = _written(inside, function.layout) if loads else None
        for load in loads if written is not None else ():
            if all(are_apart(a, b) for a in bases_of(load.pointer, function.layout) for b in written or ()):
                for i in (*_address(load, inside), load):
                    header.instructions.remove(i)
                    before.insert_before(before.terminator, i)
                moved += 1
    return moved


def _first_loads(header: BasicBlock, inside: set[BasicBlock]) -> list[Instruction]:
    """What a header loads from one place before anything is called."""
    found: list[Instruction] = []
    for i in header.non_phis():
        if i.op == "call" or may_write(i):
            break
        if i.op == "load" and i.is_plain_access and _is_from_outside(i.pointer, header, inside):
            found.append(i)
    return found


def _is_inside(value: Value, inside: set[BasicBlock]) -> bool:
    return isinstance(value, Instruction) and value.block in inside


def _is_from_outside(address: Value, header: BasicBlock, inside: set[BasicBlock]) -> bool:
    """Whether an address is computed from what is outside of a loop, be it in its header."""
    work, seen = [address], set[Value]()
    while work:
        value = work.pop()
        if value in seen or not isinstance(value, Instruction) or value.block not in inside:
            continue
        if value.block is not header or value.is_phi or value.op == "load" or not is_speculatable(value):
            return False
        seen.add(value)
        work += value.used_values()
    return True


def _address(load: Instruction, inside: set[BasicBlock]) -> list[Instruction]:
    """What a header computes such an address by, in order."""
    needed, work = set[Value](), [load.pointer]
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and _is_inside(value, inside) and value not in needed:
            needed.add(value)
            work += value.used_values()
    assert load.block is not None
    return [i for i in load.block.instructions if i in needed]


def _written(inside: set[BasicBlock], layout: DataLayout) -> set[Value] | None:
    """Where the pointers begin through which a loop stores; None where it may write otherwise."""
    found: set[Value] = set()
    for block in inside:
        for i in block:
            if not may_write(i):
                continue
            if i.op != "store":
                return None
            found |= bases_of(i.pointer, layout)
    return found

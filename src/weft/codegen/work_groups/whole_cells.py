"""Cells of reductions that all lanes write, in lane groups of which some lanes run.

    guard:  br lane < active, entry, exit         guard:  r = cells[lane]; br lane < active, entry, exit
    entry:  r = cells[lane]; ...                  entry:  ...
            cells[lane] = r + x; br exit                  br exit
    exit:   ret                                   exit:   cells[lane] = φ r, r + x; ret

There is a cell for each lane, and no other thread knows of it, so lanes that do not run may write theirs as they find
it. Masked stores to them would keep the cells in memory: what follows waits for these, some hundred cycles a row on
machines whose loads are not served from masked stores that are on their way.

Precondition: a body of a loop behind a guard for its lanes (`weft.codegen.simd_functions.entry_guard`). Postcondition:
its cells are loaded and stored by all lanes; those that are used in other ways are as they were. Preserves the program
under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import Argument, Builder, Function, Instruction, Value


def write_whole_cells(function: Function, cells: Sequence[Argument]) -> None:
    """Let all lanes load and store the cells that these parameters point to."""
    for cell in cells:
        places = list(cell.instruction_users())
        accesses = [i for place in places for i in place.instruction_users()]
        load, store = (next((i for i in accesses if i.op == op), None) for op in ("load", "store"))
        if len(places) == 1 and len(accesses) == 2 and load is not None and store is not None:
            _write_whole(function, places[0], load, store)


def _write_whole(function: Function, place: Instruction, load: Instruction, store: Instruction) -> None:
    guard = function.entry
    exit = next(b for b in function.blocks if b.terminator.op == "ret")
    if set(exit.predecessors) != {guard, store.block} or store.pointer is not place:
        return
    before = Builder(before=guard.terminator)
    copies: dict[Value, Instruction] = {}
    for i in _needed(place):
        copies[i] = copy = before.insert(i.clone())
        for index, operand in enumerate(copy.operands):
            copy.set_operand(index, copies.get(operand, operand))
    own = before.insert(load.clone())
    own.set_operand(0, copies[place])
    load.replace_all_uses(own)
    value = Builder.after_phis(exit).phi(own.type, "cell")
    value.add_incoming(own, guard)
    assert store.block is not None
    value.add_incoming(store.operands[0], store.block)
    kept = Builder(before=exit.terminator).insert(store.clone())
    kept.set_operand(0, value)
    kept.set_operand(1, copies[place])
    for i in (store, load, place):
        i.erase()


def _needed(place: Instruction) -> list[Instruction]:
    """What computes a place, in order."""
    found: dict[Instruction, None] = {}

    def add(value: Instruction) -> None:
        if value not in found:
            for operand in value.operands:
                if isinstance(operand, Instruction):
                    add(operand)
            found[value] = None

    add(place)
    return [*found]

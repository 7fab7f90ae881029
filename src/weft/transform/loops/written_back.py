"""Short loops along rows store under a condition what is stored anyway: the new value, or the one that was read.

    if (t < d[j]) d[j] = t;         →         old = d[j]; d[j] = t < old ? t : old;

LLVM makes vectors of such loops with masked stores, which some cores run an element at a time, or without any where
there are none. Why a thread that has read a place may write it back `weft.analysis.memory.write_back` says. It is done
where the place is along a row, and neither a neighbour of it is read, which would wait for the store, nor one element
of the same array in all iterations, which the store might change: there is no vector to gain.

Precondition: canonical code of one thread. Postcondition: the same; blocks that held such stores are empty. Preserves
the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.along_rows import changes_in, is_along
from weft.analysis.loops.counted_loops import counted_loop
from weft.analysis.memory.linear_locations import linear_location
from weft.analysis.memory.write_back import accesses_before_stores
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable, may_write
from weft.ir.layout import DataLayout
from weft.ir.types import VectorType
from weft.machine.targets import Isa

LARGEST = 32
"""Instructions of a loop that is looked at."""


def write_back(function: Function, isa: Isa) -> int:
    """Store always in such loops, where the processor is slow at masked stores or has none; how often."""
    if isa.mask_registers or (isa.masked_memory and not isa.core.slow_masked_stores):
        return 0
    view = cfg_of(function)
    loops = [loop for loop in loop_forest(view.cfg).loops if not loop.children]
    if not loops:
        return 0
    accessed = accesses_before_stores(view)
    changed = 0
    for loop in loops:
        store = _conditional_store(view, loop)
        if store is None:
            continue
        block = store.block
        assert block is not None
        (before,) = block.predecessors
        olds = [a for a in accessed.get(store, ()) if a.op == "load" and _still_holds(a, before)]
        if olds and olds[0].type is store.operands[0].type and not _waits(store, view, loop):
            _store_always(store, olds[0], before)
            changed += 1
    return changed


def _conditional_store(view: CFGView, loop: Loop) -> Instruction | None:
    """The only store of a loop, along a row, in a block of its own behind a test, with nothing else that matters."""
    blocks = [view.blocks[b] for b in loop.blocks]
    instructions = [i for block in blocks for i in block.instructions]
    writes = [i for i in instructions if may_write(i)]
    if len(instructions) > LARGEST or len(writes) != 1 or isinstance(counted_loop(view, loop), str):
        return None
    (store,) = writes
    if store.op != "store" or not store.is_plain_access or isinstance(store.operands[0].type, VectorType):
        return None
    block = store.block
    assert block is not None
    if len(block.predecessors) != 1 or len(block.successors) != 1 or block.successors[0] is block:
        return None
    (before,) = block.predecessors
    branch = before.terminator
    if (
        before not in blocks
        or branch.op != "br"
        or len(branch.blocks) != 2
        or branch.blocks[0] is branch.blocks[1]
    ):
        return None
    layout, inside = _layout(view), set(blocks)
    if block.successors[0] not in branch.blocks or not is_along(store, inside, layout):
        return None
    if not any(changes_in(index, inside) for index in linear_location(store.pointer, layout).terms):
        return None
    others = [i for i in block.instructions if i is not store and i is not block.terminator]
    return store if all(not i.is_phi and is_speculatable(i) for i in others) else None


def _still_holds(load: Instruction, before: BasicBlock) -> bool:
    """Whether a block loads, and writes nothing behind that: memory holds what was loaded."""
    if load.block is not before or not load.is_plain_access:
        return False
    behind = before.instructions[before.instructions.index(load) :]
    return not any(may_write(i) for i in behind)


def _waits(store: Instruction, view: CFGView, loop: Loop) -> bool:
    """Whether a loop loads neighbours of what it stores, or one element of that array: LLVM makes no vectors."""
    layout, inside = _layout(view), {view.blocks[b] for b in loop.blocks}
    place = linear_location(store.pointer, layout)
    for load in (i for block in inside for i in block.instructions if i.op == "load"):
        other = linear_location(load.pointer, layout)
        if other.base is not place.base:
            continue
        if other.terms == place.terms:
            if other.offset != place.offset:
                return True
        elif not any(changes_in(index, inside) for index in other.terms):
            return True
    return False


def _layout(view: CFGView) -> DataLayout:
    function = view.blocks[0].function
    assert function is not None
    return function.layout


def _store_always(store: Instruction, old: Instruction, before: BasicBlock) -> None:
    block = store.block
    assert block is not None
    branch = before.terminator
    for i in block.instructions[:-1]:
        block.instructions.remove(i)
        before.insert_before(branch, i)
    builder = Builder(before=store)
    builder.loc = store.loc
    new = store.operands[0]
    ways = (new, old) if branch.blocks[0] is block else (old, new)
    store.set_operand(0, builder.select(branch.operands[0], *ways))

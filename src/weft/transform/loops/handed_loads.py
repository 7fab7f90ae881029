"""A loop that hands on where its next value is to be loaded from hands on the value.

    p = φ(b + n, b + i)                v = φ(*(b + n), *(b + i))
    x = *p; ...                        ...

LLVM makes the first of ``x = b[n - 1]; for (i...) { a[i] = b[i] + x; x = b[i]; }``: one load of two that only a φ uses.
What one iteration hands to the next one is seen in the second.

Precondition: canonical P-LLVM. Only one load uses the φ, at the begin of the body, before all that may write; what it
is at first is in an object that is large enough, and what follows is accessed in the iteration that computes it, so
both may be loaded though no iteration comes that does. Postcondition: as drawn. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstExpr, ConstInt, Function, GlobalVariable, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import may_write
from weft.ir.layout import DataLayout


def hand_on_values(function: Function) -> int:
    """Hand on values instead of their places; how many."""
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    found = 0
    for loop in loop_forest(view.cfg).loops:
        counted = counted_loop(view, loop)
        if isinstance(counted, str) or loop.children or not counted.top_tested:
            continue
        for phi in list(counted.header.phis()):
            load = _load_of(counted, phi)
            if load is not None and _may_be_loaded(counted, phi, load, view, dominators):
                _hand_on(counted, phi, load)
                found += 1
    return found


def _begin(loop: CountedLoop) -> BasicBlock:
    """The first block of the body, which only the test leads to."""
    return next(b for b in loop.header.successors if b is not loop.exit)


def _load_of(loop: CountedLoop, phi: Instruction) -> Instruction | None:
    """The load of what a φ leads to, if nothing else uses the pointer, and nothing is written before it."""
    users = list(phi.instruction_users())
    if not phi.type.is_pointer or len(users) != 1 or not users[0].is_plain_access or users[0].op != "load":
        return None
    load, begin = users[0], _begin(loop)
    if load.block is not begin or list(begin.predecessors) != [loop.header]:
        return None
    before = begin.instructions[: begin.instructions.index(load)]
    return None if any(may_write(i) for i in (*loop.header.instructions, *before)) else load


def _may_be_loaded(
    loop: CountedLoop, phi: Instruction, load: Instruction, view: CFGView, dominators: DominatorTree
) -> bool:
    """Whether what a φ leads to at first, and next, is there though no iteration may come that loads it."""
    layout = load.function.layout
    size = layout.store_size(load.type)
    if not _is_in_object(phi.incoming_value(loop.preheader), size, layout):
        return False
    following, latch = phi.incoming_value(loop.latch), view.index[loop.latch]
    return any(
        u.op in ("load", "store")
        and u.is_plain_access
        and u.pointer is following
        and layout.store_size(u.accessed_type) >= size
        and u.block in loop.blocks
        and dominators.dominates(view.index[u.block], latch)
        for u in following.users
        if isinstance(u, Instruction)
    )


def _is_in_object(pointer: Value, size: int, layout: DataLayout) -> bool:
    """Whether so many bytes from a place on are of an object that the program defines."""
    offset = 0
    while isinstance(pointer, Instruction | ConstExpr) and pointer.op == "getelementptr":
        indices = [i.signed if isinstance(i, ConstInt) else None for i in pointer.operands[1:]]
        first, *inner = indices
        if first is None or None in inner:
            return False
        offset += first * layout.size(pointer.source_type)
        offset += layout.offset(pointer.source_type, tuple(i for i in inner if i is not None))
        pointer = pointer.operands[0]
    if isinstance(pointer, GlobalVariable):
        known = pointer.linkage.linkage != "extern_weak"
        return known and 0 <= offset <= layout.store_size(pointer.value_type) - size
    if isinstance(pointer, Instruction) and pointer.op == "alloca":
        count = pointer.operands[0]
        return (
            isinstance(count, ConstInt)
            and 0 <= offset <= layout.store_size(pointer.allocated_type) * count.value - size
        )
    return False


def _hand_on(loop: CountedLoop, phi: Instruction, load: Instruction) -> None:
    value = Instruction("phi", load.type, name=load.name, loc=load.loc)
    loop.header.insert(0, value)
    for block in (loop.preheader, loop.latch):
        builder = Builder(before=block.terminator)
        builder.loc = load.loc
        made = builder.load(load.type, phi.incoming_value(block), 1)
        value.add_incoming(made, block)
    load.replace_all_uses(value)
    load.erase()
    phi.erase()

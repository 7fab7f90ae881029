"""Loops that search by halves in each iteration, for what does not depend on the iterations before.

    for e in range(a, b):
        grid = A(e)                          what comes before the search, in order
        while high - low > 1: ...            the search
        C(e, low)                            all that comes behind it

Searches of several iterations may be done before what the first of these does behind its own, if A and the search load
only from memory that the function got as a parameter, and C stores to stack objects only, and always comes to its end.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.loops.bisections import Bisection, bisection
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.loops import Loop, loop_forest
from weft.ir import Argument, BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent, is_speculatable, may_not_return, may_read, may_write
from weft.ir.layout import DataLayout


class RepeatedSearch(Struct, frozen=True):
    """A loop that searches in each iteration.

    Parameters
    ----------
    around
        How it counts.
    before
        What it does before the search, block by block.
    search
        The search: its header and its latch.
    behind
        All other blocks, the one behind the search first.
    choices
        What the ends of the range become.
    """

    around: CountedLoop
    before: tuple[BasicBlock, ...]
    search: tuple[BasicBlock, BasicBlock]
    behind: tuple[BasicBlock, ...]
    choices: tuple[Instruction, Instruction]


def repeated_searches(function: Function, view: CFGView) -> Iterator[RepeatedSearch]:
    """The loops around searches that may be done ahead."""
    for loop in loop_forest(view.cfg).loops:
        inside = [(c, s) for c in loop.children if (s := bisection(c, function, view)) is not None]
        if len(inside) == 1 and (found := _as_searches(loop, *inside[0], view, function.layout)) is not None:
            yield found


def _as_searches(
    loop: Loop, inner: Loop, search: Bisection, view: CFGView, layout: DataLayout
) -> RepeatedSearch | None:
    around = counted_loop(view, loop)
    if isinstance(around, str) or not around.top_tested or around.tests_next or around.counter.step != 1:
        return None
    if around.predicate not in ("slt", "ult"):
        return None
    # The search is a head that asks whether to go on, and a block that does.
    header, latch = view.blocks[inner.header], view.blocks[inner.latches[0]]
    if len(inner.blocks) != 2 or inner.exit_edges[0][0] != inner.header or len(latch.successors) != 1:
        return None
    behind = view.blocks[inner.exits[0]]
    before = _way(around, header)
    if before is None or len(view.cfg.preds[view.index[behind]]) != 1:
        return None
    taken = {around.header, header, latch, *before}
    others = [b for b in around.blocks if b not in taken and b is not behind]
    found = RepeatedSearch(around, before, (header, latch), (behind, *others), search.choices)
    return found if _may_be_done_ahead(found, layout) else None


def _way(around: CountedLoop, target: BasicBlock) -> tuple[BasicBlock, ...] | None:
    """The blocks that lead from the head of a loop to a block in it, one behind the other."""
    (block,) = (b for b in around.header.successors if b is not around.exit)
    way: list[BasicBlock] = []
    while block is not target:
        if len(block.successors) != 1 or any(block.phis()):
            return None
        way.append(block)
        block = block.successors[0]
    return tuple(way) or None


def _may_be_done_ahead(found: RepeatedSearch, layout: DataLayout) -> bool:
    """Whether searches of later iterations may come before what an iteration does behind its own."""
    around = found.around
    carried = set(around.header.phis()) - {around.counter.phi}
    ahead = [i for b in (*found.before, *found.search) for i in b.instructions if not i.is_terminator]
    heads = [i for i in around.header.non_phis() if not i.is_terminator]
    if any(v in carried for i in (*ahead, *heads) for v in i.operands) or not all(
        map(is_speculatable, heads)
    ):
        return False
    if not all(i.is_phi or is_speculatable(i) or _reads_parameter(i, layout) for i in ahead):
        return False
    return all(_stays_inside(i, layout) for b in found.behind for i in b.instructions if not i.is_terminator)


def _reads_parameter(instruction: Instruction, layout: DataLayout) -> bool:
    if instruction.op != "load" or not instruction.is_plain_access:
        return False
    return isinstance(linear_location(instruction.pointer, layout).base, Argument)


def _stays_inside(instruction: Instruction, layout: DataLayout) -> bool:
    """Whether an instruction writes to no memory but the function's stack objects, and what follows it runs."""
    if instruction.is_plain_access:
        if instruction.op == "load":
            return True
        base = linear_location(instruction.pointer, layout).base
        return isinstance(base, Instruction) and base.op == "alloca"
    if may_read(instruction) or may_write(instruction):
        return False
    return not (may_not_return(instruction) or is_convergent(instruction))

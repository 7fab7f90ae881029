"""Rectangular nests: parallel loops inside of each other that may be vectorized together (Moll, §11.1).

The loops are a chain, each the only thing in the one around it but for computation without memory. How often each runs
does not depend on those around it, so that the iterations are a box of points, which lane groups may be cut out of in
any shape and order. Control flow between the loops may be any: an iteration of the nest does again what is around the
innermost loop, and comes to its body or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.analysis.loops.parallel_nests import is_near_throughout
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_speculatable
from weft.ir.heap import heap_call
from weft.ir.layout import DataLayout

MOST_LEVELS = 3
"""Loops that belong to a nest in any case. One more does that has no loop in it, or along which all is near: boxes are
cut out of the three innermost. Of others, as products of rows by rows, lanes along the loops around take less."""


def rectangular_nest(
    function: Function,
    view: CFGView,
    loop: Loop,
    outer: ParallelLoop,
    layout: DataLayout,
    promised: Callable[[Loop], bool],
    *,
    only_promised: bool,
) -> tuple[ParallelLoop, ...] | Obstacle:
    """The loops of the nest, outermost first, or why there is none.

    Parameters
    ----------
    loop, outer
        The outermost loop.
    promised
        Whether the user says of a loop inside that accesses do not meet across its iterations.
    only_promised
        Whether only such loops belong to the nest.
    """
    levels, around = [outer], loop
    loops = loop_forest(view.cfg).loops
    while len(levels) <= MOST_LEVELS:
        inside = [x for x in loops if x.header != around.header and around.contains(x)]
        direct = [x for x in inside if not any(y.contains(x) and y.header != x.header for y in inside)]
        if len(direct) != 1 or (only_promised and not promised(direct[0])):
            break
        inner = parallel_loop(
            function, view, direct[0], layout, promised=promised(direct[0]), reassociate=only_promised
        )
        obstacle = inner if isinstance(inner, Obstacle) else _why_apart(levels, inner)
        if isinstance(inner, Obstacle) or obstacle is not None:
            if len(levels) > 1:
                # The loop inside stays one of the body.
                break
            assert obstacle is not None
            return obstacle
        if len(levels) == MOST_LEVELS and direct[0].children and not is_near_throughout(view, inner, layout):
            break
        levels.append(inner)
        around = direct[0]
    if len(levels) == 1:
        return Obstacle(
            "there is no loop alone in it that may run in parallel, too", outer.loop.header.terminator
        )
    return tuple(levels)


def _why_apart(levels: Sequence[ParallelLoop], inner: ParallelLoop) -> Obstacle | None:
    """Why a loop cannot be vectorized together with those around it; None if it can."""
    outer, own = levels[-1], set(inner.loop.blocks)
    # What it counts to may be computed in the outermost one, before the next one.
    around = set(levels[0].loop.blocks)
    if any(_is_in(v, around) for v in (inner.loop.counter.start, inner.loop.bound)):
        return Obstacle(
            "how often the inner loop runs depends on the outer one", inner.loop.exiting.terminator
        )
    for block in outer.loop.blocks:
        if block in own:
            if any(heap_call(i) for i in block.instructions):
                return Obstacle("iterations allocate arrays", block.terminator)
            continue
        for i in block.instructions:
            if not (i.is_phi or i.is_terminator or is_speculatable(i)):
                return Obstacle(
                    "there is an access or a call between the loops", i, "move it into the inner loop"
                )
    if len(outer.reductions) != len(inner.reductions):
        return Obstacle(
            "the inner loop reduces another value than the outer one", inner.loop.header.terminator
        )
    for reduction in outer.reductions:
        if not any(r.start is reduction.phi for r in inner.reductions) or not _goes_through(
            reduction.phi, reduction.update, inner
        ):
            return Obstacle("the inner loop reduces another value than the outer one", reduction.phi)
    reduced = {v for r in inner.reductions for v in (r.phi, r.update)}
    for phi in inner.loop.exit.phis():
        if phi.incoming_value(inner.loop.exiting) not in reduced:
            return Obstacle("a value of the inner loop is read behind it", phi)
    used = {u for b in inner.loop.blocks for i in b.instructions for u in i.instruction_users()}
    if any(u.block not in own and not (u.is_phi and u.block is inner.loop.exit) for u in used):
        return Obstacle("a value of the inner loop is read behind it", inner.loop.exiting.terminator)
    return None


def _is_in(value: Value, blocks: set[BasicBlock]) -> bool:
    return isinstance(value, Instruction) and value.block in blocks


def _goes_through(phi: Instruction, update: Value, inner: ParallelLoop) -> bool:
    """Whether the inner loop is all that happens to a value that the outer one carries."""
    while isinstance(update, Instruction) and update.is_phi and update.block not in inner.loop.blocks:
        others = {v for v in update.operands if v is not phi}
        if len(others) != 1:
            return False
        update = others.pop()
    return any(r.start is phi and update in (r.phi, r.update) for r in inner.reductions)

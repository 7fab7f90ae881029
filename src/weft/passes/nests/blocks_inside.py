"""Loops over the columns of blocks of constant size, in loops over ``prange``: lanes along them.

``for i in range(8): for j in range(8): half[i, j] = ...`` in a loop over blocks of an image has neighbours along j.
Lanes along the blocks would gather everything; so where all that a loop over ``prange`` does is in such loops, which
are found to be parallel, these are marked, and lanes run along them, as many as the loop has iterations.

Precondition: canonical P-LLVM with marks on promised loops. Postcondition: the same; inner loops are marked as proved
where nothing has to be tested for it. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.parallel_loops import ParallelLoop, parallel_loop
from weft.analysis.loops.parallel_nests import nearness_of
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Program, Scope
from weft.analysis.sequential.verdicts import Verdict, verdict_if_independent
from weft.codegen.order.width import one_register
from weft.graph.loops import Loop, loop_forest
from weft.ir import ConstInt, Function
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import mark_parallel
from weft.machine.targets import Isa
from weft.passes.declared import Pass
from weft.passes.find_loops import is_in_promised, promises_inside, promises_of
from weft.passes.loop_unit import LoopUnit

FEWEST = 4
"""Iterations that fill a register of the smallest machine with numbers of 32 bits."""


def mark_blocks_inside(unit: LoopUnit, function: Function) -> int:
    """Mark the loops over columns of blocks in promised loops; how many."""
    view = cfg_of(function)
    marked = 0
    for outer in loop_forest(view.cfg).loops:
        if not promises_of(view, outer).parallel or is_in_promised(view, outer):
            continue
        if any(told.parallel for told in promises_inside(view, outer)):
            continue
        columns = _columns(unit, function, view, outer)
        for loop in columns:
            mark_parallel(view.blocks[loop.latches[0]].terminator, proved=True)
        marked += len(columns)
    return marked


def _columns(unit: LoopUnit, function: Function, view: CFGView, outer: Loop) -> list[Loop]:
    """The loops along which lanes should run, if nothing but they and loops around them is in a promised loop."""
    inside = [x for x in loop_forest(view.cfg).loops if x is not outer and outer.contains(x)]
    plans = {x.header: _plan(unit, function, view, x) for x in inside}
    found = [x for x in inside if plans[x.header] is not None and not x.children]
    found += [x for x in inside if plans[x.header] is not None and x.children and not _holds(x, found)]
    leaves = [x for x in inside if not x.children]
    if not found or not all(any(x is leaf or x.contains(leaf) for x in found) for leaf in leaves):
        return []
    arrays = unit.arrays if function is unit.function else ()
    scope = Scope(Program(unit.module, arrays=arrays), function)
    accesses = Accesses(Reconstruction(scope.program))
    contexts = {c.header: c for c in scope.loops.values()}
    proved = all(_is_proved(accesses, contexts.get(view.blocks[x.header])) for x in found)
    return found if proved else []


def _holds(loop: Loop, others: Sequence[Loop]) -> bool:
    return any(loop.contains(other) for other in others)


def _plan(unit: LoopUnit, function: Function, view: CFGView, loop: Loop) -> ParallelLoop | None:
    """How lanes can run along a loop that has as many iterations as lanes, and neighbours along them."""
    layout = unit.module.layout
    plan = parallel_loop(function, view, loop, layout, promised=True, reassociate=False, proved=True)
    if not isinstance(plan, ParallelLoop) or plan.reductions or lanes_of_all(plan.loop, unit.isa) < FEWEST:
        return None
    return plan if nearness_of(view, plan, layout) > 0 else None


def lanes_of_all(loop: CountedLoop, isa: Isa) -> int:
    """As many lanes as a loop has iterations, if these are a power of two that two registers hold; else 0."""
    start, bound, step = loop.counter.start, loop.bound, loop.counter.step
    if not isinstance(start, ConstInt) or not isinstance(bound, ConstInt) or step <= 0:
        return 0
    if loop.tests_next or loop.predicate not in ("slt", "ult"):
        return 0
    trips = -(-(bound.signed - start.signed) // step)
    return trips if 1 < trips <= 2 * one_register(isa) and not trips & (trips - 1) else 0


def _is_proved(accesses: Accesses, loop: LoopContext | None) -> bool:
    """Whether iterations of a loop meet nowhere, whatever the numbers of the program are."""
    if loop is None:
        return False
    verdict = verdict_if_independent(accesses, loop)
    return verdict is not None and verdict.verdict is Verdict.PARALLEL and not verdict.assumptions


def _mark_blocks(unit: LoopUnit) -> bool:
    return sum(mark_blocks_inside(unit, function) for function in unit.module.definitions()) > 0


BLOCKS_INSIDE: Pass[LoopUnit] = Pass(
    "blocks inside",
    "in loops over prange, those over columns of blocks of constant size are marked, where they are found parallel",
    _mark_blocks,
    optional=True,
    applies=lambda unit: unit.width is None,
)

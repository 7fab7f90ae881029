"""Rows in loops over ``prange`` that read an element of their own are cut there, and lanes run along both parts.

    for i in prange(n):                                      j = 0 .. k - 1 in lanes
        for j in range(n):                            →      j = k
            if d[i, k] + d[k, j] < d[i, j]: ...              j = k + 1 .. n - 1 in lanes

Lanes along ``i``, which are promised, would gather everything, and LLVM's vectorizer leaves the row in order, as
iteration k may store what all read. What is promised of ``i`` says nothing of the row. So the row is looked at as those
of ``parallel="auto"`` are (`weft.passes.nests.range_splits`): it is cut where this leaves no dependence, and its parts
are marked if they are proved to be parallel, behind tests in front of the promised loop. Where one fails the nest runs
as it was promised, cut as it is.

Precondition: P-LLVM with marks on promised loops. Postcondition: the same, loop-closed; parts of rows are marked as
proved. Preserves the program under FR: iterations of a row stay in their order, or meet nowhere.
"""

from __future__ import annotations

from weft.analysis.loops.loop_promises import LoopPromises, loop_promises
from weft.analysis.loops.still_elements import reads_still_element, stores_one_by_one
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.splitting_points import splitting_point
from weft.analysis.sequential.verdicts import Verdict, verdict_if_independent
from weft.analysis.sequential.whole_reads import needed_assumptions
from weft.analysis.symbolic.integer_sets import has_isl
from weft.diag.remarks import RemarkKind
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import KEPT, mark_apart, mark_parallel, mark_version
from weft.passes.declared import Pass
from weft.passes.loop_unit import LoopUnit
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.signed_tests import sign_tests
from weft.transform.loops.split_range import can_be_split, split_range
from weft.transform.loops.version_loop import version_loop

MOST = 6
"""Rows of one function that are cut."""


def cut_rows(unit: LoopUnit, function: Function) -> int:
    """Cut rows in promised loops, and mark their parts; how many."""
    wanted = _wanted(function, unit)
    if not wanted or not has_isl():
        return 0
    sign_tests(function)
    close_loops(function)
    open_needless(function)
    cut = [
        (around, parts) for around, row in wanted[:MOST] if (parts := _cut(unit, function, row)) is not None
    ]
    for around in dict.fromkeys(around for around, _ in cut):
        _mark(unit, function, around, [b for outer, parts in cut if outer is around for b in parts])
    return len(cut)


def _wanted(function: Function, unit: LoopUnit) -> list[tuple[BasicBlock, BasicBlock]]:
    """The headers of such rows, each behind that of the promised loop around it, which has no other one inside."""
    view = cfg_of(function)
    found: list[tuple[BasicBlock, BasicBlock]] = []
    for loop in loop_forest(view.cfg).loops:
        if loop.children or _promises(loop, view).annotated:
            continue
        around = [
            outer for outer in loop.ancestors() if outer is not loop and _promises(outer, view).parallel
        ]
        if len(around) != 1 or len(around[0].latches) != 1:
            continue
        told = _promises(around[0], view)
        if told.proved or told.kept or not reads_still_element(loop, view, unit.module.layout):
            continue
        if not stores_one_by_one(loop, view, unit.module.layout, unit.isa):
            found.append((view.blocks[around[0].header], view.blocks[loop.header]))
    return found


def _promises(loop: Loop, view: CFGView) -> LoopPromises:
    return loop_promises(view.blocks[loop.latches[0]], tuple(view.blocks[b] for b in loop.blocks))


def _scope(unit: LoopUnit, function: Function) -> tuple[Scope, Accesses]:
    arrays = unit.arrays if function is unit.function else ()
    scope = Scope(Program(unit.module, arrays=arrays), function)
    return scope, Accesses(Reconstruction(scope.program))


def _cut(unit: LoopUnit, function: Function, row: BasicBlock) -> tuple[BasicBlock, BasicBlock] | None:
    """Cut a row at the iteration that others depend on; the headers of the loops before and behind it."""
    scope, accesses = _scope(unit, function)
    loop = _headed(scope, row)
    point = splitting_point(accesses, loop) if loop is not None else None
    if point is None or not can_be_split(point.loop):
        return None
    what = "one iteration of this loop runs alone, and those before and behind it are loops of their own"
    unit.remarks.add(RemarkKind.TRANSFORM, what, span_of(row.terminator), pass_name="cut rows")
    parts = split_range(function, point.loop, point.value, point.offset)
    close_loops(function)
    return parts


def _headed(scope: Scope, header: BasicBlock) -> LoopContext | None:
    return next((c for c in scope.loops.values() if c.header is header), None)


def _mark(unit: LoopUnit, function: Function, header: BasicBlock, parts: list[BasicBlock]) -> None:
    """Mark the parts of rows in a promised loop that are parallel under tests in front of it."""
    scope, accesses = _scope(unit, function)
    outer = _headed(scope, header)
    if outer is None:
        return
    parameters = parameters_of(accesses, outer, frozenset())
    tests = RunTimeTests()
    assumptions: dict[Assumption, None] = {}
    proved: list[LoopContext] = []
    for part in parts:
        loop = _headed(scope, part)
        verdict = verdict_if_independent(accesses, loop) if loop is not None else None
        if loop is None or verdict is None or verdict.verdict is not Verdict.PARALLEL:
            continue
        more = dict.fromkeys((*assumptions, *needed_assumptions(accesses, loop, verdict, outer)))
        both = run_time_tests(accesses, outer, more, parameters)
        if not isinstance(both, str):
            tests, assumptions = both, more
            proved.append(loop)
    if not proved:
        return
    view = scope.view
    if not tests.is_empty:
        copies = version_loop(
            function, view, outer.loop, lambda b: build_tests(b, accesses.reconstruction, tests, outer)
        )
        for latch in outer.loop.latches:
            mark_version(copies[view.blocks[latch]].terminator, KEPT)
    for loop in proved:
        back_edge = view.blocks[loop.loop.latches[0]].terminator
        mark_parallel(back_edge, proved=True)
        mark_apart(back_edge)
    close_loops(function)


def _cut_rows(unit: LoopUnit) -> bool:
    return sum(cut_rows(unit, function) for function in list(unit.module.definitions())) > 0


CUT_ROWS: Pass[LoopUnit] = Pass(
    "cut rows",
    "in loops over prange, rows that read an element of their own are cut there, and lanes run along both parts",
    _cut_rows,
    optional=True,
    applies=lambda unit: unit.width is None,
)

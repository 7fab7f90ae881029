"""Plain loops that are found to be parallel, marked as if their language had said so (``parallel="auto"``).

Of each loop nest the outermost loop is taken whose iterations may run in any order, by what
`weft.analysis.sequential` proves. What the proof rests on is tested in front of the loop, which runs as it was where a
test fails. It is marked, and so are the loops in it that are parallel under the same tests; which of them lanes run
along is for the passes behind to choose. Float sums and products stay in their order unless their operations may be
reassociated, float minima and maxima unless they may mix up zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.carried_divisions import carries_division
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Program, Scope
from weft.analysis.symbolic.integer_sets import has_isl
from weft.codegen.order.width import one_register
from weft.diag.remarks import RemarkKind
from weft.graph.loops import loop_forest
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import mark_in_step
from weft.passes.forms.combined_ahead import CombinedAhead, combine_rounds_ahead
from weft.passes.forms.kept_elements import keep_elements
from weft.passes.loop_unit import LoopUnit
from weft.passes.mark_chosen import apply_chosen
from weft.passes.nests.chosen_loops import PASS, Search
from weft.passes.nests.loop_order import order_loops, undo
from weft.passes.nests.loop_splits import split_loops
from weft.passes.nests.range_splits import split_ranges
from weft.passes.nests.rows_ahead import run_rows_ahead
from weft.passes.nests.rows_together import RowsTogether, add_rows_together
from weft.passes.nests.time_skews import Skewed, skew_over_time
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.early_tests import test_present_values
from weft.transform.loops.flag_choices import flag_choices
from weft.transform.loops.handed_loads import hand_on_values
from weft.transform.loops.same_both_ways import compute_once
from weft.transform.loops.signed_tests import sign_tests
from weft.transform.loops.unit_steps import count_by_one

_NO_SETS = "dependences are not tested by integer sets, as islpy is not installed: fewer loops are found to be parallel"


def find_auto_loops(unit: LoopUnit, function: Function, *, reassociate: bool) -> int:
    """Mark the loops of a function that are found to be parallel, behind tests; how many nests."""
    if any((i.callee_name or "").startswith("weft.barrier") for i in function.instructions()):
        return 0
    sign_tests(function)
    close_loops(function)
    open_needless(function)
    test_present_values(function)
    flag_choices(function)
    compute_once(function)
    hand_on_values(function)
    by_one = count_by_one(function)
    close_loops(function)
    arrays = unit.arrays if function is unit.function else ()
    cut = split_ranges(unit.module, function, arrays, outer=unit.all_cores)
    waves, spare = skew_over_time(
        unit.module, function, arrays, lanes=one_register(unit.isa), all_cores=unit.all_cores
    )
    in_waves = {each.strips for each in waves}
    taken_apart, more = split_loops(unit.module, function, arrays, spare | in_waves)
    spare |= more | set(by_one.values())
    rows: list[RowsTogether] = []
    ahead: list[RowsTogether] = []
    if not reassociate:
        rows, more = add_rows_together(
            unit.module, function, arrays, spare | in_waves, all_cores=unit.all_cores
        )
        spare |= more
        ahead, more = run_rows_ahead(
            unit.module, function, arrays, {*spare, *in_waves, *(each.header for each in rows)}
        )
        spare |= more
        unit.in_order |= bool(rows or ahead)
    combined, more = combine_rounds_ahead(
        unit.module, function, arrays, {*spare, *in_waves, *(each.header for each in (*rows, *ahead))}
    )
    spare |= more
    inside_settled = frozenset({*by_one.values(), *(h for each in combined for h in (each.lanes, each.rest))})
    settled = in_waves | {each.header for each in rows}
    left = spare | settled
    while True:
        changes = order_loops(unit.module, function, arrays, left)
        program = Program(unit.module, arrays=arrays)
        scope = Scope(program, function)
        search = Search(unit, Accesses(Reconstruction(program)), scope, reassociate, inside_settled)
        outermost = [
            c
            for c in scope.loops.values()
            if c.parent is None and c.header not in spare and c.header not in settled
        ]
        outermost += _in_waves(scope, waves)
        found = [chosen for loop in outermost for chosen in search.in_nest(loop)]
        inside = {b: chosen for chosen in found for b in chosen.loop.blocks}
        lost = {c.top for c in changes if c.outer not in inside or inside[c.outer].form is not None}
        if not lost:
            break
        # The tests of a change stand before the loop that runs in parallel.
        for change in reversed(changes):
            undo(function, change.outer, change.inner)
        left |= lost
    if not has_isl() and scope.loops:
        unit.remarks.add(RemarkKind.MISSED, _NO_SETS, hint="pip install 'weft[loops]'", pass_name=PASS)
    for header in cut:
        what = "one iteration of this loop runs alone, and those before and behind it are loops of their own"
        unit.remarks.add(RemarkKind.TRANSFORM, what, span_of(header.terminator), pass_name=PASS)
    for header in taken_apart:
        what = "each of the loops in this loop has got a loop of its own"
        unit.remarks.add(RemarkKind.TRANSFORM, what, span_of(header.terminator), pass_name=PASS)
    for header in by_one:
        what = "this loop has got a version for a step of 1"
        unit.remarks.add(RemarkKind.TRANSFORM, what, span_of(header.terminator), pass_name=PASS)
    for each in waves:
        _note_waves(unit, function, each)
    for each in rows:
        _note_rows(unit, each, "add up their rows together, each in order")
    for each in ahead:
        _note_rows(unit, each, "begin together, up to the first of them, and add up in order there")
    for each in combined:
        _note_combined(unit, each)
    for loop, message in search.missed:
        unit.remarks.add(RemarkKind.MISSED, message, span_of(loop.header.terminator), pass_name=PASS)
    for chosen in found:
        mine = [c for c in changes if inside[c.outer] is chosen]
        apply_chosen(unit, function, scope, search.accesses, chosen, mine)
    in_order = [loop.header for loop, _ in search.missed if not loop.loop.children]
    for header in keep_elements(unit.module, function, arrays, in_order):
        what = "the element that this loop updates stays in a register"
        unit.remarks.add(RemarkKind.TRANSFORM, what, span_of(header.terminator), pass_name=PASS)
    unit.in_order |= _waits_for_division(function)
    return len(found) + sum(each.at_once for each in waves)


def _waits_for_division(function: Function) -> bool:
    """Whether a loop that stays in order hands on what it divides."""
    view = cfg_of(function)
    for loop in loop_forest(view.cfg).loops:
        blocks = tuple(view.blocks[b] for b in loop.blocks)
        if loop.children or loop_promises(view.blocks[loop.latches[0]], blocks).parallel:
            continue
        if carries_division(view.blocks[loop.header], blocks):
            return True
    return False


def _in_waves(scope: Scope, waves: Sequence[Skewed]) -> list[LoopContext]:
    """The loops in steps that do not run at once."""
    times = {each.time for each in waves if not each.at_once}
    return [c for c in scope.loops.values() if c.parent is not None and c.parent.header in times]


def _note_waves(unit: LoopUnit, function: Function, made: Skewed) -> None:
    texts = dict.fromkeys(a.text for a in made.assumptions if a.kind != "reassociation")
    what = (
        f"{made.length} steps of this loop at a time go over rows together, each {made.slope} rows behind the one "
        "before it"
    )
    what += ", and run at the same time" if made.at_once else ", so that rows stay in the cache"
    under = f" if {', and '.join(texts)}" if texts else ""
    unit.remarks.add(RemarkKind.TRANSFORM, f"{what}{under}", span_of(made.time.terminator), pass_name=PASS)
    if made.at_once:
        view = cfg_of(function)
        loop = loop_forest(view.cfg).headed_by[view.index[made.time]]
        assert loop is not None
        mark_in_step(view.blocks[loop.latches[0]].terminator, made.length)


def _note_rows(unit: LoopUnit, made: RowsTogether, how: str) -> None:
    texts = dict.fromkeys(a.text for a in made.assumptions if a.kind != "reassociation")
    what = f"{made.count} iterations of this loop at a time {how}"
    under = f" if {', and '.join(texts)}" if texts else ""
    unit.remarks.add(RemarkKind.TRANSFORM, f"{what}{under}", span_of(made.header.terminator), pass_name=PASS)


def _note_combined(unit: LoopUnit, made: CombinedAhead) -> None:
    texts = dict.fromkeys(a.text for a in made.assumptions if a.kind != "reassociation")
    what = (
        f"{made.count} iterations of this loop at a time combine in lanes what those before them have found, "
        "then they go on in order"
    )
    under = f" if {', and '.join(texts)}" if texts else ""
    unit.remarks.add(RemarkKind.TRANSFORM, f"{what}{under}", span_of(made.header.terminator), pass_name=PASS)

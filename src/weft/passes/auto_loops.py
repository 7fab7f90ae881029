"""Plain loops that are found to be parallel, marked as if their language had said so (``parallel="auto"``).

Of each loop nest the outermost loop is taken whose iterations may run in any order, by what
`weft.analysis.sequential` proves. What the proof rests on is tested in front of the loop, which runs as it was where a
test fails. It is marked, and so are the loops in it that are parallel under the same tests; which of them lanes run
along is for the passes behind to choose. Float sums and products stay in their order unless their operations may be
reassociated, float minima and maxima unless they may mix up zeros.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.loops.carried_divisions import carries_division
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.analysis.loops.reductions import Combination, Reduction
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.lock_step import lanes_in_step
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests, test_that_body_runs
from weft.analysis.sequential.scope import Assumption, LoopContext, Program, Scope, line_of
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict, Verdict, loop_verdict
from weft.analysis.symbolic.integer_sets import has_isl
from weft.codegen.few_iterations import keep_for_few
from weft.codegen.parallel_loops import run_in_place, strip_mine
from weft.codegen.scan_launch import run_scans_in_parallel, totals_of
from weft.codegen.width import one_register
from weft.diag.remarks import RemarkKind
from weft.graph.loops import loop_forest
from weft.ir import TRUE, BasicBlock, Builder, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import mark_in_step, mark_parallel, unmark
from weft.passes.blocks_inside import lanes_of_all
from weft.passes.combined_ahead import CombinedAhead, combine_rounds_ahead
from weft.passes.find_loops import LegalLoop
from weft.passes.kept_elements import keep_elements
from weft.passes.last_form import last_form
from weft.passes.lock_step_form import is_worth_lanes, lock_step_form
from weft.passes.loop_order import Change, order_loops, undo
from weft.passes.loop_splits import split_loops
from weft.passes.loop_tiles import Tiles, run_in_tiles, tiles_of
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.passes.order_form import order_form
from weft.passes.private_form import PrivateUpdate, mark_updates, private_updates
from weft.passes.quiet_form import Form, skip_quiet, skips_quiet_iterations
from weft.passes.range_splits import split_ranges
from weft.passes.rows_ahead import run_rows_ahead
from weft.passes.rows_together import RowsTogether, add_rows_together
from weft.passes.strip_form import strip_form
from weft.passes.time_skews import Skewed, skew_over_time
from weft.transform.loops.build_tests import build_tests
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.early_tests import test_present_values
from weft.transform.loops.flag_choices import flag_choices
from weft.transform.loops.handed_loads import hand_on_values
from weft.transform.loops.promote_elements import Promotion, find_promotions, promote
from weft.transform.loops.same_both_ways import compute_once
from weft.transform.loops.signed_tests import sign_tests
from weft.transform.loops.unit_steps import count_by_one
from weft.transform.loops.version_loop import version_loop

PASS = "parallel loops"

MOST_REASONS = 3
"""So many are told of a loop that runs in order."""

_NO_SETS = "dependences are not tested by integer sets, as islpy is not installed: fewer loops are found to be parallel"

_ORDERED = {
    Combination.FMIN, Combination.FMAX, Combination.FMINNUM, Combination.FMAXNUM,
}  # fmt: skip
"""Which zero they give, and which of two NaNs, depends on the order."""

_ZEROS = "a float minimum or maximum would be formed in another order, and -0.0 might take the place of 0.0"


class Chosen(Struct, frozen=True):
    """A loop that is to run in parallel.

    Parameters
    ----------
    loop
        The loop.
    inside
        Loops in it that are parallel, too.
    tests
        What is to be tested before it.
    assumptions
        The same in words.
    in_step
        How many iterations may run in lock step, 0 where they may run in any order.
    promotions
        Elements that loops in it update again and again.
    form
        Rewrites the loop so that lanes can run it, where it carries something in a known way.
    updates
        Updates of elements that may be the same, which each thread makes in memory of its own.
    tiles
        How the nest goes through a loop that adds up, tile by tile.
    """

    loop: LoopContext
    inside: tuple[LoopContext, ...]
    tests: RunTimeTests
    assumptions: tuple[Assumption, ...]
    promotions: tuple[Promotion, ...] = ()
    in_step: int = 0
    form: Form | None = None
    updates: tuple[PrivateUpdate, ...] = ()
    tiles: Tiles | None = None


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


class Search(Struct, frozen=True):
    """Finds parallel loops.

    Parameters
    ----------
    unit, accesses, scope
        The function, and what is known of it.
    reassociate
        Whether float sums may be formed in another order.
    spare
        Headers of loops that stay as they are.
    promises
        Whether promised loops are looked at, too, as if nobody said anything of them.
    missed
        Loops that are not parallel, and why.
    """

    unit: LoopUnit
    accesses: Accesses
    scope: Scope
    reassociate: bool
    spare: frozenset[BasicBlock]
    promises: bool = False
    missed: list[tuple[LoopContext, str]] = field(default_factory=list)

    def whole_nest(self, loop: LoopContext) -> Chosen | None:
        """The loop that a nest is in, if that itself can run in parallel."""
        verdict = loop_verdict(self.accesses, loop)
        chosen = self._tested(loop, verdict) if self._why_in_order(loop, verdict) is None else None
        return chosen if isinstance(chosen, Chosen) else None

    def in_nest(self, loop: LoopContext) -> Iterator[Chosen]:
        """The outermost loops of a nest that can run in parallel."""
        if self._is_promised(loop) or loop.header in self.spare:
            return
        inside = [other for other in self.scope.loops.values() if other.parent is loop]
        verdict = loop_verdict(self.accesses, loop)
        reason = self._why_in_order(loop, verdict)
        if reason is None:
            chosen = self._tested(loop, verdict)
            if not isinstance(chosen, str):
                yield chosen
                return
            reason = chosen
        shared = self._with_copies(loop, verdict)
        if shared is not None:
            yield shared
            return
        if not inside:
            lanes = self._in_lock_step(loop, verdict) or self._rewritten(loop, verdict)
            if isinstance(lanes, Chosen):
                yield lanes
                return
            if lanes is not None:
                reason = f"{reason}; {lanes}"
        self.missed.append((loop, f"this loop runs in order: {reason}"))
        for other in inside:
            yield from self.in_nest(other)

    def _with_copies(self, loop: LoopContext, verdict: LoopVerdict) -> Chosen | None:
        """The loop on all cores, where it updates elements that may be the same and they have copies of these."""
        if not self.unit.all_cores or verdict.verdict not in (Verdict.HISTOGRAM, Verdict.REDUCTION):
            return None
        plan = self._plan(loop)
        if isinstance(plan, Obstacle):
            return None
        chosen = self._tested(loop, verdict)
        if isinstance(chosen, str):
            return None
        updates = private_updates(self.accesses, loop, verdict, chosen.tests, reassociate=self.reassociate)
        if loop.parent is not None and not is_worth_lanes(plan.loop, self.unit.isa):
            # Copies would be made each time around, and an element that stays the same may be in a register.
            inside = set(loop.blocks)
            places = (u.update.store.pointer for u in updates)
            if not all(isinstance(p, Instruction) and p.block in inside for p in places):
                return None
        return replace(chosen, updates=updates, promotions=()) if updates else None

    def _in_lock_step(self, loop: LoopContext, verdict: LoopVerdict) -> Chosen | None:
        """The loop in lanes that keep its dependences."""
        if verdict.dependences is None or isinstance(self._plan(loop), Obstacle):
            return None
        lanes = lanes_in_step(loop, verdict.dependences)
        if not lanes:
            return None
        parameters = parameters_of(self.accesses, loop, verdict.private)
        tests = run_time_tests(self.accesses, loop, verdict.assumptions, parameters)
        return None if isinstance(tests, str) else Chosen(loop, (), tests, verdict.assumptions, in_step=lanes)

    def _rewritten(self, loop: LoopContext, verdict: LoopVerdict) -> Chosen | str | None:
        """The loop in a form that lanes can run though iterations hand something on; why it has none."""
        if verdict.dependences is None:
            return None
        isa = self.unit.isa if self.unit.width is None else None
        lanes = lock_step_form(self.accesses, loop, verdict, self._plan, isa, reassociate=self.reassociate)
        if lanes is not None and not isinstance(lanes, str):
            return Chosen(loop, (), lanes.tests, lanes.assumptions, form=lanes.rewrite)
        found = skips_quiet_iterations(self.accesses, loop, verdict)
        if not isinstance(found, str):
            return Chosen(loop, (), *found, form=skip_quiet)
        if not isinstance(self._plan(loop), Obstacle):
            for find in (order_form, last_form):
                if (form := find(self.accesses, loop, verdict)) is not None:
                    return Chosen(loop, (), form.tests, form.assumptions, form=form.rewrite)
        strips = strip_form(
            self.accesses, loop, verdict, self._plan, self.unit.isa, vector_math=not self.unit.exact_math
        )
        if strips is not None:
            return Chosen(loop, (), strips.tests, strips.assumptions, form=strips.rewrite)
        return found if verdict.verdict is Verdict.SEARCH else lanes

    def _is_promised(self, loop: LoopContext) -> bool:
        view = self.scope.view
        blocks = tuple(view.blocks[b] for b in loop.loop.blocks)
        return loop_promises(view.blocks[loop.loop.latches[0]], blocks).parallel

    def _why_in_order(self, loop: LoopContext, verdict: LoopVerdict) -> str | None:
        """Why the iterations of a loop cannot run in any order."""
        if verdict.verdict not in (Verdict.PARALLEL, Verdict.REDUCTION):
            kind = "" if verdict.verdict is Verdict.SEQUENTIAL else f"it is a {verdict.verdict.value}: "
            told = [f"line {r.line}: {r.text}" if r.line else r.text for r in verdict.reasons[:MOST_REASONS]]
            return kind + "; ".join(told)
        if verdict.dependences is None or verdict.dependences.found:
            return "iterations update the same elements"
        plan = self._plan(loop)
        return plan.message if isinstance(plan, Obstacle) else None

    def _plan(self, loop: LoopContext, handled: Collection[Instruction] = ()) -> ParallelLoop | Obstacle:
        view, layout = self.scope.view, self.unit.module.layout
        plan = parallel_loop(
            self.scope.function,
            view,
            loop.loop,
            layout,
            promised=True,
            reassociate=self.reassociate,
            proved=True,
            handled=handled,
        )
        for reduction in plan.reductions if isinstance(plan, ParallelLoop) else ():
            if reduction.combination in _ORDERED and not (self.reassociate or _ignores_zeros(reduction)):
                return Obstacle(_ZEROS, reduction.phi)
        return plan

    def _tested(self, loop: LoopContext, verdict: LoopVerdict) -> Chosen | str:
        """The loop with those inside that are parallel under tests in front of it; why there are no such tests."""
        parameters = parameters_of(self.accesses, loop, verdict.private)
        tests = run_time_tests(self.accesses, loop, verdict.assumptions, parameters)
        if isinstance(tests, str):
            return tests
        assumptions = dict.fromkeys(verdict.assumptions)
        inside: list[LoopContext] = []
        for other in self.scope.loops.values():
            if other is loop or not loop.contains(other) or (self._is_promised(other) and not self.promises):
                continue
            found = loop_verdict(self.accesses, other)
            if self._why_in_order(other, found) is not None:
                continue
            more = dict.fromkeys((*assumptions, *found.assumptions))
            both = run_time_tests(self.accesses, loop, more, parameters)
            if not isinstance(both, str):
                tests, assumptions = both, more
                inside.append(other)
        promotions = [
            promotion
            for promotion in find_promotions(self.accesses, loop)
            if promotion.loop not in inside
            and (promotion.is_touched or test_that_body_runs(tests, self.accesses, promotion.loop, loop))
        ]
        kept = {promotion.loop for promotion in promotions}
        tiles = tiles_of(self.accesses, loop, inside, tests, self.unit.isa.vector_bits) if kept else None
        if tiles is not None and tiles.inner not in kept:
            tiles = None
        return Chosen(loop, tuple(inside), tests, tuple(assumptions), tuple(promotions), tiles=tiles)


def _ignores_zeros(reduction: Reduction) -> bool:
    marked = [i for i in reduction.operations if i.op in ("fcmp", "select", "call")]
    return all({"nsz", "fast"} & set(i.flags) for i in marked if i.op != "fcmp")


def apply_chosen(
    unit: LoopUnit,
    function: Function,
    scope: Scope,
    accesses: Accesses,
    chosen: Chosen,
    changes: Sequence[Change],
    *,
    promises: bool = False,
) -> None:
    """Mark a loop and those in it, behind tests of what that rests on.

    With `promises` nothing else is said of the loops of its nest from then on: they may have changed places with
    promised ones.
    """
    view, loop = scope.view, chosen.loop
    asked = [(accesses, chosen.tests, loop), *((c.accesses, c.tests, c.loop) for c in changes)]
    asked = [each for each in asked if not each[1].is_empty]
    if asked:

        def build(builder: Builder) -> Value:
            whole: Value = TRUE
            for known, tests, before in asked:
                one = build_tests(builder, known.reconstruction, tests, before)
                whole = one if whole is TRUE else builder.binary("and", whole, one)
            return whole

        copies = version_loop(function, view, loop.loop, build)
        for change in reversed(changes):
            undo(function, copies[change.outer], copies[change.inner])
    if promises:
        for each in scope.loops.values():
            if each is loop or loop.contains(each):
                for latch in each.loop.latches:
                    unmark(view.blocks[latch].terminator)
    for change in changes:
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            f"this loop and that of line {line_of(change.outer.terminator)} have changed places",
            span_of(change.inner.terminator),
            pass_name=PASS,
        )
    places = {each: span_of(each.header.terminator) for each in (loop, *chosen.inside)}
    ends = {each: view.blocks[each.loop.latches[0]] for each in (loop, *chosen.inside)}
    if chosen.tiles is not None:
        tiles, place = chosen.tiles, span_of(chosen.tiles.inner.header.terminator)
        ends[tiles.outer], ends[tiles.middle] = run_in_tiles(function, tiles)
        what = f"{tiles.size} iterations of this loop at a time are a tile, which all iterations around it go over"
        if tiles.packing is not None:
            what += f"; what lanes would gather is copied for {tiles.packing.columns} columns at a time"
        unit.remarks.add(RemarkKind.TRANSFORM, what, place, pass_name=PASS)
    for promotion in chosen.promotions:
        promote(promotion)
    if chosen.updates:
        mark_updates(accesses, loop, loop.header, chosen.updates)
    close_loops(function)
    assumed = [*chosen.assumptions, *(a for c in changes for a in c.assumptions)]
    texts = dict.fromkeys(a.text for a in assumed if a.kind != "reassociation")
    under = f" if {', and '.join(texts)}" if texts and asked else ""
    if chosen.form is not None:
        span = span_of(loop.header.terminator)
        what = chosen.form(function, loop.header)
        close_loops(function)
        unit.remarks.add(RemarkKind.TRANSFORM, f"{what}{under}", span, pass_name=PASS)
        return
    for each in (loop, *chosen.inside):
        back_edge = ends[each].terminator
        if chosen.in_step:
            mark_in_step(back_edge, chosen.in_step)
        else:
            mark_parallel(back_edge, proved=True)
    what = "the iterations of this loop are independent"
    if chosen.updates:
        what += ", but for elements that they update, of which each thread has a copy"
    if chosen.in_step:
        what = f"{chosen.in_step} iterations of this loop may run at a time, in lock step and in order"
    unit.remarks.add(
        RemarkKind.TRANSFORM,
        f"{what}{under}",
        places[loop],
        pass_name=PASS,
    )


def run_lanes_inside(
    unit: LoopUnit, found: LegalLoop, name: str, headers: Sequence[BasicBlock]
) -> list[FoundLoop]:
    """Let loops of a nest, by their headers, run lane group by lane group where they stand."""
    function, module = found.function, unit.module
    made: list[FoundLoop] = []
    for number, header in enumerate(headers):
        plan = keep_for_few(module, plan_again(unit, function, header), unit.width, unit.isa, proved=True)
        span = span_of(plan.loop.exiting.terminator)
        width, reason = unit.width, "as asked for"
        if width is None and (lanes := lanes_of_all(plan.loop, unit.isa)):
            width, reason = lanes, "as many as it has"
        mined = strip_mine(
            module, plan, f"{name}.lanes{number}", width, unit.isa, unit.runner, reason, narrows=True
        )
        run_in_place(module, mined)
        made.append(FoundLoop(mined, span, "this loop"))
    return made


def plan_again(unit: LoopUnit, function: Function, header: BasicBlock) -> ParallelLoop:
    """How a loop runs that has been found to be parallel, in the function as it is now."""
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is header)
    plan = parallel_loop(
        function, view, loop, unit.module.layout, promised=True, reassociate=True, proved=True
    )
    assert isinstance(plan, ParallelLoop), plan.message
    return plan


def unmark_nest(found: LegalLoop) -> None:
    """Let the loops of a nest that are left run as they are."""
    view = cfg_of(found.function)
    for loop in loop_forest(view.cfg).loops:
        if view.blocks[loop.header] in found.plan.loop.blocks:
            for latch in loop.latches:
                unmark(view.blocks[latch].terminator)


def run_in_step(
    unit: LoopUnit, found: LegalLoop, name: str, subject: str, *, in_grains: bool = False
) -> FoundLoop:
    """Let a loop run lane group after lane group where it stands, in no more lanes than keep its dependences.

    With `in_grains`, all cores share it where it can be cut into grains.
    """
    width, reason = _width_in_step(unit, found.wanted.width or 1)
    span = span_of(found.plan.loop.exiting.terminator)
    mined = strip_mine(unit.module, found.plan, name, width, unit.isa, unit.runner, reason)
    totals = totals_of(unit.module, mined) if in_grains else None
    if totals is not None:
        run_scans_in_parallel(unit.module, mined, totals, name)
        behind = ", in order, and all cores share it in two passes"
        return FoundLoop(mined, span, subject, behind, in_step=True, totals=totals.mined)
    run_in_place(unit.module, mined)
    return FoundLoop(mined, span, subject, ", in order", in_step=True)


def _width_in_step(unit: LoopUnit, most: int) -> tuple[int, str]:
    """How many of at most so many lanes a loop in lock step has, and why."""
    if unit.width is not None:
        if unit.width <= most:
            return unit.width, "as asked for"
        return most, f"as more would not keep their order, where {unit.width} are asked for"
    wide = 2 * one_register(unit.isa)
    return (
        (wide, "two registers of 32-bit values")
        if wide <= most
        else (most, "as many as keep their order and pay")
    )

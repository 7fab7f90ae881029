"""Which loops of a nest run in parallel: the outermost ones whose iterations may run in any order, or in lock step.

That is what `weft.analysis.sequential` proves, under assumptions that there are tests of. Float sums and products stay
in their order unless their operations may be reassociated, float minima and maxima unless they may mix up zeros.
Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.analysis.loops.reductions import Combination, Reduction
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.lock_step import lanes_in_step
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests, test_that_body_runs
from weft.analysis.sequential.scope import LoopContext, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict, Verdict, loop_verdict, verdict_if_independent
from weft.analysis.sequential.whole_reads import needed_assumptions
from weft.ir import BasicBlock, Instruction
from weft.ir.loop_metadata import is_seldom
from weft.passes.forms.last_form import last_form
from weft.passes.forms.lock_step_form import is_worth_lanes, lock_step_form
from weft.passes.forms.order_form import order_form
from weft.passes.forms.private_form import PrivateUpdate, private_updates
from weft.passes.forms.quiet_form import Form, skip_quiet, skips_quiet_iterations
from weft.passes.forms.strip_form import strip_form
from weft.passes.loop_unit import LoopUnit
from weft.passes.nests.loop_tiles import Tiles, tiles_of
from weft.transform.loops.promote_elements import Promotion, find_promotions

PASS = "parallel loops"

MOST_REASONS = 3
"""So many are told of a loop that runs in order."""

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
        verdict = verdict_if_independent(self.accesses, loop)
        if verdict is None or self._why_in_order(loop, verdict) is not None:
            return None
        chosen = self._tested(loop, verdict)
        return chosen if isinstance(chosen, Chosen) else None

    def in_nest(self, loop: LoopContext) -> Iterator[Chosen]:
        """The outermost loops of a nest that can run in parallel."""
        if self._is_promised(loop) or loop.header in self.spare or _is_seldom(loop):
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
        needed = needed_assumptions(self.accesses, loop, verdict, loop)
        tests = run_time_tests(self.accesses, loop, needed, parameters)
        if isinstance(tests, str):
            return tests
        assumptions = dict.fromkeys(needed)
        inside: list[LoopContext] = []
        for other in self.scope.loops.values():
            if other is loop or not loop.contains(other) or (self._is_promised(other) and not self.promises):
                continue
            found = verdict_if_independent(self.accesses, other)
            if found is None or self._why_in_order(other, found) is not None:
                continue
            more = dict.fromkeys((*assumptions, *needed_assumptions(self.accesses, other, found, loop)))
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


def _is_seldom(loop: LoopContext) -> bool:
    """Whether a loop is what is left of one of which another version runs, and has none in it."""
    latches = (loop.scope.view.blocks[latch] for latch in loop.loop.latches)
    return not loop.loop.children and all(is_seldom(latch.terminator) for latch in latches)

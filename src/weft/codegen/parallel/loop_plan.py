"""Plans of how the iterations of an outlined loop run: one after the other, or in how many lanes.

The body is prepared on the way: passes of `weft.codegen.lanes.plain_passes` make it what the plan is about.
"""

from __future__ import annotations

import math

from msgspec import Struct, field

from weft.analysis.divergence import Divergence, uniform_argument
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.obstacles import why_not_vectorized
from weft.codegen.lanes.plain_passes import (
    BODIES,
    INNER_VERSIONS,
    KNOWN_NUMBERS,
    NARROWING,
    is_better_at_no_edge,
    narrowing_passes,
)
from weft.codegen.order.stretches import choose_stretch, stretch_widths
from weft.codegen.order.walks import choose_walk
from weft.codegen.order.width import (
    OpenChoice,
    WidthChoice,
    choose_width,
    may_be_open,
    one_register,
    open_choice,
)
from weft.codegen.parallel.inner_loops import prefers_inner_loops
from weft.codegen.widen.lanes import LaneSpace
from weft.diag.source import SourceSpan
from weft.ir import Function, Module, Value
from weft.ir.clone import clone_function
from weft.ir.heap import heap_call
from weft.ir.intrinsics import FIRST_ATTRIBUTE
from weft.ir.types import IntType
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.transform.loops.guess_ranges import guess_for_good


class LoopPlan(Struct, frozen=True):
    """How the iterations of an outlined loop run.

    Parameters
    ----------
    choice
        In how many lanes, 1 for iteration after iteration, and why so many.
    obstacle
        What stands in the way of more.
    guessed
        Where loops are that have 32 bits while their numbers fit.
    narrowed, small
        How many numbers of the body have 32 bits instead of 64, and how many 8 or 16 bits instead of more.
    open_choice
        That there is to be code in lanes and code for iterations one by one.
    """

    choice: WidthChoice
    obstacle: str | None = None
    guessed: list[SourceSpan | None] = field(default_factory=list)
    narrowed: int = 0
    small: int = 0
    open_choice: OpenChoice | None = None


def plan_loop(
    module: Module,
    body: Function,
    width: int | None,
    isa: Isa,
    runner: Runner,
    reason: str = "as asked for",
    *,
    both_ways: bool = False,
) -> LoopPlan:
    """Prepare the body of a loop, and choose in how many lanes its iterations run."""
    lanes = LaneSpace((width or one_register(isa),))
    unit = LaneUnit(module, body, lanes, all_uniform(body, lanes), isa)
    runner = runner.watched_by()
    obstacle = why_in_order(body)
    if width == 1 or obstacle is not None:
        runner.run((KNOWN_NUMBERS,), unit)
        return LoopPlan(WidthChoice(1, reason), obstacle if width != 1 else None)
    runner.run(BODIES, unit)
    obstacle = why_not_vectorized(body)
    if obstacle is not None:
        return LoopPlan(WidthChoice(1, ""), obstacle)
    walk = choose_walk(unit, runner, both_ways=both_ways) if width is None else None
    if walk is not None and walk.choice.width > 1:
        runner.run(narrowing_passes(runner.left_out), unit)
        return LoopPlan(
            walk.choice,
            guessed=unit.summary.guessed,
            narrowed=unit.summary.narrowed,
            small=unit.summary.small,
            open_choice=walk.both_ways,
        )
    if width is None and walk is None and (choice := _inside_edges(unit, runner)) is not None:
        return LoopPlan(choice, narrowed=unit.summary.narrowed, small=unit.summary.small)
    if width is None and prefers_inner_loops(body, unit.divergence):
        return LoopPlan(WidthChoice(1, ""), "its inner loops run along rows, and are vectorized instead")
    if walk is not None:
        return LoopPlan(walk.choice)
    if width is None and (choice := _stretch(unit, runner)) is not None:
        runner.run(narrowing_passes(runner.left_out), unit)
        summary = unit.summary
        return LoopPlan(choice, None, summary.guessed, summary.narrowed, summary.small)
    chosen: OpenChoice | None = None
    if width is None and may_be_open(unit.divergence, in_loop=True):
        narrow, is_narrower = _narrowed(module, body, lanes, isa, runner)
        chosen = open_choice(narrow, isa, in_loop=True) if both_ways else None
        choice = choose_width(narrow, isa, in_loop=True)
        if chosen is None and (choice.width == 1 or not is_narrower):
            # In one lane its own numbers have the width of addresses.
            return LoopPlan(choice)
    runner.run(narrowing_passes(runner.left_out), unit)
    mostly = _mostly_run(module, body, lanes, isa) if unit.summary.guessed else unit.divergence
    return LoopPlan(
        choose_width(mostly, isa, both_ways=chosen is not None, in_loop=True)
        if width is None
        else WidthChoice(width, reason),
        guessed=unit.summary.guessed,
        narrowed=unit.summary.narrowed,
        small=unit.summary.small,
        open_choice=chosen,
    )


def _inside_edges(unit: LaneUnit, runner: Runner) -> WidthChoice | None:
    """The width for a body that has a version for lane groups at no edge, which most of them run; None without one."""
    if INNER_VERSIONS.name in runner.left_out or not is_better_at_no_edge(unit):
        return None
    runner.run((NARROWING,), unit)
    trial = clone_function(unit.function, f"{unit.function.name}.inside")
    part = LaneUnit(unit.module, trial, unit.lanes, all_uniform(trial, unit.lanes), unit.isa)
    INNER_VERSIONS.run(part)
    choice = choose_width(
        part.divergence, unit.isa, in_lanes=True, in_loop=True, before=unit.divergence, at_edges=True
    )
    del unit.module.functions[trial.name]
    return choice


def _stretch(unit: LaneUnit, runner: Runner) -> WidthChoice | None:
    """The width of lane groups of which all iterations have one quotient, if that is clearly better."""
    widths = stretch_widths(unit.divergence)
    if not widths:
        return None

    def seen(lanes: LaneSpace, *, aligned: bool = True) -> Divergence:
        return _narrowed(unit.module, unit.function, lanes, unit.isa, runner, aligned=aligned)[0]

    return choose_stretch(
        seen(unit.lanes, aligned=False), widths, lambda w: seen(LaneSpace((w,))), unit.isa, in_loop=True
    )


def _narrowed(
    module: Module, body: Function, lanes: LaneSpace, isa: Isa, runner: Runner, *, aligned: bool = True
) -> tuple[Divergence, bool]:
    """The divergence of a body whose numbers that differ from lane to lane are narrow, and whether any is narrower.

    The body itself stays. Its lane groups begin anywhere if they are not `aligned`.
    """
    trial = clone_function(body, f"{body.name}.narrow")
    unit = LaneUnit(module, trial, lanes, all_uniform(trial, lanes, aligned=aligned), isa)
    changing: list[str] = []
    runner.watched_by(lambda done, unit: changing.append(done.name)).run(
        narrowing_passes(runner.left_out), unit
    )
    if unit.summary.guessed:
        guess_for_good(trial)
        unit.forget()
    found = unit.divergence
    del module.functions[trial.name]
    return found, bool(changing)


def _mostly_run(module: Module, body: Function, lanes: LaneSpace, isa: Isa) -> Divergence:
    """The divergence of a body whose guesses are right; the body itself stays."""
    trial = clone_function(body, f"{body.name}.mostly")
    guess_for_good(trial)
    found = LaneUnit(module, trial, lanes, all_uniform(trial, lanes), isa).divergence
    del module.functions[trial.name]
    return found


def why_in_order(body: Function) -> str | None:
    """What calls keep the iterations of a loop from running in lanes; None for none."""
    calls = {name for i in body.instructions() if (name := heap_call(i))}
    if "fail" in calls and "allocate" not in calls:
        return "it raises exceptions: test before the loop"
    if calls:
        return "it allocates arrays, not all small and of constant shape: allocate before the loop"
    return None


def all_uniform(
    function: Function, lanes: LaneSpace, levels: int = 1, *, aligned: bool = True
) -> dict[Value, Shape]:
    """The shapes of parameters that are the same for all lanes, with what is known of where lane groups begin.

    Nothing is, if they are not `aligned`. Of a nest of several loops the first ones are the numbers of lane 0's
    iterations, at which boxes begin: multiples of the box's extents (`weft.codegen.parallel.nest_chunks`).
    """
    domain = domain_named("product", lanes.extents)
    shapes: dict[Value, Shape] = {a: uniform_argument(a, domain, function.layout) for a in function.args}
    for argument in function.args:
        known = argument.attribute(FIRST_ATTRIBUTE)
        if aligned and known is not None and isinstance(argument.type, IntType):
            start, step = map(int, known.rsplit("+", 1))
            multiple = math.gcd(start, step * math.prod(lanes.extents))
            shapes[argument] = domain.uniform(argument.type.bits, multiple & -multiple)
    if levels > 1:
        for number, extent in zip(function.args, lanes.by_axis(levels), strict=False):
            shapes[number] = domain.uniform(64, extent)
    return shapes

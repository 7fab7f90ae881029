"""Parallel loops as code for lane groups: the body becomes a function that runs in lanes, the loop is strip-mined.

A *lane function* is P-LLVM for one iteration; its attribute ``weft.lanes`` says in how many lanes each call of it runs
(Moll, §3.1). So the program around it is whole from the beginning, and can be run between any two passes; vectorizing
the lane function in its place is the business of the passes that every door shares (`weft.codegen.lane_passes`).

Precondition: a loop of canonical P-LLVM whose iterations may run in any order (`weft.analysis.loops.parallel_loops`).
Postcondition: the module has a function that runs ranges of them. Preserves the program under FR, but for the order of
iterations and of what reductions combine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from weft.analysis.divergence import Divergence, uniform_argument
from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.memory.alias import locate
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.chunks import INLINED, LoopBodies, build_chunk
from weft.codegen.combine import combine
from weft.codegen.entry_guard import guard_by_lane
from weft.codegen.functions import FunctionVectorizer
from weft.codegen.inner_loops import prefers_inner_loops
from weft.codegen.lane_passes import (
    BODIES,
    INNER_VERSIONS,
    KNOWN_NUMBERS,
    LINEAR_LANES,
    NARROWING,
    WIDENING,
    narrowing_passes,
    strided_at_no_edge,
)
from weft.codegen.lane_unit import LaneUnit, SimdForm
from weft.codegen.obstacles import why_not_vectorized
from weft.codegen.vectorization import VectorizationSummary
from weft.codegen.walks import choose_walk
from weft.codegen.widen.calls import FindMath, called_seldom
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.width import (
    OpenChoice,
    WidthChoice,
    choose_width,
    lanes_of_rest,
    may_be_open,
    one_register,
    open_choice,
)
from weft.diag.source import SourceSpan
from weft.graph.loops import loop_forest
from weft.ir import Argument, Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import clone_function
from weft.ir.heap import heap_call
from weft.ir.intrinsics import (
    APART_ATTRIBUTE,
    ARRAYS_APART_ATTRIBUTE,
    LANES_ATTRIBUTE,
    WRITABLE_ATTRIBUTE,
    lifetime_start,
)
from weft.ir.types import I1
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.switches import ALL_ON, Switches
from weft.transform.boscc.insertion import Boscc
from weft.transform.groups.single_lane import run_single_lane
from weft.transform.loops.alone import prepare_alone
from weft.transform.loops.fill_loops import fill_at_once
from weft.transform.loops.guess_ranges import guess_for_good
from weft.transform.loops.outline_loop import OutlinedLoop, cell_type, outline_loop
from weft.transform.loops.outline_nest import OutlinedNest
from weft.transform.loops.replace_loop import counter_after, open_preheader, replace_loop
from weft.transform.loops.told_apart import tell_apart


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


class StripMinedLoop(Struct):
    """A loop as a function that runs ranges of its iterations.

    Parameters
    ----------
    outlined
        The loop and its body.
    chunk
        Runs a range of iterations (`weft.codegen.chunks`).
    plan
        In how many lanes.
    lane_functions
        The body for whole lane groups, then for others, until they are vectorized; empty with one lane.
    has_loops
        Whether the body has loops.
    instructions
        How many instructions it has.
    lanes
        The lane group.
    rest
        Lanes of the groups behind whole ones, 0 where what is left runs under a mask.
    shares, packs
        Of a nest, whether it has a version in which loads are shared across stores, and one that packs what it reads.
    summary
        How the body was vectorized.
    apart
        Whether no iteration reads what another one writes.
    """

    outlined: OutlinedLoop | OutlinedNest
    chunk: Function
    plan: LoopPlan
    lane_functions: tuple[Function, ...]
    has_loops: bool
    instructions: int
    lanes: LaneSpace
    rest: int = 0
    shares: bool = False
    packs: bool = False
    summary: VectorizationSummary = field(default_factory=VectorizationSummary)
    apart: bool = False

    @property
    def width(self) -> int:
        """In how many lanes it runs."""
        return self.lanes.width

    @property
    def aligned(self) -> int:
        """Of how many loops lane groups begin at multiples of their extents, if they are boxes; else 1."""
        nest = self.outlined
        return len(nest.levels) if isinstance(nest, OutlinedNest) and nest.repeats is None else 1


def strip_mine(
    module: Module,
    loop: ParallelLoop,
    name: str,
    width: int | None,
    isa: Isa,
    runner: Runner,
    reason: str = "as asked for",
    *,
    narrows: bool = False,
    both_ways: bool = False,
    arrays_apart: bool = False,
) -> StripMinedLoop:
    """Add the functions `name` and ``name.chunk`` that run a loop's iterations; the loop itself stays as it is.

    Without a `width` the cost model chooses one for `isa`; else there is a `reason` for it. With `narrows`, what is
    left over behind whole lane groups runs in groups of a register, where masks are dear. With `both_ways` there may be
    code for iterations one by one beside it, and the plan says whether there should. With `arrays_apart`, what the loop
    stores by way of one parameter of its function is apart from all else that it accesses.
    """
    outlined = outline_loop(module, loop, name)
    body = outlined.body
    if arrays_apart and _have_parameters(outlined.captured, module):
        body.attributes = (*body.attributes, f'"{ARRAYS_APART_ATTRIBUTE}"')
    fill_at_once(module, body)
    plan = plan_loop(module, body, width, isa, runner, reason, both_ways=both_ways)
    lanes, has_loops = plan.choice.width, bool(loop_forest(cfg_of(body).cfg).loops)
    instructions = sum(1 for _ in body.instructions())
    if lanes == 1:
        run_single_lane(body)
        prepare_alone(body, isa)
        tell_apart(body)
        body.attributes = (*INLINED, *(a for a in body.attributes if a == f'"{WRITABLE_ATTRIBUTE}"'))
        chunk = build_chunk(module, outlined, LoopBodies(1, body, None), f"{name}.chunk")
        return StripMinedLoop(outlined, chunk, plan, (), has_loops, instructions, LaneSpace((1,)))
    fewer = 0
    if narrows and width is None and not (has_loops or loop.reductions):
        fewer = lanes_of_rest(plan.choice, isa)
    rest = clone_function(body, f"{name}.rest") if fewer else None
    partial = clone_function(body, f"{name}.partial")
    guard_by_lane(module, partial)
    functions = (body, partial) if rest is None else (body, partial, rest)
    for function in functions:
        own = lanes if function is body else fewer or lanes
        function.attributes = (*function.attributes, f'"{LANES_ATTRIBUTE}"="{own}"')
    chunk = build_chunk(module, outlined, LoopBodies(lanes, body, partial, rest, fewer), f"{name}.chunk")
    return StripMinedLoop(
        outlined, chunk, plan, functions, has_loops, instructions, LaneSpace((lanes,)), fewer
    )


def _have_parameters(captured: Collection[Value], module: Module) -> bool:
    """Whether each array that a loop accesses is one parameter of the loop's function: the array, or a place in it."""
    bases = [locate(v, module.layout).base for v in captured if v.type.is_pointer]
    return all(isinstance(base, Argument) for base in bases) and len(set(bases)) == len(bases)


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
    chosen: OpenChoice | None = None
    if width is None and may_be_open(unit.divergence, in_loop=True):
        narrow, is_narrower = _narrowed(module, body, lanes, isa, runner)
        chosen = open_choice(narrow, isa, in_loop=True) if both_ways else None
        choice = choose_width(narrow, isa, in_loop=True)
        if chosen is None and (choice.width == 1 or not is_narrower):
            # In one lane its own numbers have the width of addresses.
            return LoopPlan(choice)
    runner.run(narrowing_passes(runner.left_out), unit)
    in_lanes = chosen is not None
    mostly = _mostly_run(module, body, lanes, isa) if unit.summary.guessed else unit.divergence
    return LoopPlan(
        choose_width(mostly, isa, in_lanes=in_lanes, in_loop=True)
        if width is None
        else WidthChoice(width, reason),
        guessed=unit.summary.guessed,
        narrowed=unit.summary.narrowed,
        small=unit.summary.small,
        open_choice=chosen,
    )


def _inside_edges(unit: LaneUnit, runner: Runner) -> WidthChoice | None:
    """The width for a body that has a version for lane groups at no edge, which most of them run; None without one."""
    if INNER_VERSIONS.name in runner.left_out or not strided_at_no_edge(unit):
        return None
    runner.run((NARROWING,), unit)
    trial = clone_function(unit.function, f"{unit.function.name}.inside")
    part = LaneUnit(unit.module, trial, unit.lanes, all_uniform(trial, unit.lanes), unit.isa)
    INNER_VERSIONS.run(part)
    choice = choose_width(part.divergence, unit.isa, in_lanes=True, in_loop=True)
    del unit.module.functions[trial.name]
    return choice


def _narrowed(
    module: Module, body: Function, lanes: LaneSpace, isa: Isa, runner: Runner
) -> tuple[Divergence, bool]:
    """The divergence of a body whose numbers that differ from lane to lane are narrow, and whether any is narrower.

    The body itself stays.
    """
    trial = clone_function(body, f"{body.name}.narrow")
    unit = LaneUnit(module, trial, lanes, all_uniform(trial, lanes), isa)
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


def all_uniform(function: Function, lanes: LaneSpace, levels: int = 1) -> dict[Value, Shape]:
    """The shapes of parameters that are the same for all lanes.

    Of a nest of several loops the first ones are the numbers of lane 0's iterations, at which boxes begin: multiples
    of the box's extents (`weft.codegen.nest_chunks`).
    """
    domain = domain_named("product", lanes.extents)
    shapes: dict[Value, Shape] = {a: uniform_argument(a, domain, function.layout) for a in function.args}
    if levels > 1:
        for number, extent in zip(function.args, lanes.by_axis(levels), strict=False):
            shapes[number] = domain.uniform(64, extent)
    return shapes


def widen_loop(
    module: Module,
    loop: StripMinedLoop,
    find_math: FindMath,
    boscc: Boscc,
    runner: Runner,
    switches: Switches = ALL_ON,
) -> dict[str, VectorizationSummary]:
    """Vectorize the lane functions of a loop in their place; what became of the functions that they call."""
    lanes = loop.lanes
    called = FunctionVectorizer(module, lanes, find_math, boscc.isa, boscc, runner.watched_by(), switches)
    of_rest = called
    if loop.rest:
        rest = LaneSpace((loop.rest,))
        of_rest = FunctionVectorizer(module, rest, find_math, boscc.isa, boscc, runner.watched_by(), switches)
    for function in loop.lane_functions:
        own = called if function is loop.lane_functions[0] else of_rest
        width = loop.width if own is called else loop.rest
        shapes = all_uniform(function, own.lanes, loop.aligned)
        unit = own.unit(function, shapes, SimdForm(f"{function.name}.w{width}"))
        if function is not loop.lane_functions[0]:
            unit.find_math = called_seldom(unit.find_math)
        runner.run(LINEAR_LANES, unit)
        # Its calls are replaced behind it: only then there is a program to look at.
        runner.watched_by().run((WIDENING,), unit)
        vector = unit.function
        for call in [i for i in loop.chunk.instructions() if i.op == "call" and i.callee is function]:
            call.replace_operand(function, vector)
        vector.linkage.linkage, vector.attributes = "internal", INLINED
        if loop.apart:
            vector.attributes = (*INLINED, f'"{APART_ATTRIBUTE}"')
        runner.tell(WIDENING, unit)
        if function is loop.lane_functions[0]:
            loop.summary = unit.summary
            loop.summary.narrowed, loop.summary.small = loop.plan.narrowed, loop.plan.small
            loop.summary.guessed = loop.plan.guessed
    loop.lane_functions = ()
    return called.summaries


def run_in_place(
    module: Module, mined: StripMinedLoop, begin: Value | None = None, end: Value | None = None
) -> None:
    """Let the loop's function call the chunk instead of running the loop: for all iterations, or from begin to end.

    Of a nest it is for all.
    """
    parallel, captured = mined.outlined.parallel, mined.outlined.captured
    function = parallel.loop.header.function
    assert function is not None
    entry = Builder(before=function.entry.instructions[0])
    slots = [entry.alloca(cell_type(r)) for r in parallel.reductions]
    builder = open_preheader(parallel.loop)
    iterations = build_iterations(parallel.loop, builder)
    if isinstance(mined.outlined, OutlinedNest):
        inside = [build_iterations(level.loop, builder) for level in mined.outlined.levels[1:]]
        ranges = [n for count in (iterations, *inside) for n in (const_int(0), count)]
    else:
        ranges = [begin or const_int(0), end or iterations, *(c.start for c in parallel.counters)]
    # Of a loop in a loop that is parallel too, each iteration has its own.
    for slot in slots:
        builder.call(lifetime_start(module), (slot,))
    builder.call(mined.chunk, [*ranges, *captured, *slots])
    totals: list[Value] = []
    for reduction, slot in zip(parallel.reductions, slots, strict=True):
        part: Value = builder.load(cell_type(reduction), slot)
        if reduction.type is I1:
            part = builder.cast("trunc", part, I1)
        totals.append(combine(module, builder, reduction.combination, part, reduction.start))
    replace_loop(parallel.loop, builder, values_behind(builder, parallel, iterations, totals))


def values_behind(
    builder: Builder, parallel: ParallelLoop, iterations: Value, totals: Sequence[Value]
) -> dict[Value, Value]:
    """What the values of a loop are behind it: those of its counters, and the `totals` of its reductions."""
    values: dict[Value, Value] = {}
    for reduction, total in zip(parallel.reductions, totals, strict=True):
        values[reduction.phi] = values[reduction.update] = total
    for counter in parallel.counters:
        last = counter_after(builder, parallel.loop, counter, iterations)
        values[counter.phi] = last
        values[counter.following] = builder.binary("add", last, const_int(counter.step, counter.type))
    return values

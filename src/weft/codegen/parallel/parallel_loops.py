"""Parallel loops as code for lane groups: the body becomes a function that runs in lanes, the loop is strip-mined.

A *lane function* is P-LLVM for one iteration; its attribute ``weft.lanes`` says in how many lanes each call of it runs
(Moll, §3.1). So the program around it is whole from the beginning, and can be run between any two passes; vectorizing
the lane function in its place is the business of the passes that every door shares (`weft.codegen.lanes.lane_passes`).

Precondition: a loop of canonical P-LLVM whose iterations may run in any order (`weft.analysis.loops.parallel_loops`).
Postcondition: the module has a function that runs ranges of them. Preserves the program under FR, but for the order of
iterations and of what reductions combine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.memory.alias import is_identified, locate
from weft.codegen.lanes.lane_passes import LINEAR_LANES, WIDENING
from weft.codegen.lanes.lane_unit import SimdForm
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.order.width import (
    lanes_of_rest,
)
from weft.codegen.parallel.chunks import INLINED, LoopBodies, build_chunk
from weft.codegen.parallel.combine import combine
from weft.codegen.parallel.loop_plan import LoopPlan, all_uniform, plan_loop
from weft.codegen.simd_functions.entry_guard import guard_by_lane
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen.calls import FindMath, called_seldom
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.whole_cells import write_whole_cells
from weft.graph.loops import loop_forest
from weft.ir import Argument, Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import clone_function
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import (
    APART_ATTRIBUTE,
    ARRAYS_APART_ATTRIBUTE,
    LANES_ATTRIBUTE,
    NARROW_SEARCHES_ATTRIBUTE,
    WRITABLE_ATTRIBUTE,
    lifetime_start,
)
from weft.ir.types import I1
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.switches import ALL_ON, Switches
from weft.transform.boscc.insertion import Boscc
from weft.transform.groups.single_lane import run_single_lane
from weft.transform.loops.alone import AloneLoops, prepare_alone
from weft.transform.loops.fill_loops import fill_at_once
from weft.transform.loops.outline_loop import OutlinedLoop, cell_type, outline_loop
from weft.transform.loops.outline_nest import OutlinedNest
from weft.transform.loops.replace_loop import counter_after, open_preheader, replace_loop
from weft.transform.loops.told_apart import tell_apart

_KEPT = frozenset(f'"{name}"' for name in (WRITABLE_ATTRIBUTE, NARROW_SEARCHES_ATTRIBUTE))
"""Attributes that a body for one thread keeps."""


class StripMinedLoop(Struct):
    """A loop as a function that runs ranges of its iterations.

    Parameters
    ----------
    outlined
        The loop and its body.
    chunk
        Runs a range of iterations (`weft.codegen.parallel.chunks`).
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
    alone
        What became of the loops in it where iterations run one after the other, if they may.
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
    alone: AloneLoops | None = None

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
    if _stores_apart(loop, outlined.captured, module, promised=arrays_apart):
        body.attributes = (*body.attributes, f'"{ARRAYS_APART_ATTRIBUTE}"')
    fill_at_once(module, body)
    plan = plan_loop(module, body, width, isa, runner, reason, both_ways=both_ways)
    lanes, has_loops = plan.choice.width, bool(loop_forest(cfg_of(body).cfg).loops)
    instructions = sum(1 for _ in body.instructions())
    if lanes == 1:
        run_single_lane(body)
        alone = prepare_alone(body, isa)
        tell_apart(body)
        body.attributes = (*INLINED, *(a for a in body.attributes if a in _KEPT))
        chunk = build_chunk(module, outlined, LoopBodies(1, body, None), f"{name}.chunk")
        lanes_of_one = LaneSpace((1,))
        return StripMinedLoop(outlined, chunk, plan, (), has_loops, instructions, lanes_of_one, alone=alone)
    fewer = 0
    if narrows and width is None and not (has_loops or loop.reductions):
        fewer = lanes_of_rest(plan.choice, isa)
    rest = clone_function(body, f"{name}.rest") if fewer else None
    partial = clone_function(body, f"{name}.partial")
    guard_by_lane(module, partial)
    if loop.reductions:
        write_whole_cells(partial, partial.args[-1 - len(loop.reductions) : -1])
    functions = (body, partial) if rest is None else (body, partial, rest)
    for function in functions:
        own = lanes if function is body else fewer or lanes
        function.attributes = (*function.attributes, f'"{LANES_ATTRIBUTE}"="{own}"')
    chunk = build_chunk(module, outlined, LoopBodies(lanes, body, partial, rest, fewer), f"{name}.chunk")
    return StripMinedLoop(
        outlined, chunk, plan, functions, has_loops, instructions, LaneSpace((lanes,)), fewer
    )


def _stores_apart(loop: ParallelLoop, captured: Collection[Value], module: Module, *, promised: bool) -> bool:
    """Whether what a loop stores by way of one parameter of its function is apart from all else that it accesses.

    Of arrays that parameters of the function around lead to that is `promised`, or known. Each array that is written to
    has one parameter only: itself, or a place in it.
    """
    bases = [locate(v, module.layout).base for v in captured if v.type.is_pointer]
    if not all(is_identified(base) or (promised and isinstance(base, Argument)) for base in bases):
        return False
    most = max(map(bases.count, bases), default=0)
    for block in loop.loop.blocks:
        for instruction in block.instructions:
            if not (may_read(instruction) or may_write(instruction)):
                continue
            for pointer in instruction.operands:
                if not pointer.type.is_pointer or pointer.is_function:
                    continue
                base = locate(pointer, module.layout).base
                known = base in bases or is_identified(base)
                if not (known or promised):
                    return False
                # What is written to by way of a φ may be any of them.
                if may_write(instruction) and (bases.count(base) if known else most) > 1:
                    return False
    return True


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

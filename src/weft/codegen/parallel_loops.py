"""Parallel loops as SIMD code: the body is vectorized like a kernel, the loop is strip-mined (Moll, §3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.analysis.counted_loops import build_iterations
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.parallel_loops import ParallelLoop
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.chunks import INLINED, LoopVersions, build_chunk
from weft.codegen.combine import combine
from weft.codegen.functions import FunctionVectorizer
from weft.codegen.inner_loops import prefers_inner_loops
from weft.codegen.vectorize import VectorizationSummary, guard_by_lane, vectorize_function, why_not_vectorized
from weft.codegen.widen.calls import FindMath
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.width import choose_width, one_register
from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.clone import clone_function
from weft.ir.heap import heap_call
from weft.ir.intrinsics import lifetime_start
from weft.ir.types import I1
from weft.machine.targets import Isa
from weft.transform.boscc import Boscc
from weft.transform.boscc_costs import BosccMode
from weft.transform.narrow_phis import narrow_phis
from weft.transform.outline_loop import OutlinedLoop, cell_type, outline_loop
from weft.transform.replace_loop import counter_after, open_preheader, replace_loop
from weft.transform.single_lane import run_single_lane


@dataclass(frozen=True, slots=True)
class VectorizedLoop:
    """What became of a loop.

    Parameters
    ----------
    chunk
        The function that runs a range of its iterations (`weft.codegen.chunks`).
    width
        Lanes; 1 where the body runs iteration after iteration.
    summary
        How the body was vectorized.
    obstacle
        Why it was not.
    """

    outlined: OutlinedLoop
    chunk: Function
    width: int
    summary: VectorizationSummary | None = None
    obstacle: str | None = None


def vectorize_loop(
    module: Module,
    loop: ParallelLoop,
    name: str,
    width: int | None,
    find_math: FindMath,
    isa: Isa,
    boscc: BosccMode = BosccMode.AUTO,
) -> VectorizedLoop:
    """Add the functions `name` and ``name.chunk`` that run a loop's iterations; the loop stays as it is.

    Without a `width` the cost model chooses one for `isa`. `boscc` says which branches around code that no lane takes
    there are.
    """
    outlined = outline_loop(module, loop, name)
    body = outlined.body
    obstacle = _why_in_order(body) if width != 1 else None
    if width is None and obstacle is None:
        narrow_phis(body)
        divergence = _analyze(body, one_register(isa))
        if prefers_inner_loops(body, divergence):
            obstacle = "its inner loops run along rows, and are vectorized instead"
        width = choose_width(divergence, isa).width if obstacle is None else 1
    if width is None or width == 1 or obstacle is not None:
        run_single_lane(body)
        body.attributes = INLINED
        chunk = build_chunk(module, outlined, LoopVersions(1, body, None), f"{name}.chunk")
        return VectorizedLoop(outlined, chunk, 1, obstacle=obstacle)
    partial = clone_function(body, f"{name}.partial")
    guard_by_lane(module, partial)
    full, summary = _widen(module, body, width, find_math, Boscc(boscc, isa))
    masked, _ = _widen(module, partial, width, find_math, Boscc(boscc, isa))
    chunk = build_chunk(module, outlined, LoopVersions(width, full, masked), f"{name}.chunk")
    return VectorizedLoop(outlined, chunk, width, summary)


def _why_in_order(body: Function) -> str | None:
    calls = {name for i in body.instructions() if (name := heap_call(i))}
    if "fail" in calls and "allocate" not in calls:
        return "it raises exceptions: test before the loop"
    if calls:
        return "it allocates arrays, not all small and of constant shape: allocate before the loop"
    return why_not_vectorized(body)


def _analyze(function: Function, width: int) -> Divergence:
    domain = domain_named("product", (width,))
    shapes: dict[Value, Shape] = dict.fromkeys(function.args, domain.uniform())
    return analyze_divergence(function, domain=domain, initial=shapes, width=width)


def _widen(
    module: Module, function: Function, width: int, find_math: FindMath, boscc: Boscc
) -> tuple[Function, VectorizationSummary]:
    lanes, isa = LaneSpace((width,)), boscc.isa
    called = FunctionVectorizer(module, lanes, find_math, isa, boscc)
    uniform = domain_named("product", lanes.extents).uniform()
    shapes: dict[Value, Shape] = dict.fromkeys(function.args, uniform)
    name = f"{function.name}.w{width}"
    vector, summary = vectorize_function(
        module, function, lanes, name, shapes, find_math, boscc=boscc, find_simd=called.version, isa=isa
    )
    called.finish()
    vector.linkage.linkage, vector.attributes = "internal", INLINED
    return vector, summary


def run_in_place(
    module: Module, vectorized: VectorizedLoop, begin: Value | None = None, end: Value | None = None
) -> None:
    """Let the loop's function call the chunk instead of running the loop: for all iterations, or from begin to end."""
    parallel, captured = vectorized.outlined.parallel, vectorized.outlined.captured
    function = parallel.loop.header.function
    assert function is not None
    entry = Builder(before=function.entry.instructions[0])
    slots = [entry.alloca(cell_type(r)) for r in parallel.reductions]
    builder = open_preheader(parallel.loop)
    iterations = build_iterations(parallel.loop, builder)
    starts = [c.start for c in parallel.counters]
    # Of a loop in a loop that is parallel too, each iteration has its own.
    for slot in slots:
        builder.call(lifetime_start(module), (slot,))
    first, last = begin or const_int(0), end or iterations
    builder.call(vectorized.chunk, [first, last, *starts, *captured, *slots])
    totals: list[Value] = []
    for reduction, slot in zip(parallel.reductions, slots, strict=True):
        part: Value = builder.load(cell_type(reduction), slot)
        if reduction.type is I1:
            part = builder.cast("trunc", part, I1)
        totals.append(combine(module, builder, reduction.combination, reduction.start, part))
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

"""The programs of lane groups: a kernel's threads as they were planned (`weft.lane_plan`), widened."""

from __future__ import annotations

import functools
from dataclasses import replace

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.box_kernel import BoxKernel
from weft.codegen.boxes import box_shapes, is_whole
from weft.codegen.continuations import GroupContinuations
from weft.codegen.functions import FunctionVectorizer
from weft.codegen.lane_groups import LaneKernel
from weft.codegen.rows import RowKernel
from weft.codegen.vectorize import VectorizationSummary, guard_by_bits, guard_by_lane, vectorize_function
from weft.codegen.vectorize_barriers import vectorize_at_barriers
from weft.codegen.warp_continuations import WarpContinuations
from weft.ir import Function, Module, Value
from weft.ir.clone import clone_function
from weft.options import CompileOptions
from weft.stages import Form, StageLog, Version
from weft.transform.lane_range import guard_by_lane_range
from weft.transform.linear_ids import number_linearly


def widen_rounds(
    module: Module,
    kernel: Function,
    width: int,
    options: CompileOptions,
    called: FunctionVectorizer,
    stages: StageLog,
    found: Divergence | None,
) -> tuple[GroupContinuations | WarpContinuations, VectorizationSummary]:
    """Replace a kernel with barriers by its continuations; `found` is its divergence at some width, if known."""
    lanes = called.lanes
    if found is not None and found.engine.threads.domain.extents != lanes.extents:
        found = None
    domain = domain_named("product", lanes.extents)
    any_rows = stages.linear and not options.whole_rows
    by_number = clone_function(kernel, f"{kernel.name}.by_number") if any_rows else None

    def shapes(function: Function) -> dict[Value, Shape]:
        if stages.box is not None:
            return box_shapes(function, lanes, options.block)
        return {a: domain.strided(1, 64, width) for a in function.args if a.name == "tid.x"}

    def observe(stage: str, module: Module) -> None:
        # Lane groups of consecutive numbers are along rows in some work-groups only.
        if not stages.linear:
            stages.add(stage, module, Version(kernel.name, Form.THREADS, oblivious=True), width)

    whole = options.whole_rows
    if stages.box is not None and options.block is not None:
        whole = is_whole(lanes, options.block)
    program, summary = vectorize_at_barriers(
        module, kernel, shapes(kernel), called, observe, whole_rows=whole, before=found
    )
    if by_number is None:
        return (replace(program, row_multiple=width) if stages.linear else program), summary
    number_linearly(by_number)
    other, _ = vectorize_at_barriers(module, by_number, shapes(by_number), called, linear=True)
    return WarpContinuations(program, other), summary


def widen_lanes(
    module: Module,
    kernel: Function,
    width: int,
    options: CompileOptions,
    called: FunctionVectorizer,
    stages: StageLog,
) -> tuple[LaneKernel | RowKernel | BoxKernel, VectorizationSummary]:
    """Replace `kernel` by its versions for whole and, where there may be such, for partial lane groups."""
    lanes = called.lanes
    domain = domain_named("product", lanes.extents)
    position = f"tid.{'xyz'[stages.rows.dimension if stages.rows else 0]}"
    functions = {f"{kernel.name}.w{width}": kernel}
    if not (stages.box and options.block and is_whole(lanes, options.block)):
        partial = clone_function(kernel, f"{kernel.name}.partial")
        functions[f"{kernel.name}.w{width}.partial"] = partial
        if stages.linear:
            number_linearly(partial)
            guard_by_lane(module, partial)
        elif stages.box is not None:
            guard_by_bits(module, partial, width)
        else:
            guard_by_lane_range(module, partial)
    versions = [Version(function.name, Form.THREADS) for function in functions.values()]
    stages.add_lanes("lane groups", module, versions, 0, width)
    vectors: list[Function] = []
    summaries: list[VectorizationSummary] = []
    for i, (name, function) in enumerate(functions.items()):
        shapes: dict[Value, Shape] = {
            a: domain.strided(1, 64, width) for a in function.args if a.name == position
        }
        if stages.box is not None:
            shapes = box_shapes(function, lanes, options.block)
        observe = functools.partial(_lanes_arrive, stages, versions, i, width)
        vector, summary = vectorize_function(
            module, function, lanes, name, shapes, called.find_math, observe, called.boscc,
            called.version, called.isa,
        )  # fmt: skip
        called.finish()
        vectors.append(vector)
        summaries.append(summary)
        versions[i] = Version(name, Form.LANES)
        stages.add_lanes("widening", module, versions, i, width)
    if stages.box is not None:
        return BoxKernel(lanes, *vectors, summary=summaries[0]), summaries[0]
    if stages.rows is None:
        return LaneKernel(width, vectors[0], vectors[1], summaries[0]), summaries[0]
    rows = stages.rows
    bounds = module.functions[rows.bounds] if rows.bounds else None
    kernel_of_rows = RowKernel(
        width, vectors[0], vectors[1], summaries[0], rows.dimension, rows.merge, bounds
    )
    return kernel_of_rows, summaries[0]


def _lanes_arrive(
    stages: StageLog, versions: list[Version], index: int, width: int, stage: str, module: Module
) -> None:
    """Note a stage of one of the two versions of a kernel; from the divergent loops on, OBL holds too."""
    versions[index] = Version(versions[index].function, Form.THREADS, oblivious=True)
    stages.add_lanes(stage, module, versions, index, width)

"""A nest of parallel loops as SIMD code whose lane groups are boxes of its iterations (Moll, ch. 11).

Precondition: a nest as `weft.analysis.loops.rectangular_nests` finds it, in canonical P-LLVM. Postcondition: as of
`weft.codegen.parallel.parallel_loops`, of which this is what several loops at once need: the module has a function that
runs boxes of iterations.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.brush import Brush
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.obstacles import why_not_vectorized
from weft.codegen.lanes.plain_passes import BODIES, narrowing_of_boxes
from weft.codegen.order.width import WidthChoice
from weft.codegen.parallel.chunks import INLINED
from weft.codegen.parallel.loop_plan import LoopPlan, all_uniform, why_in_order
from weft.codegen.parallel.nest_chunks import NestBodies, build_nest_chunk
from weft.codegen.parallel.panels import pack
from weft.codegen.parallel.parallel_loops import StripMinedLoop
from weft.codegen.simd_functions.entry_guard import guard_by_coordinates
from weft.codegen.widen.lanes import LaneSpace
from weft.graph.loops import loop_forest
from weft.ir import Module, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import clone_function
from weft.ir.intrinsics import LANES_ATTRIBUTE
from weft.ir.types import PointerType
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.transform.groups.single_lane import run_single_lane
from weft.transform.loops.outline_nest import OutlinedNest, outline_nest


def lanes_of(brush: Brush, levels: int) -> LaneSpace:
    """The lane space of a brush for the innermost of so many loops."""
    outside = levels - brush.rank
    return LaneSpace(brush.in_order, tuple(outside + d for d in brush.projection))


def strip_mine_nest_in_boxes(
    module: Module,
    levels: tuple[ParallelLoop, ...],
    brush: Brush,
    reason: str,
    name: str,
    isa: Isa,
    runner: Runner,
    repeats: Value | None = None,
    apart: Collection[Value] = (),
    may_pack: bool = False,
) -> StripMinedLoop:
    """Add the functions `name` and ``name.chunk`` that run a nest's iterations; the nest itself stays as it is.

    Parameters
    ----------
    reason
        Why it has this brush.
    repeats
        Whether iterations may run twice, an i1 that is known before the nest: then boxes may overlap.
    apart
        Pointers that lead to different memory where that holds. There are two versions of the body then.
    may_pack
        Whether what boxes read again and again may be copied to memory that is allocated for it (`panels`).
    """
    lanes = lanes_of(brush, len(levels))
    dimension = {lanes.along(d): d for d in range(len(lanes.extents))}
    axes = [dimension.get(axis) for axis in range(len(levels))]
    outlined = outline_nest(module, levels, axes, name, repeats)
    body = outlined.body
    # Boxes that overlap begin anywhere.
    shapes = all_uniform(body, lanes, len(levels) if repeats is None else 1)
    unit = LaneUnit(module, body, lanes, shapes, isa)
    plan = _plan(unit, f"as a box of {brush}, {reason}", runner)
    has_loops = bool(loop_forest(cfg_of(body).cfg).loops)
    instructions = sum(1 for _ in body.instructions())
    if plan.choice.width == 1:
        run_single_lane(body)
        body.attributes = INLINED
        alone = LaneSpace(tuple(1 for _ in lanes.extents), lanes.axes)
        chunk = build_nest_chunk(module, outlined, NestBodies(alone, body, None), f"{name}.chunk")
        return StripMinedLoop(outlined, chunk, plan, (), has_loops, instructions, alone)
    packed = None
    if may_pack and not outlined.parallel.reductions:
        packed = pack(module, body, unit.divergence, lanes, len(levels), f"{name}.packed")
    partial = clone_function(body, f"{name}.partial")
    guard_by_coordinates(module, partial, len(lanes.extents))
    careful = None
    if _is_each_known(outlined, apart):
        careful = clone_function(body, f"{name}.careful")
        for value, argument in zip(outlined.captured, body.args[len(levels) :], strict=False):
            if isinstance(value.type, PointerType) and "noalias" not in argument.attributes:
                argument.attributes = ("noalias", *argument.attributes)
    extents = "x".join(map(str, lanes.extents))
    functions = (body, partial) if careful is None else (body, careful, partial)
    if packed is not None:
        functions = (*functions, packed.function)
    for function in functions:
        function.attributes = (*function.attributes, f'"{LANES_ATTRIBUTE}"="{extents}"')
    bodies = NestBodies(lanes, body, partial, careful, packed)
    chunk = build_nest_chunk(module, outlined, bodies, f"{name}.chunk")
    return StripMinedLoop(
        outlined, chunk, plan, functions, has_loops, instructions, lanes,
        shares=careful is not None, packs=packed is not None,
    )  # fmt: skip


def _is_each_known(outlined: OutlinedNest, apart: Collection[Value]) -> bool:
    """Whether all pointers that the body gets are among those that lead to different memory."""
    pointers = [v for v in outlined.captured if isinstance(v.type, PointerType)]
    return outlined.repeats is not None and bool(apart) and all(p in apart for p in pointers)


def _plan(unit: LaneUnit, reason: str, runner: Runner) -> LoopPlan:
    """Prepare the body of a nest; whether its iterations run in lanes."""
    obstacle = why_in_order(unit.function)
    if obstacle is None:
        runner.watched_by().run(BODIES, unit)
        obstacle = why_not_vectorized(unit.function)
    if obstacle is not None:
        return LoopPlan(WidthChoice(1, ""), obstacle)
    runner.run(narrowing_of_boxes(runner.left_out), unit)
    return LoopPlan(
        WidthChoice(unit.lanes.width, reason), narrowed=unit.summary.narrowed, small=unit.summary.small
    )

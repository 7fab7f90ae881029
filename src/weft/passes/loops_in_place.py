"""Marked loops that run where they stand: inside of a job, or lane group after lane group in lock step."""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.parallel_loops import ParallelLoop, parallel_loop
from weft.analysis.loops.parallel_nests import lane_loops, parallel_nest
from weft.codegen.order.width import one_register
from weft.codegen.parallel.few_iterations import few_for, keep_for_few
from weft.codegen.parallel.lanes_around import keep_lanes_around
from weft.codegen.parallel.parallel_loops import run_in_place, strip_mine
from weft.codegen.parallel.scan_launch import run_scans_in_parallel, totals_of
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function
from weft.ir.cfg_view import cfg_of
from weft.ir.locations import span_of
from weft.ir.loop_metadata import unmark
from weft.passes.find_loops import LegalLoop, promises_of
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.passes.nests.blocks_inside import lanes_of_all
from weft.passes.nests.brush_nest import share_rows


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


def run_nest_in_place(
    unit: LoopUnit, found: LegalLoop, name: str, *, may_pack: bool = False
) -> dict[str, FoundLoop]:
    """Let a nest of loops that are found to be parallel run where it stands: in boxes, or lanes along loops in it.

    What has been made of it is by the names of the headers. With `may_pack` its code may allocate memory.
    """
    module, plan = unit.module, found.plan
    if promises_of(found.view, found.wanted.loop).alone:
        lanes: tuple[ParallelLoop, ...] = (plan,)
    else:
        shared = share_rows(unit, found, name, may_pack=may_pack)
        if shared is not None:
            run_in_place(unit.module, shared.mined)
            return {found.header: shared}
        few = few_for(unit.width, unit.isa)
        nest = parallel_nest(
            found.function, found.view, found.wanted.loop, plan, module.layout, promised=True, few=few
        )
        lanes = (
            (nest.inner,)
            if nest is not None
            else lane_loops(found.function, found.view, found.wanted.loop, plan, module.layout, few)
        )
        if all(one.loop.header is not plan.loop.header for one in lanes):
            keep_lanes_around(plan, lanes, few)
    headers = [one.loop.header for one in lanes]
    names = [header.name for header in headers]
    made = run_lanes_inside(unit, found, name, headers)
    unmark_nest(found)
    return dict(zip(names, made, strict=True))


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

"""Loops that have been found to be parallel become jobs that threads share, in the way that suits them."""

from __future__ import annotations

from msgspec.structs import replace

from weft.analysis.loops.loop_promises import LoopPromises
from weft.analysis.loops.parallel_loops import ParallelLoop, captured_by
from weft.analysis.loops.parallel_nests import ParallelNest, lane_loops, parallel_nest
from weft.brush import Brush
from weft.codegen.parallel.few_iterations import few_for
from weft.codegen.parallel.lanes_around import WHERE_MANY, keep_lanes_for_many
from weft.codegen.parallel.nest_launch import run_nest_in_parallel
from weft.codegen.parallel.parallel_launch import run_in_parallel
from weft.codegen.parallel.parallel_loops import strip_mine
from weft.codegen.parallel.parallel_nests import strip_mine_nest
from weft.codegen.parallel.private_launch import run_with_copies
from weft.codegen.trials import BOTH_WAYS, may_try
from weft.ir import Instruction
from weft.ir.lane_updates import is_lane_update
from weft.ir.locations import span_of
from weft.passes.find_loops import LegalLoop, promises_inside, promises_of
from weft.passes.forms.lock_step_form import LITTLE_WORK, is_worth_lanes
from weft.passes.jit_unit import JitUnit
from weft.passes.loop_unit import ROUNDED, FoundLoop
from weft.passes.loops_in_place import (
    plan_again,
    run_in_step,
    run_lanes_inside,
    run_nest_in_place,
    unmark_nest,
)
from weft.passes.nests.brush_nest import again, brush_nest, share_rows, with_short_rows
from weft.passes.scalar import INLINED_BODY
from weft.transform.loops.private_frames import privatize_frames
from weft.transform.loops.private_updates import updated_pointers


def run_on_all_cores(unit: JitUnit, found: LegalLoop) -> FoundLoop:
    """Turn a loop into a job, and with it one in it that may run in lanes instead."""
    told = promises_of(found.view, found.wanted.loop)
    made = _as_job(unit, found, told)
    if told.rows:
        made.behind += ", where the nest is smaller than its box"
        if told.streams:
            made.behind += " or waits for memory"
    if told.alone:
        made.behind += WHERE_MANY
    if told.kept:
        made.behind += ", where what was assumed of it does not hold"
    return made


def _as_job(unit: JitUnit, found: LegalLoop, told: LoopPromises) -> FoundLoop:
    module, isa, plan = unit.module, unit.isa, found.plan
    name = f"{found.function.name}.loop{found.number}"
    if told.in_place:
        return _run_in_place(unit, found, name)
    if told.in_step:
        return run_in_step(unit, found, name, "this loop", in_grains=told.in_grains and unit.all_cores)
    if own := updated_pointers(captured_by(found.plan.loop)):
        return _run_with_copies(unit, found, own, name)
    if not told.alone:
        found = with_short_rows(unit, found, only_promised=not unit.if_legal)
    plan = found.plan
    if not told.alone and (boxes := _in_boxes(unit, found, name)) is not None:
        run_nest_in_parallel(module, boxes.mined, f"{name}.grains")
        return replace(boxes, behind=_shared(unit, "the nest"))
    nest = None if told.alone else _nest_of(unit, found)
    if nest is not None and nest.even and keep_lanes_for_many(plan, nest.inner):
        found = again(unit, found)
        plan, nest = found.plan, _nest_of(unit, found)
    # The loop becomes part of another function.
    span = span_of((nest.inner if nest else plan).loop.exiting.terminator)
    plan = replace(plan, private=(*plan.private, *privatize_frames(module, plan)))
    if any(i.callee_name in unit.in_place for b in plan.loop.blocks for i in b.instructions):
        mined = strip_mine(module, plan, name, 1, isa, unit.runner)
        mined.plan = replace(mined.plan, obstacle="a nest in it runs in lanes")
        run_in_parallel(module, mined, f"{name}.grains")
        return FoundLoop(mined, span, "this loop", _shared(unit))
    if told.alone:
        unmark_nest(found)
    elif nest is None and (promises_of(found.view, found.wanted.loop).proved or _holds_parallel(found)):
        inside = lane_loops(
            found.function, found.view, found.wanted.loop, plan, module.layout, few_for(unit.width, unit.isa)
        )
        if inside[0] is not plan:
            made = run_lanes_inside(unit, found, name, [one.loop.header for one in inside])
            for each in made:
                each.behind = _shared(unit, "the loop around it")
            around = _around(unit, found, plan)
            mined = strip_mine(module, around, name, 1, isa, unit.runner)
            run_in_parallel(module, mined, f"{name}.grains")
            unit.loops += made[1:]
            return made[0]
    if nest is None:
        mined = strip_mine(
            module, plan, name, unit.width, isa, unit.runner,
            both_ways=_may_run_both_ways(unit, plan), arrays_apart=told.apart,
        )  # fmt: skip
        mined.apart = _is_promised(found)
        alone = own = None
        if (choice := mined.plan.open_choice) is not None:
            alone = strip_mine(
                module, plan, f"{name}.alone", choice.own_stacks, isa, unit.runner, arrays_apart=told.apart
            )
            alone.apart, mined.alone = mined.apart, alone.alone
            own = alone if alone.width > 1 else None
        run_in_parallel(module, mined, f"{name}.grains", alone=alone)
        return FoundLoop(mined, span, "this loop", _shared(unit), own_stacks=own)
    width, reason = unit.width, "as asked for"
    if width is None and unit.row is not None:
        width, reason = unit.row, "one register, as it waits for memory"
    made = strip_mine_nest(module, plan, nest, name, width, isa, unit.runner, reason, arrays_apart=told.apart)
    made.inner.apart = _is_promised(found)
    run_in_parallel(module, made.outer, f"{name}.grains", made)
    where = _shared(unit, "both loops" if nest.tiled else "the loop around it")
    return FoundLoop(made.inner, span, "this loop", where)


def _nest_of(unit: JitUnit, found: LegalLoop) -> ParallelNest | None:
    return parallel_nest(
        found.function, found.view, found.wanted.loop, found.plan, unit.module.layout,
        promised=found.wanted.promised, few=few_for(unit.width, unit.isa),
    )  # fmt: skip


def _shared(unit: JitUnit, around: str | None = None) -> str:
    """What a remark says of the threads that run a loop, or the loops `around` it."""
    if not unit.all_cores:
        return " on the thread that calls"
    return " on all cores" if around is None else f", and all cores share {around}"


def _run_in_place(unit: JitUnit, found: LegalLoop, name: str) -> FoundLoop:
    made = run_nest_in_place(unit, found, name, may_pack=True)
    unit.in_place |= {each.mined.chunk.name for each in made.values()}
    first, *others = made.values()
    unit.loops += others
    return first


def _is_promised(found: LegalLoop) -> bool:
    """Whether it is the user who says that accesses do not meet across iterations."""
    return found.wanted.promised and not promises_of(found.view, found.wanted.loop).proved


def _around(unit: JitUnit, found: LegalLoop, plan: ParallelLoop) -> ParallelLoop:
    """A loop once loops in it run in lanes where they stand: what these leave their totals in is each iteration's."""
    again = plan_again(unit, found.function, plan.loop.header)
    return replace(again, private=tuple(dict.fromkeys((*plan.private, *again.private))))


def _holds_parallel(found: LegalLoop) -> bool:
    """Whether a loop holds others that are parallel, beside each other or found to be so."""
    return any(told.parallel for told in promises_inside(found.view, found.wanted.loop))


def _may_run_both_ways(unit: JitUnit, plan: ParallelLoop) -> bool:
    """Whether a loop may have code in lanes and code for iterations one by one: results are the same."""
    if unit.width is not None or unit.switches.count_lanes or BOTH_WAYS in unit.runner.left_out:
        return False
    if any(r.combination in ROUNDED for r in plan.reductions):
        return False
    return may_try((i for block in plan.loop.blocks for i in block.instructions), unit.isa)


def _run_with_copies(unit: JitUnit, found: LegalLoop, own: list[Instruction], name: str) -> FoundLoop:
    """Turn a loop into a job whose threads have copies of what it updates."""
    module, plan = unit.module, found.plan
    plan = replace(plan, private=(*plan.private, *privatize_frames(module, plan)))
    span = span_of(plan.loop.exiting.terminator)
    inside = lane_loops(
        found.function, found.view, found.wanted.loop, plan, module.layout, few_for(unit.width, unit.isa)
    )
    # An update has to stay where the job finds it.
    updates = any(is_lane_update(i) for one in inside for b in one.loop.blocks for i in b.instructions)
    if inside[0] is not plan and not updates:
        made = run_lanes_inside(unit, found, name, [one.loop.header for one in inside])
        for each in made:
            each.behind = _shared(unit, "the loop around it")
        plan = _around(unit, found, plan)
        run_with_copies(module, strip_mine(module, plan, name, 1, unit.isa, unit.runner), own, name)
        unit.loops += made[1:]
        return made[0]
    in_lanes = unit.width is not None or is_worth_lanes(plan.loop, unit.isa)
    mined = strip_mine(module, plan, name, unit.width if in_lanes else 1, unit.isa, unit.runner)
    if not in_lanes:
        mined.plan = replace(mined.plan, obstacle=LITTLE_WORK)
        body = mined.outlined.body
        body.attributes = (*body.attributes, "alwaysinline", INLINED_BODY)
    run_with_copies(module, mined, own, name)
    return FoundLoop(mined, span, "this loop", _shared(unit))


def _in_boxes(unit: JitUnit, found: LegalLoop, name: str) -> FoundLoop | None:
    """Strip-mine a nest in boxes, as asked for or where it pays."""
    if isinstance(unit.brush, Brush):
        asked = brush_nest(unit, found, name, only_promised=not unit.if_legal, may_pack=True)
        return asked or share_rows(unit, found, name, may_pack=True)
    shared = share_rows(unit, found, name, may_pack=True)
    return shared or brush_nest(unit, found, name, only_promised=not unit.if_legal, may_pack=True)

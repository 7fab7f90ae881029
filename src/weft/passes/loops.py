"""The list of passes for functions with parallel loops: from the P-LLVM of a Python function to its entry point."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import field
from msgspec.structs import replace

from weft.analysis.loops.loop_promises import LoopPromises
from weft.analysis.loops.parallel_loops import ParallelLoop, captured_by
from weft.analysis.loops.parallel_nests import lane_loops, parallel_nest
from weft.brush import Brush
from weft.codegen.few_iterations import few_for
from weft.codegen.nest_launch import run_nest_in_parallel
from weft.codegen.parallel_launch import run_alone, run_in_parallel
from weft.codegen.parallel_loops import strip_mine
from weft.codegen.parallel_nests import strip_mine_nest
from weft.codegen.plain_passes import BODIES, GUESSED_RANGES, NARROWING
from weft.codegen.private_launch import run_with_copies
from weft.codegen.slots import SlotInterface, build_slot_entry
from weft.codegen.trials import BOTH_WAYS, may_try
from weft.diag.errors import UnsupportedError
from weft.graph.loops import Loop, loop_forest
from weft.ir import Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.heap import uses_heap
from weft.ir.intrinsics import kind_of
from weft.ir.lane_updates import is_lane_update
from weft.ir.locations import span_of
from weft.passes.auto_loops import find_auto_loops
from weft.passes.blocks_inside import BLOCKS_INSIDE
from weft.passes.brush_nest import brush_nest, share_rows, with_short_rows
from weft.passes.butterflies import BUTTERFLIES
from weft.passes.declared import Meaning, Pass, PassList
from weft.passes.find_loops import LegalLoop, Wanted, find_loops, promises_inside, promises_of
from weft.passes.idle_iterations import IDLE_ITERATIONS
from weft.passes.lock_step_form import LITTLE_WORK, is_worth_lanes
from weft.passes.loop_lanes import IN_LANES
from weft.passes.loop_unit import ROUNDED, FoundLoop, LoopUnit
from weft.passes.loops_in_place import plan_again, run_in_step, run_lanes_inside, run_nest_in_place
from weft.passes.plain_loops import PLAIN_LOOPS
from weft.passes.promised_nests import prove_promised_nests
from weft.passes.scalar import (
    CANONICAL,
    CHOICES,
    COPIED_RUNS,
    COUNTER_BANKS,
    COUNTS_AHEAD,
    FILLED_RUNS,
    FILLS,
    GUARD_BOUNDS,
    INLINED_BODIES,
    INLINED_BODY,
    INVARIANTS,
    MEETING_STORES,
    PARTED_LOADS,
    ROLLED_LOOPS,
    SET_TESTS,
    SHARED_LOADS,
    SINGLE_LANE,
    WIDE_MASKS,
    WRITTEN_BACK,
)
from weft.passes.scalar_numbers import (
    INVERSE_ROOTS,
    KNOWN_NUMBERS,
    LIKELY_CONVERSIONS,
    SHORT_CONVERSIONS,
    WIDE_ADDRESSES,
)
from weft.passes.short_rows import KNOWN_PARAMETERS, SHORT_ROWS
from weft.passes.stages import Form
from weft.transform.loops.heap_lifetimes import settle_heap
from weft.transform.loops.private_frames import privatize_frames
from weft.transform.loops.private_updates import updated_pointers

MOST_INLINED = 24
"""Nests that run where they stand, in one function, up to which they are parts of it. LLVM takes longer than twice as
long for a function of twice the size: vertical advection with 68 nests took 26.7 s, with nests as functions 13.6 s."""


class JitUnit(LoopUnit, kw_only=True):
    """A Python function.

    Parameters
    ----------
    interface
        What its last parameters are.
    if_legal
        Whether a loop over `prange` that is not parallel runs in order, with a remark, instead of being refused.
    auto
        Whether plain loops that are found to be parallel run so.
    known
        Parameters by number, and the values that they have.
    row_numbers
        The parameters that short rows may have their lengths from, and up to which ones.
    in_place
        The functions that run nests where they stood.
    """

    interface: SlotInterface
    if_legal: bool = False
    auto: bool = False
    known: tuple[tuple[int, int], ...] = ()
    row_numbers: tuple[tuple[int, int], ...] = ()
    all_cores: bool = True
    in_place: set[str] = field(default_factory=set)

    @property
    def plain_loops(self) -> bool:
        return self.auto

    @property
    def has_jobs(self) -> bool:
        """Whether loops are shared by threads, beside those that run where they stand."""
        return any(found.mined.chunk.name not in self.in_place for found in self.loops)


def _refuse_threads(unit: JitUnit) -> bool:
    for function in unit.module.definitions():
        for instruction in function.instructions():
            if kind_of(instruction.callee_name) is not None:
                raise UnsupportedError(
                    "thread ids, barriers, shared memory and warp functions are for kernels only",
                    span_of(instruction),
                    "write a kernel with weft.cuda.jit, or use the counter of the loop over prange",
                )
    return False


def _settle_heap(unit: JitUnit) -> None:
    settle_heap(unit.module)
    # Behind what is freed and what lies on the stack now, LLVM sees more.
    unit.runner.watched_by().run((CANONICAL,), unit)


def _mark_parallel_loops(unit: JitUnit) -> bool:
    functions = list(unit.module.definitions())
    if not unit.auto:
        return sum(prove_promised_nests(unit, function) for function in functions) > 0
    return sum(find_auto_loops(unit, function, reassociate=False) for function in functions) > 0


def _find_loops(unit: JitUnit) -> bool:
    if not unit.all_cores:
        run_alone(unit.module)
    for function in list(unit.module.definitions()):
        find_loops(unit, function, lambda view: _pranges(view, unit), _run_on_all_cores)
    if len(unit.in_place) > MOST_INLINED:
        for name in unit.in_place:
            unit.module.functions[name].attributes = ("nounwind", "noinline")
    return bool(unit.loops)


def _pranges(view: CFGView, unit: JitUnit) -> Iterator[Wanted]:
    """Nests that run where they stand, then the outermost loops over `prange`, in a loop or in none."""
    chosen: list[Loop] = []
    here: list[Loop] = []
    loops = loop_forest(view.cfg).loops
    for loop in loops:
        if promises_of(view, loop).in_place and not any(around.contains(loop) for around in here):
            here.append(loop)
            yield Wanted(loop, "this nest runs in order", promised=True, reassociate=False)
    for loop in loops:
        told = promises_of(view, loop)
        if told.in_step:
            yield Wanted(loop, "this loop runs in order", promised=True, reassociate=True, width=told.in_step)
            continue
        inside = any(other is not loop and other.contains(loop) for other in chosen)
        if not inside and told.parallel:
            chosen.append(loop)
            refused = "this prange cannot run in parallel"
            yield Wanted(
                loop,
                refused,
                promised=not unit.if_legal,
                reassociate=unit.all_cores,
                required=not unit.if_legal,
            )


def _run_on_all_cores(unit: JitUnit, found: LegalLoop) -> FoundLoop:
    """Turn a loop into a job, and with it one in it that may run in lanes instead."""
    told = promises_of(found.view, found.wanted.loop)
    made = _as_job(unit, found, told)
    if told.rows:
        made.behind += ", where the nest is smaller than its box"
        if told.streams:
            made.behind += " or waits for memory"
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
    found = with_short_rows(unit, found, only_promised=not unit.if_legal)
    plan = found.plan
    if (boxes := _in_boxes(unit, found, name)) is not None:
        run_nest_in_parallel(module, boxes.mined, f"{name}.grains")
        return replace(boxes, behind=_shared(unit, "the nest"))
    nest = parallel_nest(
        found.function, found.view, found.wanted.loop, plan, module.layout, promised=found.wanted.promised,
        few=few_for(unit.width, isa),
    )  # fmt: skip
    # The loop becomes part of another function.
    span = span_of((nest.inner if nest else plan).loop.exiting.terminator)
    plan = replace(plan, private=(*plan.private, *privatize_frames(module, plan)))
    if any(i.callee_name in unit.in_place for b in plan.loop.blocks for i in b.instructions):
        mined = strip_mine(module, plan, name, 1, isa, unit.runner)
        mined.plan = replace(mined.plan, obstacle="a nest in it runs in lanes")
        run_in_parallel(module, mined, f"{name}.grains")
        return FoundLoop(mined, span, "this loop", _shared(unit))
    if nest is None and (promises_of(found.view, found.wanted.loop).proved or _holds_parallel(found)):
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
        alone = None
        if mined.plan.open_choice is not None:
            alone = strip_mine(module, plan, f"{name}.alone", 1, isa, unit.runner)
        run_in_parallel(module, mined, f"{name}.grains", alone=alone)
        return FoundLoop(mined, span, "this loop", _shared(unit))
    width, reason = unit.width, "as asked for"
    if width is None and unit.row is not None:
        width, reason = unit.row, "one register, as it waits for memory"
    made = strip_mine_nest(module, plan, nest, name, width, isa, unit.runner, reason, arrays_apart=told.apart)
    made.inner.apart = _is_promised(found)
    run_in_parallel(module, made.outer, f"{name}.grains", made)
    where = _shared(unit, "both loops" if nest.tiled else "the loop around it")
    return FoundLoop(made.inner, span, "this loop", where)


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


def _build_entry(unit: JitUnit) -> None:
    entry = build_slot_entry(unit.module, unit.function, unit.interface)
    for function in unit.module.definitions():
        if function is not entry:
            function.linkage.linkage = "internal"
    unit.name, unit.form = entry.name, Form.SLOTS


NO_THREADS: Pass[JitUnit] = Pass(
    "no threads", "nothing asks for thread ids or other threads", _refuse_threads
)
HEAP: Pass[JitUnit] = Pass(
    "heap",
    "arrays of an iteration are freed at its end, small ones are on the stack; canonical again",
    _settle_heap,
    applies=lambda unit: uses_heap(unit.module),
)
AUTO_LOOPS: Pass[JitUnit] = Pass(
    "auto loops",
    "loops that are found to be parallel are marked, behind tests of what that rests on",
    _mark_parallel_loops,
    source="Juravle, §4.1",
)
PARALLEL_LOOPS: Pass[JitUnit] = Pass(
    "parallel loops",
    "outermost loops over prange are jobs of the thread pool, their bodies run in lanes",
    _find_loops,
    parts=(*BODIES, GUESSED_RANGES, NARROWING),
    source="Moll, §3.1",
)
ENTRY: Pass[JitUnit] = Pass(
    "entry", "void entry(ptr slots, ptr results), which the runtime calls", _build_entry, Meaning.SCALAR
)

LOOPS = PassList(
    "loops",
    "Python functions with parallel loops, elementwise functions; LLVM's whole pipeline follows",
    (
        NO_THREADS,
        KNOWN_PARAMETERS,
        CANONICAL,
        SHORT_ROWS,
        HEAP,
        SHORT_CONVERSIONS,
        KNOWN_NUMBERS,
        MEETING_STORES,
        PARTED_LOADS,
        SET_TESTS,
        INVARIANTS,
        GUARD_BOUNDS,
        FILLED_RUNS,
        COPIED_RUNS,
        IDLE_ITERATIONS,
        BUTTERFLIES,
        BLOCKS_INSIDE,
        AUTO_LOOPS,
        PLAIN_LOOPS,
        PARALLEL_LOOPS,
        IN_LANES,
        SHARED_LOADS,
        SINGLE_LANE,
        WRITTEN_BACK,
        CHOICES,
        INLINED_BODIES,
        FILLS,
        COUNTS_AHEAD,
        COUNTER_BANKS,
        WIDE_ADDRESSES,
        INVERSE_ROOTS,
        WIDE_MASKS,
        LIKELY_CONVERSIONS,
        ROLLED_LOOPS,
        ENTRY,
    ),
)

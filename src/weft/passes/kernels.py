"""The list of passes for kernels: from the P-LLVM of a kernel to the entry point that the runtime launches."""

from __future__ import annotations

from weft.analysis.divergence import Divergence, FunctionFacts
from weft.analysis.memory.updated_arrays import updated_arrays
from weft.codegen import trials
from weft.codegen.barrier_checks import check_barriers, remark_kept_values
from weft.codegen.box_remarks import remark_box
from weft.codegen.boxes import box_of_shared_rows
from weft.codegen.continuations import GroupContinuations, thread_by_thread
from weft.codegen.dimension import analyze_along
from weft.codegen.group_copies import mark_updates, run_groups_with_copies
from weft.codegen.group_order import common_loads
from weft.codegen.groups import build_group_entry
from weft.codegen.lane_passes import LANES, NARROWING
from weft.codegen.lane_unit import LaneUnit
from weft.codegen.obstacles import clear_obstacles
from weft.codegen.remarks import remark_rows, remark_vectorization
from weft.codegen.stack import lanes_with_room, require_room
from weft.codegen.walks import choose_walk
from weft.codegen.warps import require_warps
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.width import OpenChoice, WidthChoice, choose_width, one_register, open_choice
from weft.costs.one_thread import may_be_alone
from weft.diag.remarks import RemarkKind
from weft.ir.clone import clone_function
from weft.ir.intrinsics import ARRIVE, asks_for_lanes
from weft.ir.locations import span_of
from weft.passes.declared import Meaning, Pass, PassList
from weft.passes.kernel_unit import KernelUnit
from weft.passes.lane_plan import Premises, width_below_which_boxes_serve
from weft.passes.lane_programs import (
    position_shapes,
    run_rows_alone,
    run_rows_of_threads,
    separate_lane_groups,
    widen_lanes,
    widen_rounds,
)
from weft.passes.scalar import (
    AGGREGATES,
    CANONICAL,
    CHOICES,
    GROUP_ATOMICS,
    KNOWN_NUMBERS,
    MEETING_STORES,
    NARROW_PHIS,
    SINGLE_LANE,
    WIDE_COMPARISONS,
)
from weft.passes.short_rows import KNOWN_PARAMETERS, SHORT_ROWS
from weft.passes.stages import Form, Rows, Runnable
from weft.transform.boscc.insertion import BosccMode
from weft.transform.groups.grid_walks import unroll_walk
from weft.transform.groups.guard_splitting import split_guards
from weft.transform.groups.known_block import know_block
from weft.transform.groups.merge_groups import merge_groups
from weft.transform.groups.work_items import lower_work_items
from weft.transform.loops.alone import prepare_alone
from weft.transform.loops.fill_loops import fill_at_once
from weft.transform.numbers.low_halves import halve_numbers
from weft.transform.numbers.signed_counters import sign_counters
from weft.transform.numbers.signed_indices import sign_indices
from weft.transform.splitting.barriers import barriers_of, cut_behind, has_grid_barrier, split_at_barriers
from weft.transform.splitting.lock_step import run_in_lock_step


def _has_barriers(unit: KernelUnit) -> bool:
    return bool(barriers_of(unit.function))


def _meets(unit: KernelUnit) -> bool:
    return _has_barriers(unit) or any(i.callee_name == ARRIVE for i in unit.function.instructions())


def _runs_in_lanes(unit: KernelUnit) -> bool:
    return unit.plan is not None and unit.plan.width > 1


def _lower_work_items(unit: KernelUnit) -> None:
    unit.most_lanes = lanes_with_room(require_room(unit.module))
    lower_work_items(unit.module, unit.function)
    unit.premises = Premises.of(unit.options, asks_for_lanes(unit.module))
    if unit.premises.block is not None:
        know_block(unit.function, unit.premises.block)
    unit.runnables = [Runnable(unit.name, Form.THREADS)]


def _sign_indices(unit: KernelUnit) -> bool:
    return sign_indices(unit.function) > 0


def _halve_numbers(unit: KernelUnit) -> bool:
    return halve_numbers(unit.function) > 0


def _sign_counters(unit: KernelUnit) -> bool:
    return sign_counters(unit.function) > 0


def _fill_at_once(unit: KernelUnit) -> bool:
    return fill_at_once(unit.module, unit.function) > 0


def _check_barriers(unit: KernelUnit) -> None:
    unit.together = check_barriers(unit.function, unit.remarks)


def _may_have_lanes(unit: KernelUnit) -> bool:
    return unit.premises.warp is not None or (unit.options.width != 1 and unit.most_lanes != 1)


def _clear_obstacles(unit: KernelUnit) -> bool:
    return clear_obstacles(unit.function)


def _order_lanes(unit: KernelUnit) -> bool:
    kernel, warp = unit.function, unit.premises.warp
    if warp is not None:
        require_warps(unit.module, kernel, warp, unit.options.width, unit.most_lanes, unit.remarks)
    unit.order = unit.planner.order()
    if unit.order.obstacle is not None:
        message = f"{kernel.name} runs thread after thread because {unit.order.obstacle}"
        unit.remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name="widening")
    return False


def _may_walk(unit: KernelUnit) -> bool:
    order = unit.order
    if not order.in_lanes or order.linear or order.box is not None or unit.premises.warp is not None:
        return False
    return unit.options.block is None and not _has_barriers(unit)


def _unroll_walk(unit: KernelUnit) -> bool:
    unit.walk = unroll_walk(unit.module, unit.function, unit.order.dimension)
    if unit.walk is None:
        return False
    message = "iterations of this loop run in the order of memory: threads do their first ones, then their second ones"
    unit.remarks.add(RemarkKind.TRANSFORM, message, unit.walk.span, pass_name="grid walks")
    unit.forget()
    return True


def _has_numbers_to_narrow(unit: KernelUnit) -> bool:
    order = unit.order
    if not order.in_lanes or order.box is not None or unit.premises.warp is not None:
        return False
    return not order.linear or (_has_barriers(unit) and not order.lock_step)


def _narrow(unit: KernelUnit) -> bool:
    if barriers := barriers_of(unit.function):
        cut_behind(barriers)
        unit.forget()
    width, dimension = unit.planner.analyzed_width(), unit.order.dimension
    lanes = LaneSpace((width,))
    if not barriers and _runs_alone_narrowed(unit, lanes):
        return False
    part = LaneUnit(
        unit.module, unit.function, lanes, position_shapes(unit, lanes, unit.function), unit.spec.isa,
        known=unit.along(dimension, width),
    )  # fmt: skip
    if NARROWING.run(part) is False:
        return False
    unit.narrowed, unit.small = part.summary.narrowed, part.summary.small
    unit.forget()
    return True


def _narrowed(unit: KernelUnit, lanes: LaneSpace) -> Divergence:
    """The divergence of the kernel with narrow numbers; the kernel itself stays."""
    if unit.narrow is None:
        trial = clone_function(unit.function, f"{unit.name}.narrow")
        NARROWING.run(LaneUnit(unit.module, trial, lanes, position_shapes(unit, lanes, trial), unit.spec.isa))
        unit.narrow = analyze_along(FunctionFacts(trial), unit.order.dimension, lanes.width)
        del unit.module.functions[trial.name]
    return unit.narrow


def _runs_alone_narrowed(unit: KernelUnit, lanes: LaneSpace) -> bool:
    """Whether threads are better off one after the other even where the numbers of lanes are narrow.

    Their own numbers have the width of addresses.
    """
    if unit.options.width is not None or unit.open_choice is not None:
        return False
    if not may_be_alone(unit.along(unit.order.dimension, lanes.width)):
        return False
    walk = _walk(unit)
    if walk is not None:
        return walk.width == 1
    return choose_width(_narrowed(unit, lanes), unit.spec.isa).width == 1


def _has_rows_in_lanes(unit: KernelUnit) -> bool:
    order = unit.order
    return order.in_lanes and not order.linear and order.box is None and unit.premises.warp is None


def _keep_alone(unit: KernelUnit) -> bool:
    if not unit.planner.may_be_open(unit.order):
        return False
    lanes, walk = LaneSpace((unit.planner.analyzed_width(),)), _walk(unit)
    if walk is None:
        unit.open_choice = open_choice(_narrowed(unit, lanes), unit.spec.isa)
    elif walk.width > 1:
        unit.open_choice = OpenChoice(alone_first=False)
    if unit.open_choice is None:
        return False
    unit.alone = clone_function(unit.function, f"{unit.name}.alone").name
    message = (
        f"{unit.name} has code for threads one after the other, too, as the data decide what is faster: launches"
        " try both"
    )
    unit.remarks.add(RemarkKind.TRANSFORM, message, pass_name=trials.BOTH_WAYS)
    return True


def _walk(unit: KernelUnit) -> WidthChoice | None:
    """In how many lanes threads walk by stacks, if they do."""
    dimension, lanes = unit.order.dimension, LaneSpace((one_register(unit.spec.isa),))
    part = LaneUnit(
        unit.module, unit.function, lanes, position_shapes(unit, lanes, unit.function), unit.spec.isa,
        switches=unit.options.switches, known=unit.along(dimension, lanes.width),
    )  # fmt: skip
    return choose_walk(part, unit.runner)


def _plan_lanes(unit: KernelUnit) -> bool:
    unit.plan = unit.planner.plan(unit.order, lambda: _walk(unit))
    if unit.order.in_lanes and unit.plan.width == 1:
        message = f"{unit.name} runs thread after thread, {unit.plan.choice.reason}"
        unit.remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name="widening")
    return False


def _runs_alone(unit: KernelUnit) -> bool:
    return unit.plan is not None and unit.plan.width == 1


def _prepare_alone(unit: KernelUnit) -> bool:
    return prepare_alone(unit.function, unit.spec.isa) > 0


def _cut_rows(unit: KernelUnit) -> bool:
    kernel, dimension, walk = unit.function, unit.order.dimension, unit.walk
    merge = walk.merge if walk else merge_groups(kernel, dimension)
    guards = split_guards(unit.module, kernel, dimension) if walk is None or walk.is_bounded else None
    if _runs_in_lanes(unit):
        remark_rows(unit.remarks, kernel.name, "xyz"[dimension], merge, guards)
    bounds, steps = (f.name if f else None for f in (guards and guards.bounds, walk and walk.steps))
    unit.rows = Rows(dimension, merge, bounds, steps)
    if unit.alone:
        _cut_rows_alone(unit, steps)
    if unit.plan is not None and unit.plan.width == 1:
        unit.program = run_rows_of_threads(unit)
    unit.forget()
    # What has changed shows in the program of lane groups, which are cut that way.
    return False


def _cut_rows_alone(unit: KernelUnit, steps: str | None) -> None:
    """Do to the function for threads one by one what is done to the kernel."""
    alone, dimension, walk = unit.module.functions[unit.alone], unit.order.dimension, unit.walk
    merge = walk.merge if walk else merge_groups(alone, dimension)
    guards = split_guards(unit.module, alone, dimension) if walk is None or walk.is_bounded else None
    unit.alone_rows = Rows(dimension, merge, guards and guards.bounds.name, steps)
    prepare_alone(alone, unit.spec.isa)


def _run_in_lock_step(unit: KernelUnit) -> None:
    run_in_lock_step(unit.module, unit.function)
    unit.forget()


def _find_box_width(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    merged = unit.rows is not None and unit.rows.merge is not None
    unit.box_width = width_below_which_boxes_serve(
        lambda: unit.facts, unit.plan, unit.premises, unit.options, merged, unit.spec.isa
    )
    unit.box = _box_of_shared_rows(unit) if merged else None
    return False


def _box_of_shared_rows(unit: KernelUnit) -> tuple[int, int] | None:
    """The box of a specialization for work-groups that have as much; told in a remark."""
    options = unit.options
    asked_for = options.width is not None or options.brush is not None or options.block is not None
    if unit.plan is None or unit.plan.width == 1 or asked_for or options.boscc != BosccMode.AUTO:
        return None
    box = box_of_shared_rows(unit.facts, unit.spec.isa)
    if box is not None:
        rows, columns = box
        message = (
            f"work-groups of {rows} rows of {columns} threads or more run in boxes of {rows}x{columns}, in which rows "
            "share what a loop loads, in code of their own"
        )
        unit.remarks.add(RemarkKind.TRANSFORM, message, pass_name="boxes")
    return box


def _run_in_lanes(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    called = unit.vectorizer(unit.plan.lanes)
    widen = widen_rounds if _has_barriers(unit) else widen_lanes
    unit.program, unit.summary = widen(unit, called)
    unit.summary.narrowed, unit.summary.small = unit.narrowed, unit.small
    remark_vectorization(unit.remarks, unit.name, unit.plan.choice.reason, unit.summary)
    remark_box(unit.remarks, unit.summary.functions, unit.plan.lanes, unit.spec.isa, "thread")
    if isinstance(unit.program, GroupContinuations):
        remark_kept_values(unit.program.split, unit.remarks)
    unit.called = list(called.summaries.values())
    for name, summary in called.summaries.items():
        remark_vectorization(unit.remarks, name, "called once for all of them", summary)
    # The passes that this is made of have been seen one by one.
    return False


def _split_thread_by_thread(unit: KernelUnit) -> bool:
    unit.program = thread_by_thread(split_at_barriers(unit.module, unit.function))
    return False


def _has_atomics(unit: KernelUnit) -> bool:
    return any(i.op == "atomicrmw" for i in unit.function.instructions())


def _find_updated_arrays(unit: KernelUnit) -> bool:
    unit.updated = updated_arrays(unit.facts)
    for array, updates in zip(unit.updated.arrays, unit.updated.updates, strict=True):
        mark_updates(updates)
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            f"{unit.name} only updates {array.name}: work-groups that run one after the other do so in a copy, without"
            " locks, where they have more threads than the copy elements; what has changed goes to the array at once",
            span_of(updates[0]),
            pass_name="copies",
        )
    return bool(unit.updated.arrays)


def _order_groups(unit: KernelUnit) -> bool:
    found = common_loads(unit.function)
    unit.strips = found is not None
    if found is not None:
        for load, which in zip(found, ("column", "row"), strict=True):
            unit.remarks.add(
                RemarkKind.MEMORY,
                f"what groups of a {which} of the grid load here they have in common: the grid runs in strips of few"
                " columns, of which it stays in a cache",
                span_of(load),
                pass_name="group order",
            )
    return False


def _build_copies(unit: KernelUnit) -> None:
    entry = unit.module.functions[unit.entry]
    parameters = len(unit.function.args) - unit.done.parameters
    chosen = run_groups_with_copies(unit.module, entry, parameters, unit.updated.arrays)
    unit.entry, unit.runnables, unit.changed = chosen.name, [Runnable(chosen.name, Form.ENTRY)], 0


def _build_entry(unit: KernelUnit) -> None:
    entry, unit.arena = build_group_entry(
        unit.module, unit.function, unit.done, unit.premises.block, unit.strips
    )
    if unit.alone and unit.open_choice is not None:
        alone = unit.module.functions[unit.alone]
        # Both have the groups in the same order.
        other, _ = build_group_entry(
            unit.module, alone, run_rows_alone(unit, alone), unit.premises.block, unit.strips
        )
        first, second = (other, entry) if unit.open_choice.alone_first else (entry, other)
        entry = trials.run_better(unit.module, first, second, f"{unit.name}.either", unit.done.run_unit)
    for function in unit.module.definitions():
        if function is not entry:
            function.linkage.linkage = "internal"
    unit.entry, unit.runnables, unit.changed = entry.name, [Runnable(entry.name, Form.ENTRY)], 0


WORK_ITEMS: Pass[KernelUnit] = Pass(
    "work items",
    "ids, sizes and shared memory are parameters",
    _lower_work_items,
    source="Karrenberg and Hack, §2.2",
)
LOW_HALVES: Pass[KernelUnit] = Pass(
    "low halves",
    "numbers of which the low half is extended have 32 bits, if no more of them is used",
    _halve_numbers,
    optional=True,
)
SIGNED_COUNTERS: Pass[KernelUnit] = Pass(
    "signed counters",
    "counters of loops that access memory at them do not wrap around",
    _sign_counters,
    optional=True,
)
SIGNED_INDICES: Pass[KernelUnit] = Pass(
    "signed indices",
    "sums that end as places in small objects do not wrap around, where that is known",
    _sign_indices,
    optional=True,
)
FILLS: Pass[KernelUnit] = Pass(
    "fills",
    "no loop only fills so many bytes of memory with one of them",
    _fill_at_once,
    optional=True,
)
BARRIERS: Pass[KernelUnit] = Pass(
    "barriers",
    "each barrier orders something; it is known whether all threads arrive at each together",
    _check_barriers,
    applies=_meets,
)
OBSTACLES: Pass[KernelUnit] = Pass(
    "obstacles",
    "edges to what is never reached are no control flow, loops have one entry, vectors are replaced by scalars",
    _clear_obstacles,
    applies=_may_have_lanes,
)
UPDATED_ARRAYS: Pass[KernelUnit] = Pass(
    "updated arrays",
    "atomic operations on arrays that threads only update are marked",
    _find_updated_arrays,
    Meaning.BOTH,
    optional=True,
    applies=_has_atomics,
    source="Juravle, §4.1",
)
LANE_ORDER: Pass[KernelUnit] = Pass(
    "lane order", "it is planned of which threads lane groups are", _order_lanes
)
KERNEL_NARROWING: Pass[KernelUnit] = Pass(
    NARROWING.name,
    NARROWING.promise,
    _narrow,
    optional=True,
    applies=_has_numbers_to_narrow,
)
GRID_WALKS: Pass[KernelUnit] = Pass(
    "grid walks",
    "a kernel that is a walk of the grid is one of its iterations: rows of threads run as many times as it has",
    _unroll_walk,
    Meaning.BOTH,
    optional=True,
    applies=_may_walk,
    source="Karrenberg and Hack, §2.2",
)
BOTH_WAYS: Pass[KernelUnit] = Pass(
    trials.BOTH_WAYS,
    "where the data decide whether lanes are faster, there is a function for threads one after the other, too",
    _keep_alone,
    optional=True,
    applies=_has_rows_in_lanes,
)
LANE_PLAN: Pass[KernelUnit] = Pass("lane plan", "it is planned how many threads they have", _plan_lanes)
ALONE: Pass[KernelUnit] = Pass(
    "threads alone",
    "loops of threads by themselves ask no counter or index that they look up for its sign, but in other versions",
    _prepare_alone,
    applies=_runs_alone,
)
ROWS: Pass[KernelUnit] = Pass(
    "rows",
    "groups are merged to rows of threads, guards are the bounds of rows",
    _cut_rows,
    applies=lambda unit: unit.plan is not None and unit.plan.in_rows,
    source="Karrenberg and Hack, §2.2; Moll, Doerfert, Hack, CC 2016",
)
LOCK_STEP: Pass[KernelUnit] = Pass(
    "lock step",
    "a work-group that is one lane group has no barrier",
    _run_in_lock_step,
    Meaning.BOTH,
    applies=lambda unit: unit.order.lock_step,
)
BOX_WIDTH: Pass[KernelUnit] = Pass(
    "boxes", "it is known for which work-groups boxes of threads are better", _find_box_width
)
GROUP_ORDER: Pass[KernelUnit] = Pass(
    "group order",
    "it is planned whether groups run row by row, or in strips that have more of what they load in common",
    _order_groups,
    Meaning.BOTH,
    optional=True,
    applies=lambda unit: unit.rows is None and not has_grid_barrier(unit.function),
)
LANE_GROUPS: Pass[KernelUnit] = Pass(
    "lane groups",
    "there is a version for partial lane groups",
    separate_lane_groups,
    applies=lambda unit: _runs_in_lanes(unit) and not _has_barriers(unit),
)
IN_LANES: Pass[KernelUnit] = Pass(
    "lanes",
    "lane groups run as SIMD code; of kernels with barriers each continuation does",
    _run_in_lanes,
    Meaning.SCALAR,
    applies=_runs_in_lanes,
    parts=LANES,
    source="Moll, ch. 3; Karrenberg and Hack, §2.3",
)
THREAD_BY_THREAD: Pass[KernelUnit] = Pass(
    "continuations",
    "threads run one after the other from barrier to barrier",
    _split_thread_by_thread,
    Meaning.SCALAR,
    applies=lambda unit: unit.program is None and _has_barriers(unit),
    source="Karrenberg and Hack, §2.3",
)
GROUP_LOOPS: Pass[KernelUnit] = Pass(
    "group loops",
    "the entry point that the runtime launches; barriers are rounds of its loops",
    _build_entry,
    Meaning.SCALAR,
    source="Karrenberg and Hack, §2.2, Fig. 4",
)
COPIES: Pass[KernelUnit] = Pass(
    "copies",
    "runs of many groups update copies of such arrays, without locks",
    _build_copies,
    Meaning.SCALAR,
    applies=lambda unit: bool(unit.updated.arrays),
    source="Juravle, §4.1",
)

KERNELS = PassList(
    "kernels",
    "kernels of any language; LLVM's pipeline follows, with its vectorizers where threads run by themselves",
    (
        KNOWN_PARAMETERS,
        CANONICAL,
        SHORT_ROWS,
        AGGREGATES,
        WORK_ITEMS,
        KNOWN_NUMBERS,
        LOW_HALVES,
        SIGNED_COUNTERS,
        SIGNED_INDICES,
        WIDE_COMPARISONS,
        NARROW_PHIS,
        MEETING_STORES,
        FILLS,
        BARRIERS,
        OBSTACLES,
        UPDATED_ARRAYS,
        LANE_ORDER,
        GRID_WALKS,
        BOTH_WAYS,
        KERNEL_NARROWING,
        LANE_PLAN,
        ALONE,
        ROWS,
        LOCK_STEP,
        BOX_WIDTH,
        GROUP_ORDER,
        LANE_GROUPS,
        IN_LANES,
        THREAD_BY_THREAD,
        SINGLE_LANE,
        CHOICES,
        GROUP_ATOMICS,
        GROUP_LOOPS,
        COPIES,
    ),
)

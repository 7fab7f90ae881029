"""The list of passes for kernels: from the P-LLVM of a kernel to the entry point that the runtime launches."""

from __future__ import annotations

from weft.codegen import trials
from weft.codegen.lanes.lane_passes import LANES
from weft.codegen.lanes.obstacles import clear_obstacles
from weft.codegen.order.group_order import common_loads
from weft.codegen.said.box_remarks import remark_box
from weft.codegen.said.remarks import remark_vectorization
from weft.codegen.work_groups.barrier_checks import analyze_group, check_barriers, remark_kept_values
from weft.codegen.work_groups.continuations import GroupContinuations, thread_by_thread
from weft.codegen.work_groups.group_copies import run_groups_with_copies
from weft.codegen.work_groups.groups import build_group_entry
from weft.diag.remarks import RemarkKind
from weft.ir.intrinsics import ARRIVE
from weft.ir.locations import span_of
from weft.passes.declared import Meaning, Pass, PassList
from weft.passes.kernel_bands import BANDS
from weft.passes.kernel_lanes import (
    ALONE,
    BOTH_WAYS,
    BOX_WIDTH,
    GRID_WALKS,
    KERNEL_GUESSES,
    KERNEL_NARROWING,
    LANE_ORDER,
    LANE_PLAN,
    ROWS,
    has_barriers,
    runs_in_lanes,
)
from weft.passes.kernel_threads import (
    FLUSHING_MODE,
    LOW_HALVES,
    ROUNDS_TOGETHER,
    SIGNED_COUNTERS,
    SIGNED_INDICES,
    TESTED_LOADS,
    TILE_ROWS,
    TURNED_LOOPS,
    UPDATED_ARRAYS,
    WORK_ITEMS,
    WRITTEN_SHUFFLES,
    WRITTEN_TREES,
)
from weft.passes.kernel_unit import KernelUnit
from weft.passes.lane_programs import (
    run_rows_alone,
    separate_lane_groups,
    widen_lanes,
    widen_own_stacks,
    widen_rounds,
)
from weft.passes.nests.own_arrays import OWN_ARRAYS
from weft.passes.nests.short_rows import KNOWN_PARAMETERS, SHORT_ROWS
from weft.passes.scalar import (
    AGGREGATES,
    CANONICAL,
    CHOICES,
    COPIED_RUNS,
    COUNTS_AHEAD,
    FILLS,
    GROUP_ATOMICS,
    MEETING_STORES,
    NEXT_PLACES,
    PARTED_LOADS,
    READS_AHEAD,
    ROLLED_LOOPS,
    ROW_QUESTIONS,
    ROWS_IN_TURN,
    SET_TESTS,
    SHARED_LOADS,
    SINGLE_LANE,
    VOTED_BITS,
    WIDE_MASKS,
    WRITTEN_BACK,
)
from weft.passes.scalar_numbers import (
    BFLOAT_WORDS,
    EXCHANGE_LOOPS,
    FUSED_SUMS,
    INVERSE_ROOTS,
    KNOWN_EXTREMA,
    KNOWN_NUMBERS,
    LIKELY_CONVERSIONS,
    NARROW_PHIS,
    SHORT_CONVERSIONS,
    WIDE_ADDRESSES,
    WIDE_COMPARISONS,
)
from weft.passes.stages import Form, Runnable
from weft.transform.groups.rounds_in_registers import run_rounds_in_registers
from weft.transform.groups.trees_in_lanes import run_trees_in_lanes
from weft.transform.splitting.barriers import has_grid_barrier, split_at_barriers
from weft.transform.splitting.lock_step import run_in_lock_step


def _meets(unit: KernelUnit) -> bool:
    return has_barriers(unit) or any(i.callee_name == ARRIVE for i in unit.function.instructions())


def _check_barriers(unit: KernelUnit) -> None:
    unit.together = check_barriers(unit.function, unit.remarks)


def _may_have_lanes(unit: KernelUnit) -> bool:
    return unit.premises.warp is not None or (unit.options.width != 1 and unit.most_lanes != 1)


def _clear_obstacles(unit: KernelUnit) -> bool:
    return clear_obstacles(unit.function)


def _run_in_lock_step(unit: KernelUnit) -> None:
    run_in_lock_step(unit.module, unit.function)
    unit.forget()


def _may_have_trees(unit: KernelUnit) -> bool:
    order = unit.order
    along_x = order.dimension == 0 and order.box is None and (order.lock_step or not order.linear)
    return along_x and unit.together and runs_in_lanes(unit) and has_barriers(unit)


def _run_trees_in_lanes(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    group = analyze_group(unit.function)
    trees = run_trees_in_lanes(unit.function, group, unit.plan.width, unit.order.lock_step)
    for tree in trees:
        where = "in rows" if tree.apart else "in work-groups of one row,"
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            f"this tree in shared memory waits at no barrier: {where} of as many threads as its first"
            f" distance and {unit.plan.width} or more, the first lane group runs all rounds, the last in registers",
            span_of(tree.header.terminator),
            pass_name=SHARED_TREES.name,
        )
    unit.trees = [tree.header for tree in trees]
    if trees:
        unit.forget()
    return bool(trees)


def _run_rounds_in_registers(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    group = analyze_group(unit.function)
    lanes, alone = unit.plan.width, unit.order.lock_step
    register = unit.spec.isa.vector_bits // 8
    headers = run_rounds_in_registers(unit.function, group, lanes, alone, register, unit.trees)
    for span in (span_of(header.terminator) for header in headers):
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            "this loop waits at no barrier: where a work-group is one row of the threads that it has work for, the"
            " first lane group runs all rounds, and keeps what they read and write of shared memory in registers",
            span,
            pass_name=REGISTER_ROUNDS.name,
        )
    if headers:
        unit.forget()
    return bool(headers)


def _run_in_lanes(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    called = unit.vectorizer(unit.plan.lanes)
    widen = widen_rounds if has_barriers(unit) else widen_lanes
    unit.program, unit.summary = widen(unit, called)
    unit.summary.guessed, unit.summary.narrowed, unit.summary.small = unit.guessed, unit.narrowed, unit.small
    if unit.has_own_stacks:
        unit.alone_program = widen_own_stacks(unit, unit.plan.lanes)
    lanes, reason = unit.plan.lanes, unit.plan.choice.reason
    boxes = unit.bands or unit.divided
    if boxes is not None:
        lanes, reason = boxes.lanes, boxes.reason
    remark_vectorization(unit.remarks, unit.name, reason, unit.summary)
    remark_box(unit.remarks, unit.summary.functions, lanes, unit.spec.isa, "thread")
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
    name = unit.rows.steps if unit.rows is not None and unit.walk is not None else None
    steps = unit.module.functions[name] if name else None
    chosen = run_groups_with_copies(unit.module, entry, parameters, unit.updated.arrays, steps)
    unit.entry, unit.runnables, unit.changed = chosen.name, [Runnable(chosen.name, Form.ENTRY)], 0


def _build_entry(unit: KernelUnit) -> None:
    entry, unit.arena = build_group_entry(
        unit.module, unit.function, unit.done, unit.premises.block, unit.strips
    )
    if unit.alone and unit.open_choice is not None:
        alone = unit.module.functions[unit.alone]
        # Both have the groups in the same order.
        program = unit.alone_program or run_rows_alone(unit, alone)
        other, _ = build_group_entry(unit.module, alone, program, unit.premises.block, unit.strips)
        if unit.alone_program is not None:
            # Its lanes have functions of their own.
            del unit.module.functions[alone.name]
        first, second = (other, entry) if unit.open_choice.alone_first else (entry, other)
        entry = trials.run_better(unit.module, first, second, f"{unit.name}.either", unit.done.run_unit)
    for function in unit.module.definitions():
        if function is not entry:
            function.linkage.linkage = "internal"
    unit.entry, unit.runnables, unit.changed = entry.name, [Runnable(entry.name, Form.ENTRY)], 0


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
LOCK_STEP: Pass[KernelUnit] = Pass(
    "lock step",
    "a work-group that is one lane group has no barrier",
    _run_in_lock_step,
    Meaning.BOTH,
    applies=lambda unit: unit.order.lock_step,
)
SHARED_TREES: Pass[KernelUnit] = Pass(
    "shared trees",
    "trees in shared memory run in the first lane group, their last rounds in registers",
    _run_trees_in_lanes,
    Meaning.BOTH,
    optional=True,
    applies=_may_have_trees,
)
REGISTER_ROUNDS: Pass[KernelUnit] = Pass(
    "register rounds",
    "loops with barriers over small arrays in shared memory run in the first lane group, the arrays in registers",
    _run_rounds_in_registers,
    Meaning.BOTH,
    optional=True,
    applies=_may_have_trees,
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
    applies=lambda unit: runs_in_lanes(unit) and not has_barriers(unit),
)
IN_LANES: Pass[KernelUnit] = Pass(
    "lanes",
    "lane groups run as SIMD code; of kernels with barriers each continuation does",
    _run_in_lanes,
    Meaning.SCALAR,
    applies=runs_in_lanes,
    parts=LANES,
    source="Moll, ch. 3; Karrenberg and Hack, §2.3",
)
THREAD_BY_THREAD: Pass[KernelUnit] = Pass(
    "continuations",
    "threads run one after the other from barrier to barrier",
    _split_thread_by_thread,
    Meaning.SCALAR,
    applies=lambda unit: unit.program is None and has_barriers(unit),
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
        TURNED_LOOPS,
        KNOWN_PARAMETERS,
        CANONICAL,
        SHORT_ROWS,
        WRITTEN_SHUFFLES,
        OWN_ARRAYS,
        AGGREGATES,
        WORK_ITEMS,
        WRITTEN_TREES,
        TESTED_LOADS,
        BFLOAT_WORDS,
        EXCHANGE_LOOPS,
        SHORT_CONVERSIONS,
        KNOWN_NUMBERS,
        LOW_HALVES,
        SIGNED_COUNTERS,
        SIGNED_INDICES,
        WIDE_COMPARISONS,
        NARROW_PHIS,
        MEETING_STORES,
        PARTED_LOADS,
        SET_TESTS,
        ROWS_IN_TURN,
        FILLS,
        COPIED_RUNS,
        FLUSHING_MODE,
        BARRIERS,
        OBSTACLES,
        ROUNDS_TOGETHER,
        TILE_ROWS,
        UPDATED_ARRAYS,
        LANE_ORDER,
        GRID_WALKS,
        BOTH_WAYS,
        KERNEL_GUESSES,
        KERNEL_NARROWING,
        LANE_PLAN,
        ALONE,
        BANDS,
        ROWS,
        SHARED_TREES,
        REGISTER_ROUNDS,
        LOCK_STEP,
        BOX_WIDTH,
        GROUP_ORDER,
        LANE_GROUPS,
        IN_LANES,
        THREAD_BY_THREAD,
        SINGLE_LANE,
        READS_AHEAD,
        WRITTEN_BACK,
        CHOICES,
        COUNTS_AHEAD,
        WIDE_ADDRESSES,
        INVERSE_ROOTS,
        KNOWN_EXTREMA,
        FUSED_SUMS,
        WIDE_MASKS,
        VOTED_BITS,
        LIKELY_CONVERSIONS,
        NEXT_PLACES,
        ROLLED_LOOPS,
        GROUP_ATOMICS,
        GROUP_LOOPS,
        ROW_QUESTIONS,
        SHARED_LOADS,
        COPIES,
    ),
)

"""The list of passes for kernels: from the P-LLVM of a kernel to the entry point that the runtime launches."""

from __future__ import annotations

from weft.analysis.flushed_numbers import flushes_all
from weft.analysis.memory.updated_arrays import updated_arrays
from weft.codegen import trials
from weft.codegen.barrier_checks import analyze_group, check_barriers, remark_kept_values
from weft.codegen.box_remarks import remark_box
from weft.codegen.continuations import GroupContinuations, thread_by_thread
from weft.codegen.group_copies import mark_updates, run_groups_with_copies
from weft.codegen.group_order import common_loads
from weft.codegen.groups import build_group_entry
from weft.codegen.lane_passes import LANES
from weft.codegen.obstacles import clear_obstacles
from weft.codegen.remarks import remark_vectorization
from weft.codegen.stack import lanes_with_room, require_room
from weft.diag.remarks import RemarkKind
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import ARRIVE, asks_for_lanes
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
from weft.passes.kernel_unit import KernelUnit
from weft.passes.lane_plan import Premises
from weft.passes.lane_programs import (
    run_rows_alone,
    separate_lane_groups,
    widen_lanes,
    widen_rounds,
)
from weft.passes.scalar import (
    AGGREGATES,
    CANONICAL,
    CHOICES,
    COPIED_RUNS,
    COUNTS_AHEAD,
    FILLS,
    GROUP_ATOMICS,
    MEETING_STORES,
    PARTED_LOADS,
    ROLLED_LOOPS,
    ROWS_IN_TURN,
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
    NARROW_PHIS,
    SHORT_CONVERSIONS,
    WIDE_ADDRESSES,
    WIDE_COMPARISONS,
)
from weft.passes.short_rows import KNOWN_PARAMETERS, SHORT_ROWS
from weft.passes.stages import Form, Runnable
from weft.target.flushing_mode import has_flushing_mode
from weft.transform.groups.known_block import know_block
from weft.transform.groups.rounds_together import ROUNDS, run_rounds_together
from weft.transform.groups.shared_accesses import access_shared
from weft.transform.groups.work_items import lower_work_items
from weft.transform.loops.head_tests import test_at_head
from weft.transform.loops.tested_loads import hoist_tested_loads
from weft.transform.loops.unrolled.undo import undo_unrolling
from weft.transform.numbers.low_halves import halve_numbers
from weft.transform.numbers.signed_counters import sign_counters
from weft.transform.numbers.signed_indices import sign_indices
from weft.transform.splitting.barriers import has_grid_barrier, split_at_barriers
from weft.transform.splitting.lock_step import run_in_lock_step


def _meets(unit: KernelUnit) -> bool:
    return has_barriers(unit) or any(i.callee_name == ARRIVE for i in unit.function.instructions())


def _lower_work_items(unit: KernelUnit) -> None:
    unit.most_lanes = lanes_with_room(require_room(unit.module))
    lower_work_items(unit.module, unit.function)
    access_shared(unit.function)
    unit.premises = Premises.of(unit.options, asks_for_lanes(unit.module))
    if unit.premises.block is not None:
        know_block(unit.function, unit.premises.block)
    unit.runnables = [Runnable(unit.name, Form.THREADS)]


def _sign_indices(unit: KernelUnit) -> bool:
    return sign_indices(unit.function) > 0


def _hoist_tested_loads(unit: KernelUnit) -> bool:
    return hoist_tested_loads(unit.function) > 0


def _halve_numbers(unit: KernelUnit) -> bool:
    return halve_numbers(unit.function) > 0


def _sign_counters(unit: KernelUnit) -> bool:
    return sign_counters(unit.function) > 0


def _leave_flushing(unit: KernelUnit) -> bool:
    unit.flushing = flushes_all(unit.module.definitions())
    if unit.flushing:
        message = f"the processor flushes the numbers of {unit.name} that are subnormal"
        unit.remarks.add(RemarkKind.TRANSFORM, message, pass_name=FLUSHING_MODE.name)
    return False


def _check_barriers(unit: KernelUnit) -> None:
    unit.together = check_barriers(unit.function, unit.remarks)


def _has_turned_loops(unit: KernelUnit) -> bool:
    """Whether there are loops that are tested at their end: those of sources are at their head."""
    view = cfg_of(unit.function)
    latches = (view.blocks[b] for loop in loop_forest(view.cfg).loops for b in loop.latches)
    return any(len(latch.successors) > 1 for latch in latches)


def _turn_loops(unit: KernelUnit) -> bool:
    # Before numbers become known, as they would settle some of the tests that are looked for.
    unit.runner.watched_by().run((CANONICAL,), unit)
    headers = undo_unrolling(unit.function)
    for header in headers:
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            "this loop was unrolled, with what is left of its rounds in code of their own: it is one loop again",
            span_of(header.terminator),
            pass_name=TURNED_LOOPS.name,
        )
    return bool(headers) | bool(test_at_head(unit.function))


def _run_rounds_together(unit: KernelUnit) -> bool:
    # With barriers before and behind a loop, one in it is nothing new.
    headers = run_rounds_together(unit.function, analyze_group(unit.function))
    for header in headers:
        unit.remarks.add(
            RemarkKind.MEMORY,
            f"what threads load here is far from round to round: all threads of a work-group run {ROUNDS} rounds,"
            f" wait for each other, and run the next {ROUNDS}",
            span_of(header.terminator),
            pass_name=ROUNDS_TOGETHER.name,
        )
    return bool(headers)


def _may_have_lanes(unit: KernelUnit) -> bool:
    return unit.premises.warp is not None or (unit.options.width != 1 and unit.most_lanes != 1)


def _clear_obstacles(unit: KernelUnit) -> bool:
    return clear_obstacles(unit.function)


def _run_in_lock_step(unit: KernelUnit) -> None:
    run_in_lock_step(unit.module, unit.function)
    unit.forget()


def _run_in_lanes(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    called = unit.vectorizer(unit.plan.lanes)
    widen = widen_rounds if has_barriers(unit) else widen_lanes
    unit.program, unit.summary = widen(unit, called)
    unit.summary.guessed, unit.summary.narrowed, unit.summary.small = unit.guessed, unit.narrowed, unit.small
    lanes, reason = unit.plan.lanes, unit.plan.choice.reason
    if unit.bands is not None:
        lanes, reason = unit.bands.lanes, unit.bands.reason
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
TESTED_LOADS: Pass[KernelUnit] = Pass(
    "tested loads",
    "what the test of a loop loads from one place, where the loop does not write, is loaded before it",
    _hoist_tested_loads,
)
TURNED_LOOPS: Pass[KernelUnit] = Pass(
    "turned loops",
    "loops that another compiler has unrolled are loops again; where a round is known to come, the test is at the head",
    _turn_loops,
    optional=True,
    applies=_has_turned_loops,
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
FLUSHING_MODE: Pass[KernelUnit] = Pass(
    "flushing mode",
    "it is known whether all numbers are flushed that are subnormal, which the processor does then",
    _leave_flushing,
    optional=True,
    applies=lambda unit: has_flushing_mode(unit.spec.isa),
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
ROUNDS_TOGETHER: Pass[KernelUnit] = Pass(
    "rounds together",
    "loops over elements as far apart as the grid is large run a few rounds at a time for all threads of a work-group",
    _run_rounds_together,
    optional=True,
    applies=lambda unit: unit.together and has_barriers(unit),
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
LOCK_STEP: Pass[KernelUnit] = Pass(
    "lock step",
    "a work-group that is one lane group has no barrier",
    _run_in_lock_step,
    Meaning.BOTH,
    applies=lambda unit: unit.order.lock_step,
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
        AGGREGATES,
        WORK_ITEMS,
        TESTED_LOADS,
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
        LOCK_STEP,
        BOX_WIDTH,
        GROUP_ORDER,
        LANE_GROUPS,
        IN_LANES,
        THREAD_BY_THREAD,
        SINGLE_LANE,
        WRITTEN_BACK,
        CHOICES,
        COUNTS_AHEAD,
        WIDE_ADDRESSES,
        INVERSE_ROOTS,
        WIDE_MASKS,
        LIKELY_CONVERSIONS,
        ROLLED_LOOPS,
        GROUP_ATOMICS,
        GROUP_LOOPS,
        SHARED_LOADS,
        COPIES,
    ),
)

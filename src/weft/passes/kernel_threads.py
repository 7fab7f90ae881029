"""Passes on the program of a kernel's one thread, before there are lanes: ids, loops, numbers, updates of arrays."""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.flushed_numbers import LEFT, flushes_all
from weft.analysis.memory.updated_arrays import updated_arrays
from weft.codegen.stack import lanes_with_room, require_room
from weft.codegen.work_groups.barrier_checks import analyze_group
from weft.codegen.work_groups.group_copies import mark_updates
from weft.diag.remarks import RemarkKind
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.locations import span_of
from weft.passes.declared import Meaning, Pass
from weft.passes.kernel_lanes import (
    has_barriers,
)
from weft.passes.kernel_unit import KernelUnit
from weft.passes.lane_plan import Premises
from weft.passes.scalar import (
    CANONICAL,
)
from weft.passes.stages import Form, Runnable
from weft.target.rewrites.flushing_mode import has_flushing_mode
from weft.transform.groups.known_block import know_block
from weft.transform.groups.rounds_together import ROUNDS, run_rounds_together
from weft.transform.groups.settled_positions import settle_positions
from weft.transform.groups.shared_accesses import access_shared
from weft.transform.groups.tile_rows import fill_row_by_row
from weft.transform.groups.work_items import lower_work_items
from weft.transform.groups.written_trees import roll_trees
from weft.transform.loops.head_tests import test_at_head
from weft.transform.loops.tested_loads import hoist_tested_loads
from weft.transform.loops.unroll_shuffles import unroll_shuffles
from weft.transform.loops.unrolled.float_phis import hand_on_floats
from weft.transform.loops.unrolled.undo import undo_unrolling
from weft.transform.numbers.low_halves import halve_numbers
from weft.transform.numbers.signed_counters import sign_counters
from weft.transform.numbers.signed_indices import sign_indices


def _lower_work_items(unit: KernelUnit) -> None:
    unit.most_lanes = lanes_with_room(require_room(unit.module))
    lower_work_items(unit.module, unit.function)
    settle_positions(unit.function)
    access_shared(unit.function)
    unit.premises = Premises.of(unit.options, asks_for_lanes(unit.module))
    if unit.premises.block is not None:
        know_block(unit.function, unit.premises.block)
    unit.runnables = [Runnable(unit.name, Form.THREADS)]


def _roll_trees(unit: KernelUnit) -> bool:
    headers = roll_trees(unit.function, analyze_group)
    for span in (span_of(header.terminator) for header in headers):
        message = "this tree in shared memory, whose rounds are written out, is a loop again"
        unit.remarks.add(RemarkKind.TRANSFORM, message, span, pass_name="written trees")
    return bool(headers)


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
        for function in unit.module.definitions():
            function.attributes = (*function.attributes, LEFT)
        message = f"the processor flushes the numbers of {unit.name} that are subnormal"
        unit.remarks.add(RemarkKind.TRANSFORM, message, pass_name=FLUSHING_MODE.name)
    return False


def _has_turned_loops(unit: KernelUnit) -> bool:
    """Whether there are loops that are tested at their end: those of sources are at their head."""
    view = cfg_of(unit.function)
    latches = (view.blocks[b] for loop in loop_forest(view.cfg).loops for b in loop.latches)
    return any(len(latch.successors) > 1 for latch in latches)


def _turn_loops(unit: KernelUnit) -> bool:
    # Before numbers become known, as they would settle some of the tests that are looked for.
    unit.runner.watched_by().run((CANONICAL,), unit)
    handed_on = hand_on_floats(unit.function)
    headers = undo_unrolling(unit.function)
    text = (
        "this loop was unrolled, with what is left of its rounds in code of their own: it is one loop again"
    )
    _say_of_loops(unit, headers, RemarkKind.TRANSFORM, text, TURNED_LOOPS.name)
    return bool(handed_on) | bool(headers) | bool(test_at_head(unit.function))


def _write_out_shuffles(unit: KernelUnit) -> bool:
    asked = [i for function in unit.module.definitions() for i in unroll_shuffles(function)]
    for span in dict.fromkeys(map(span_of, asked)):
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            "the few rounds of this loop are written out: each has lanes read others at a distance of its own",
            span,
            pass_name=WRITTEN_SHUFFLES.name,
        )
    if asked:
        unit.runner.watched_by().run((CANONICAL,), unit)
    return bool(asked)


def _run_rounds_together(unit: KernelUnit) -> bool:
    # With barriers before and behind a loop, one in it is nothing new.
    headers = run_rounds_together(unit.function, analyze_group(unit.function))
    text = (
        f"what threads load here is far from round to round: all threads of a work-group run {ROUNDS} rounds,"
        f" wait for each other, and run the next {ROUNDS}"
    )
    _say_of_loops(unit, headers, RemarkKind.MEMORY, text, ROUNDS_TOGETHER.name)
    return bool(headers)


def _fill_row_by_row(unit: KernelUnit) -> bool:
    headers = fill_row_by_row(unit.function, analyze_group(unit.function))
    text = (
        "which thread runs an iteration of this loop does not matter: in work-groups of as many threads as it steps by,"
        " neighbours run along a row of what is filled"
    )
    _say_of_loops(unit, headers, RemarkKind.TRANSFORM, text, TILE_ROWS.name)
    return bool(headers)


def _say_of_loops(
    unit: KernelUnit, headers: Iterable[BasicBlock], kind: RemarkKind, text: str, name: str
) -> None:
    for header in headers:
        unit.remarks.add(kind, text, span_of(header.terminator), pass_name=name)


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


WORK_ITEMS: Pass[KernelUnit] = Pass(
    "work items",
    "ids, sizes and shared memory are parameters",
    _lower_work_items,
    source="Karrenberg and Hack, §2.2",
)
WRITTEN_TREES: Pass[KernelUnit] = Pass(
    "written trees",
    "rounds of trees in shared memory that another compiler has written out are loops again",
    _roll_trees,
    optional=True,
    applies=has_barriers,
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
WRITTEN_SHUFFLES: Pass[KernelUnit] = Pass(
    "written shuffles",
    "no loop of few known rounds is left in which each round has lanes read others at a distance of its own",
    _write_out_shuffles,
    optional=True,
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
ROUNDS_TOGETHER: Pass[KernelUnit] = Pass(
    "rounds together",
    "loops over elements as far apart as the grid is large run a few rounds at a time for all threads of a work-group",
    _run_rounds_together,
    optional=True,
    applies=lambda unit: unit.together and has_barriers(unit),
)
TILE_ROWS: Pass[KernelUnit] = Pass(
    "tile rows",
    "loops by which all threads of a work-group fill shared memory, and that divide their counter, run along rows",
    _fill_row_by_row,
    Meaning.BOTH,
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

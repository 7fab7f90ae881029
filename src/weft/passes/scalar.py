"""Passes on whole modules and functions for one thread, which several lists share."""

from __future__ import annotations

from typing import Protocol

from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.options import Timings
from weft.passes.declared import Fact, Meaning, Pass
from weft.target.machine import TargetSpec
from weft.target.passes import CANONICAL as CANONICAL_PASSES
from weft.target.passes import INLINED, SROA_ONLY, optimize
from weft.transform.aggregates.replacement import take_module_apart
from weft.transform.drop_unreachable import drop_empty_unreachable
from weft.transform.groups.group_atomics import make_group_atomics_plain
from weft.transform.groups.row_questions import ask_rows
from weft.transform.groups.shared_loads import share_loads
from weft.transform.groups.single_lane import run_single_lane
from weft.transform.loops.chosen_bounds import choose_bounds
from weft.transform.loops.copy_loops import copy_at_once
from weft.transform.loops.counter_banks import bank_counters
from weft.transform.loops.counts_ahead import count_ahead
from weft.transform.loops.either_way import count_either_way
from weft.transform.loops.fill_loops import fill_at_once
from weft.transform.loops.flag_choices import flag_choices
from weft.transform.loops.guard_bounds import bound_guards
from weft.transform.loops.hoist_invariants import hoist_invariants
from weft.transform.loops.next_places import load_next_places
from weft.transform.loops.reads_ahead import mark_reads_ahead
from weft.transform.loops.rolled_loops import keep_rolled
from weft.transform.loops.set_tests import compute_set_tests
from weft.transform.loops.tested_loads import hoist_tested_loads
from weft.transform.loops.written_back import write_back
from weft.transform.meeting_stores import merge_meeting_stores
from weft.transform.numbers.wide_sums import keeps_ids_in_memory, widen_sums
from weft.transform.parted_loads import part_loads
from weft.transform.rows_in_turn import store_row_by_row
from weft.transform.stack_addresses import sink_stack_addresses
from weft.transform.voted_bits import vote_by_bits
from weft.transform.wide_masks import widen_masks


class ScalarUnit(Protocol):
    """A program for one thread, and what it is compiled for."""

    module: Module

    @property
    def function(self) -> Function:
        """The function at hand."""
        ...

    @property
    def spec(self) -> TargetSpec:
        """What it is compiled for."""
        ...

    @property
    def timings(self) -> Timings:
        """Seconds in each part of the compilation."""
        ...


class RemarkedUnit(ScalarUnit, Protocol):
    """One of which people hear what has been decided."""

    remarks: RemarkLog


def _is_plain(unit: ScalarUnit) -> bool:
    return not any(
        block.predicate is not None
        or any(i.total or i.guard is not None or i.shadow is not None for i in block)
        for function in unit.module.definitions()
        for block in function.blocks
    )


_BOUND = "this guard is bounds of the loops around it: they leave out iterations for which it does not hold"
_ASKED_BEFORE = "this guard is the same in all iterations of a loop: it is asked before it"

INLINED_BODY = '"weft.inlined"'
"""The attribute of bodies that are to stand in their loops."""

PLAIN = Fact("plain", "no block predicates, shadows, guards or total instructions", _is_plain)


def _make_canonical(unit: ScalarUnit) -> None:
    text = ""
    if any(map(keeps_ids_in_memory, unit.module.definitions())):
        with unit.timings.measure("llvm"):
            text = optimize(write_module(unit.module, plain=True), SROA_ONLY, unit.spec.machine)
        unit.module = read_module(text)
    if sum(map(widen_sums, list(unit.module.definitions()))) or not text:
        text = write_module(unit.module, plain=True)
    with unit.timings.measure("llvm"):
        text = optimize(text, CANONICAL_PASSES, unit.spec.machine)
    unit.module = read_module(text)
    for function in unit.module.definitions():
        drop_empty_unreachable(function)
        choose_bounds(function)


def _inline_bodies(unit: ScalarUnit) -> None:
    text = write_module(unit.module, plain=True)
    with unit.timings.measure("llvm"):
        text = optimize(text, INLINED, unit.spec.machine)
    unit.module = read_module(text)


def _take_apart(unit: ScalarUnit) -> bool:
    return take_module_apart(unit.module)


def _part_loads(unit: ScalarUnit) -> bool:
    return sum(map(part_loads, unit.module.definitions())) > 0


def _merge_meeting_stores(unit: ScalarUnit) -> bool:
    return sum(map(merge_meeting_stores, unit.module.definitions())) > 0


def _store_row_by_row(unit: ScalarUnit) -> bool:
    return sum(map(store_row_by_row, unit.module.definitions())) > 0


def _settle_invariants(unit: ScalarUnit) -> None:
    for function in list(unit.module.definitions()):
        settle_invariants(function)


def settle_invariants(function: Function) -> None:
    """Have what a loop does not change computed before it, and places in stack objects where they are used."""
    hoist_invariants(function)
    if hoist_tested_loads(function):
        hoist_invariants(function)
    sink_stack_addresses(function)


def _bound_guards(unit: RemarkedUnit) -> bool:
    found = [g for function in list(unit.module.definitions()) for g in bound_guards(function)]
    bounds = {guard.span for guard in found if guard.is_bound}
    for span in dict.fromkeys(guard.span for guard in found):
        message = _BOUND if span in bounds else _ASKED_BEFORE
        unit.remarks.add(RemarkKind.TRANSFORM, message, span, pass_name="guard bounds")
    return bool(found)


def _run_single_lane(unit: ScalarUnit) -> bool:
    return sum(map(run_single_lane, unit.module.definitions())) > 0


def _ask_rows(unit: ScalarUnit) -> bool:
    return ask_rows(unit.module) > 0


def _share_loads(unit: RemarkedUnit) -> bool:
    found = share_loads(unit.module)
    for span in dict.fromkeys(found):
        message = "what lane groups load here, all from one place, is loaded once for a row of them"
        unit.remarks.add(RemarkKind.MEMORY, message, span, pass_name="shared loads")
    return bool(found)


def _widen_masks(unit: ScalarUnit) -> bool:
    functions = list(unit.module.definitions())
    return sum(widen_masks(function, unit.spec.isa) for function in functions) > 0


def _vote_by_bits(unit: ScalarUnit) -> bool:
    functions = list(unit.module.definitions())
    return sum(vote_by_bits(function, unit.spec.isa) for function in functions) > 0


def _keep_rolled(unit: ScalarUnit) -> bool:
    functions = list(unit.module.definitions())
    return sum(keep_rolled(function, unit.spec.isa) for function in functions) > 0


def _make_group_atomics_plain(unit: ScalarUnit) -> bool:
    return sum(map(make_group_atomics_plain, tuple(unit.module.definitions()))) > 0


def _write_back(unit: ScalarUnit) -> bool:
    return sum(write_back(function, unit.spec.isa) for function in unit.module.definitions()) > 0


def _mark_reads_ahead(unit: ScalarUnit) -> bool:
    return sum(map(mark_reads_ahead, list(unit.module.definitions()))) > 0


def _load_next_places(unit: ScalarUnit) -> bool:
    return sum(map(load_next_places, unit.module.definitions())) > 0


def _flag_choices(unit: ScalarUnit) -> bool:
    return sum(map(flag_choices, unit.module.definitions())) > 0


def _compute_set_tests(unit: ScalarUnit) -> bool:
    return sum(map(compute_set_tests, list(unit.module.definitions()))) > 0


def _copy_at_once(unit: ScalarUnit) -> bool:
    return sum(copy_at_once(unit.module, function) for function in list(unit.module.definitions())) > 0


def _fill_at_once(unit: ScalarUnit) -> bool:
    return sum(fill_at_once(unit.module, function) for function in list(unit.module.definitions())) > 0


def _fill_runs(unit: ScalarUnit) -> bool:
    functions = list(unit.module.definitions())
    return sum(fill_at_once(unit.module, function, looked_up=True) for function in functions) > 0


def _count_ahead(unit: ScalarUnit) -> bool:
    return sum(count_either_way(f) + count_ahead(f) for f in unit.module.definitions()) > 0


def _bank_counters(unit: ScalarUnit) -> bool:
    return sum(map(bank_counters, list(unit.module.definitions()))) > 0


CANONICAL: Pass[ScalarUnit] = Pass(
    "canonical",
    "LLVM's named scalar passes: SSA, simple loops, nothing duplicated",
    _make_canonical,
    requires=(PLAIN,),
    provides=(PLAIN,),
)
AGGREGATES: Pass[ScalarUnit] = Pass(
    "aggregates",
    "scalars replace short vectors, structs and arrays",
    _take_apart,
    requires=(PLAIN,),
)
PARTED_LOADS: Pass[ScalarUnit] = Pass(
    "parted loads",
    "ways that meet do not choose which of several rows is loaded behind them",
    _part_loads,
    requires=(PLAIN,),
    optional=True,
)
MEETING_STORES: Pass[ScalarUnit] = Pass(
    "meeting stores",
    "ways that meet do not end with stores to one place",
    _merge_meeting_stores,
    requires=(PLAIN,),
    optional=True,
)
ROWS_IN_TURN: Pass[ScalarUnit] = Pass(
    "rows in turn",
    "stores that go to several rows by turns go row by row where rows are far enough apart",
    _store_row_by_row,
    requires=(PLAIN,),
    optional=True,
)
INVARIANTS: Pass[ScalarUnit] = Pass(
    "invariants",
    "what a loop does not change is computed before it, places in stack objects where they are used",
    _settle_invariants,
    requires=(PLAIN,),
)
GUARD_BOUNDS: Pass[RemarkedUnit] = Pass(
    "guard bounds",
    "guards around all that an iteration does are bounds of loops, as far as they limit counters",
    _bound_guards,
    requires=(PLAIN,),
    optional=True,
)
SINGLE_LANE: Pass[ScalarUnit] = Pass(
    "single lane",
    "what is left of lane operations means what it does in one lane",
    _run_single_lane,
    Meaning.SCALAR,
)
WRITTEN_BACK: Pass[ScalarUnit] = Pass(
    "written back",
    "short loops in order along rows store always what they store under a condition, where masked stores are slow",
    _write_back,
    Meaning.SCALAR,
    requires=(PLAIN,),
    optional=True,
)
READS_AHEAD: Pass[ScalarUnit] = Pass(
    "reads ahead",
    "loops in order that may read only what they have not written yet have a version that LLVM takes for independent",
    _mark_reads_ahead,
    Meaning.SCALAR,
    requires=(PLAIN,),
    optional=True,
)
NEXT_PLACES: Pass[ScalarUnit] = Pass(
    "next places",
    "loads at a counter's next value are at a distance from its present one: LLVM hands none on to the next iteration",
    _load_next_places,
    Meaning.SCALAR,
    optional=True,
)
CHOICES: Pass[ScalarUnit] = Pass(
    "choices",
    "choices between two compared floats leave NaNs and signs of zeros open where the comparison does",
    _flag_choices,
    Meaning.SCALAR,
)
SET_TESTS: Pass[ScalarUnit] = Pass(
    "set tests",
    "loops along rows do not branch on whether a number is one of a few",
    _compute_set_tests,
    requires=(PLAIN,),
    optional=True,
)
COPIED_RUNS: Pass[ScalarUnit] = Pass(
    "copied runs",
    "loops that only copy a run of elements, whose place is looked up, have a version that is one copy",
    _copy_at_once,
    requires=(PLAIN,),
    optional=True,
)
FILLED_RUNS: Pass[ScalarUnit] = Pass(
    "filled runs",
    "no loop only fills a run of bytes, whose place is looked up, with one of them",
    _fill_runs,
    requires=(PLAIN,),
    optional=True,
)
FILLS: Pass[ScalarUnit] = Pass(
    "fills",
    "no loop only fills so many bytes of memory with one of them",
    _fill_at_once,
    requires=(PLAIN,),
    optional=True,
)
INLINED_BODIES: Pass[ScalarUnit] = Pass(
    "inlined bodies",
    "bodies of loops that run in order, as they only update counters, stand in their loops",
    _inline_bodies,
    Meaning.SCALAR,
    applies=lambda unit: any(INLINED_BODY in f.attributes for f in unit.module.definitions()),
)
COUNTS_AHEAD: Pass[ScalarUnit] = Pass(
    "counts ahead",
    "short loops in order whose bounds or steps are computed count to what is known before them; LLVM unrolls them",
    _count_ahead,
    Meaning.SCALAR,
    optional=True,
)
COUNTER_BANKS: Pass[ScalarUnit] = Pass(
    "counter banks",
    "loops in order that add to some of few counters have a version in which four iterations add to their own",
    _bank_counters,
    Meaning.SCALAR,
    optional=True,
)
ROW_QUESTIONS: Pass[ScalarUnit] = Pass(
    "row questions",
    "lane groups ask whether indices count from the end only in rows where some do",
    _ask_rows,
    Meaning.SCALAR,
    optional=True,
)
SHARED_LOADS: Pass[RemarkedUnit] = Pass(
    "shared loads",
    "what lane groups of a row all load from one place, before they write, is loaded once for the row",
    _share_loads,
    Meaning.SCALAR,
    optional=True,
)
WIDE_MASKS: Pass[ScalarUnit] = Pass(
    "wide masks",
    "masks that loops carry have the bits of what they decide on, where there are no registers for masks",
    _widen_masks,
    Meaning.SCALAR,
    optional=True,
)
VOTED_BITS: Pass[ScalarUnit] = Pass(
    "voted bits",
    "votes on whether numbers are beyond a power of two ask for bits of one register, where masks have registers",
    _vote_by_bits,
    Meaning.SCALAR,
    optional=True,
)
ROLLED_LOOPS: Pass[ScalarUnit] = Pass(
    "rolled loops",
    "loops in lanes whose vectors fill the registers are not unrolled further",
    _keep_rolled,
    Meaning.SCALAR,
    optional=True,
)
GROUP_ATOMICS: Pass[ScalarUnit] = Pass(
    "group atomics",
    "atomics on shared memory are plain: a work-group runs on one thread of the processor",
    _make_group_atomics_plain,
    Meaning.SCALAR,
)

"""The list of passes for functions with parallel loops: from the P-LLVM of a Python function to its entry point."""

from __future__ import annotations

from collections.abc import Iterator

from weft.codegen.lanes.plain_passes import BODIES, GUESSED_RANGES, NARROWING
from weft.codegen.parallel.parallel_launch import run_alone
from weft.codegen.slots import build_slot_entry
from weft.diag.errors import UnsupportedError
from weft.graph.loops import Loop, loop_forest
from weft.ir.cfg_view import CFGView
from weft.ir.heap import uses_heap
from weft.ir.intrinsics import kind_of
from weft.ir.locations import span_of
from weft.passes.auto_loops import find_auto_loops
from weft.passes.declared import Meaning, Pass, PassList
from weft.passes.find_loops import Wanted, find_loops, promises_of
from weft.passes.forms.idle_iterations import IDLE_ITERATIONS
from weft.passes.jit_unit import JitUnit
from weft.passes.loop_jobs import run_on_all_cores
from weft.passes.loop_lanes import IN_LANES
from weft.passes.nests.blocks_inside import BLOCKS_INSIDE
from weft.passes.nests.butterflies import BUTTERFLIES
from weft.passes.nests.cut_rows import CUT_ROWS
from weft.passes.nests.local_rows import LOCAL_ROWS
from weft.passes.nests.own_arrays import OWN_ARRAYS
from weft.passes.nests.promised_nests import prove_promised_nests
from weft.passes.nests.short_rows import KNOWN_PARAMETERS, SHORT_ROWS
from weft.passes.plain_loops import PLAIN_LOOPS
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
    INVARIANTS,
    MEETING_STORES,
    NEXT_PLACES,
    PARTED_LOADS,
    READS_AHEAD,
    ROLLED_LOOPS,
    ROW_QUESTIONS,
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
    SHORT_CONVERSIONS,
    WIDE_ADDRESSES,
)
from weft.passes.stages import Form
from weft.transform.loops.heap_lifetimes import settle_heap
from weft.transform.loops.single_turns import write_out_single_turns

MOST_INLINED = 24
"""Nests that run where they stand, in one function, up to which they are parts of it. LLVM takes longer than twice as
long for a function of twice the size: vertical advection with 68 nests took 26.7 s, with nests as functions 13.6 s."""


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
    once = 0
    for function in list(unit.module.definitions()):
        once += write_out_single_turns(function, lambda view, loop: promises_of(view, loop).parallel)
        find_loops(unit, function, lambda view: _pranges(view, unit), run_on_all_cores)
    if len(unit.in_place) > MOST_INLINED:
        for name in unit.in_place:
            unit.module.functions[name].attributes = ("nounwind", "noinline")
    return bool(unit.loops) or once > 0


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
        BFLOAT_WORDS,
        EXCHANGE_LOOPS,
        SHORT_CONVERSIONS,
        KNOWN_NUMBERS,
        MEETING_STORES,
        PARTED_LOADS,
        SET_TESTS,
        INVARIANTS,
        GUARD_BOUNDS,
        FILLED_RUNS,
        COPIED_RUNS,
        LOCAL_ROWS,
        IDLE_ITERATIONS,
        BUTTERFLIES,
        BLOCKS_INSIDE,
        AUTO_LOOPS,
        CUT_ROWS,
        PLAIN_LOOPS,
        OWN_ARRAYS,
        PARALLEL_LOOPS,
        IN_LANES,
        ROW_QUESTIONS,
        SHARED_LOADS,
        SINGLE_LANE,
        READS_AHEAD,
        WRITTEN_BACK,
        CHOICES,
        INLINED_BODIES,
        FILLS,
        COUNTS_AHEAD,
        COUNTER_BANKS,
        WIDE_ADDRESSES,
        INVERSE_ROOTS,
        KNOWN_EXTREMA,
        FUSED_SUMS,
        WIDE_MASKS,
        VOTED_BITS,
        LIKELY_CONVERSIONS,
        NEXT_PLACES,
        ROLLED_LOOPS,
        ENTRY,
    ),
)

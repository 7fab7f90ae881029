"""The lists of passes for LLVM IR from any compiler: parallel loops in place, and whole functions.

The result is plain LLVM IR, ready for LLVM's own pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.shapes import domain_named
from weft.codegen.lanes.lane_passes import LANES, vectorize
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.plain_passes import BODIES, GUESSED_RANGES, LANES_IN_TURN, NARROWING, narrowing_passes
from weft.codegen.parallel.lanes_around import source_loop
from weft.codegen.parallel.parallel_loops import run_in_place, strip_mine
from weft.codegen.said.remarks import remark_vectorization
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.simd_functions.whole_function import function_unit
from weft.codegen.widen.lanes import LaneSpace
from weft.diag.errors import ArgumentError
from weft.diag.remarks import RemarkKind
from weft.diag.words import counted
from weft.graph.loops import loop_forest
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.function import Linkage
from weft.ir.locations import span_of
from weft.machine.vector_abi import vector_name
from weft.passes.auto_loops import find_auto_loops
from weft.passes.declared import Meaning, Pass, PassList
from weft.passes.find_loops import LegalLoop, Wanted, find_loops, promises_of
from weft.passes.foreign_unit import ForeignFunctionUnit, ForeignLoopUnit, ForeignUnit
from weft.passes.forms.idle_iterations import IDLE_ITERATIONS
from weft.passes.lane_parameters import every_parameter, simd_parameters
from weft.passes.loop_lanes import IN_LANES
from weft.passes.loop_unit import FoundLoop
from weft.passes.loops_in_place import run_in_step, run_nest_in_place
from weft.passes.nests.brush_nest import brush_nest, with_short_rows
from weft.passes.nests.butterflies import BUTTERFLIES
from weft.passes.nests.own_arrays import OWN_ARRAYS
from weft.passes.runner import Runner
from weft.passes.scalar import (
    CANONICAL,
    CHOICES,
    COPIED_RUNS,
    COUNTER_BANKS,
    COUNTS_AHEAD,
    FILLED_RUNS,
    FILLS,
    GUARD_BOUNDS,
    INVARIANTS,
    MEETING_STORES,
    NEXT_PLACES,
    PARTED_LOADS,
    PLAIN,
    ROLLED_LOOPS,
    ROWS_IN_TURN,
    SET_TESTS,
    SINGLE_LANE,
    VOTED_BITS,
    WIDE_MASKS,
    settle_invariants,
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
)
from weft.passes.stages import Form, Runnable, StageLog, heard_through
from weft.target.vector_math import math_finder
from weft.transform.foreign.inline_marks import LOCAL, mark_for_inlining
from weft.transform.foreign.scalar_signatures import give_scalar_signatures, scalar_form_of
from weft.transform.loops.head_tests import test_at_head
from weft.transform.loops.moving_pointers import count_moving_pointers

_WORDS = ("auto", "outermost", "annotated", "nest")
"""What loops are asked for by, if not by the name of a header."""


def _give_signatures(unit: ForeignUnit) -> bool:
    changed = give_scalar_signatures(unit.module, unit.wanted or None)
    if unit.wanted:
        form = scalar_form_of(unit.module, unit.wanted)
        unit.name = form[0].name if form else unit.wanted
        function = unit.module.functions[unit.wanted]
        if function.linkage.linkage in LOCAL:
            # Otherwise LLVM may drop it, as nothing calls it.
            unit.linkage, function.linkage = function.linkage, Linkage()
    return changed


def _mark_for_inlining(unit: ForeignUnit) -> bool:
    return mark_for_inlining(unit.module) > 0


def _settle_parameters(unit: ForeignFunctionUnit) -> bool:
    module, function = unit.module, unit.module.functions[unit.wanted]
    assert unit.width is not None
    if unit.linkage is not None:
        function.linkage = unit.linkage
    form, origins = scalar_form_of(module, unit.wanted) or (function, every_parameter(function))
    domain = domain_named("product", (unit.width,))
    parameters = simd_parameters(function, form, origins, unit.signature, domain, module.layout)
    unit.shapes = parameters.shapes
    unit.simd_name = unit.simd_name or vector_name(
        unit.isa, unit.masked, unit.width, parameters.named, unit.wanted
    )
    if unit.simd_name in module.functions:
        raise ArgumentError(f"the module has a function {unit.simd_name} already", hint="give another name")
    return False


def _settle_invariants(unit: ForeignUnit) -> None:
    settle_invariants(unit.function)


def _count_moving_pointers(unit: ForeignUnit) -> bool:
    return count_moving_pointers(unit.function) > 0


def _test_at_head(unit: ForeignUnit) -> bool:
    return bool(test_at_head(unit.function))


def _mark_parallel_loops(unit: ForeignLoopUnit) -> bool:
    unit.exact_math = not unit.fastmath
    return find_auto_loops(unit, unit.function, reassociate=unit.fastmath) > 0


def _find_loops(unit: ForeignLoopUnit) -> bool:
    function, which = unit.function, unit.which
    seen = find_loops(unit, function, lambda view: _chosen(view, which, unit.fastmath), _run_in_place)
    if which not in _WORDS and which not in seen:
        view = cfg_of(function)
        headers = [view.blocks[loop.header].name for loop in loop_forest(view.cfg).loops]
        raise ArgumentError(
            f"{function.name} has no loop with header {which!r}",
            hint=f"its loops begin at {', '.join(headers)}" if headers else "it has no loops",
        )
    return bool(unit.loops)


def _chosen(view: CFGView, which: str, fastmath: bool) -> Iterator[Wanted]:
    """The loops to be vectorized, outer ones first."""
    for loop in loop_forest(view.cfg).loops:
        told = promises_of(view, loop)
        name = view.blocks[loop.header].name
        outermost = which in ("outermost", "nest") and loop.parent is None
        if which == "auto":
            if told.parallel or told.in_step:
                yield Wanted(
                    loop, f"the loop at {name} stays scalar", promised=True, reassociate=True,
                    width=told.in_step or told.width or None,
                )  # fmt: skip
            continue
        if name == which or outermost or (which == "annotated" and told.annotated):
            yield Wanted(
                loop, f"the loop at {name} stays scalar", promised=told.parallel or which in (name, "nest"),
                reassociate=fastmath or told.reorders, width=told.width or None, whole_nest=which in (name, "nest"),
            )  # fmt: skip


def _run_in_place(unit: ForeignLoopUnit, found: LegalLoop) -> FoundLoop:
    """Let a loop run its iterations lane group by lane group where it stands."""
    found = with_short_rows(unit, found, only_promised=unit.which == "auto")
    module, plan = unit.module, found.plan
    name = module.unused_name(f"{found.function.name}.{found.header}")
    told = promises_of(found.view, found.wanted.loop)
    is_version = told.alone or told.rows or told.short_rows or told.close_rows

    def named(header: str) -> tuple[str, str]:
        return source_loop(header) if is_version else (header, "")

    if (brushed := brush_nest(unit, found, name, only_promised=unit.which == "auto")) is not None:
        run_in_place(module, brushed.mined)
        return replace(brushed, subject=f"the nest at {named(found.header)[0]}")
    if unit.which == "auto":
        if told.in_step:
            return run_in_step(unit, found, name, f"the loop at {found.header}")
        made = run_nest_in_place(unit, found, name)
        for header, each in made.items():
            at, where = named(header)
            each.subject = f"{each.subject.replace('this', 'the')} at {at}"
            each.behind = f"{where}{each.behind}"
        first, *others = made.values()
        unit.loops += others
        return first
    span = span_of(plan.loop.exiting.terminator)
    number = len(plan.reductions)
    behind = f", with {counted(number, 'reduction', 'reductions')}" if number else ""
    mined = strip_mine(module, plan, name, found.wanted.width or unit.width, unit.isa, unit.runner)
    run_in_place(module, mined)
    return FoundLoop(mined, span, f"the loop at {found.header}", behind)


def _vectorize_function(unit: ForeignFunctionUnit) -> None:
    assert unit.width is not None
    called = FunctionVectorizer(
        unit.module, LaneSpace((unit.width,)), math_finder(unit.math, unit.spec), unit.isa, unit.boscc,
        unit.runner.watched_by(),
        unit.switches,
    )  # fmt: skip
    part: LaneUnit = function_unit(
        called,
        unit.function,
        unit.shapes,
        unit.simd_name,
        masked=unit.masked,
        scalar_result=unit.scalar_result,
    )
    _runner(unit).run((LANES_IN_TURN, *narrowing_passes(unit.runner.left_out)), part)
    vector = vectorize(part, _runner(unit))
    vector.linkage.linkage = ""
    if part.summary.alone is None:
        remark_vectorization(unit.remarks, unit.subject, unit.reason, part.summary, "lanes")
    else:
        time = f"about {100 * part.summary.alone:.0f} % of the time of {unit.width} lanes together"
        message = f"{unit.subject} runs lane after lane, which takes {time}"
        unit.remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name=LANES_IN_TURN.name)
    unit.called = {unit.simd_name: part.summary, **called.summaries}
    for name, summary in called.summaries.items():
        remark_vectorization(unit.remarks, name, "called once for all of them", summary, "lanes")


def _runner(unit: ForeignFunctionUnit) -> Runner:
    """The runner for passes on what is to become the SIMD function, of which the log hears what they mean."""
    return heard_through(unit.runner, lambda log: _PartLog(unit, log))


class _PartLog(Struct, frozen=True):
    """Tells the log of a function of a pass on what is to become its SIMD function."""

    unit: ForeignFunctionUnit
    log: StageLog

    def __call__(self, done: Pass[Any], unit: LaneUnit) -> None:
        form = Form.LANES if done.meaning is Meaning.SCALAR else Form.THREADS
        self.unit.runnable = Runnable(unit.function.name, form, done.meaning is Meaning.BOTH)
        self.log.keep(done.name)


SIGNATURES: Pass[ForeignUnit] = Pass(
    "signatures",
    "functions that are called directly, and the one that is wanted, take and return scalars",
    _give_signatures,
    requires=(PLAIN,),
)
INLINING: Pass[ForeignUnit] = Pass(
    "inlining",
    "functions that only the module itself calls, and that are not recursive, are marked to be inlined",
    _mark_for_inlining,
)
PARAMETERS: Pass[ForeignFunctionUnit] = Pass(
    "parameters", "the shape of each parameter is known, and the SIMD function's name", _settle_parameters
)
FUNCTION_INVARIANTS: Pass[ForeignUnit] = Pass(
    INVARIANTS.name, INVARIANTS.promise, _settle_invariants, requires=INVARIANTS.requires
)
HEAD_TESTS: Pass[ForeignUnit] = Pass(
    "head tests",
    "loops of which a round is known to come are tested at their head, as in the source",
    _test_at_head,
    optional=True,
)
MOVING_POINTERS: Pass[ForeignUnit] = Pass(
    "moving pointers",
    "in counted loops, pointers that move along arrays are places counted from where they begin",
    _count_moving_pointers,
)
AUTO_LOOPS: Pass[ForeignLoopUnit] = Pass(
    "auto loops",
    "loops that are found to be parallel are marked, behind tests of what that rests on",
    _mark_parallel_loops,
    applies=lambda unit: unit.which == "auto",
    source="Juravle, §4.1",
)
AUTO_BUTTERFLIES: Pass[ForeignLoopUnit] = Pass(
    BUTTERFLIES.name,
    BUTTERFLIES.promise,
    BUTTERFLIES.run,
    optional=BUTTERFLIES.optional,
    applies=lambda unit: unit.plain_loops,
)
LOOPS_IN_PLACE: Pass[ForeignLoopUnit] = Pass(
    "loops",
    "each parallel loop runs its iterations lane group by lane group, in its place",
    _find_loops,
    parts=(*BODIES, GUESSED_RANGES, NARROWING),
    source="Moll, §3.1",
)
WHOLE_FUNCTION: Pass[ForeignFunctionUnit] = Pass(
    "function",
    "the function for one lane has one for W lanes beside it",
    _vectorize_function,
    Meaning.SCALAR,
    parts=(LANES_IN_TURN, GUESSED_RANGES, NARROWING, *LANES),
    source="Moll, §3.3",
)

FORM: tuple[Pass[Any], ...] = (SIGNATURES, INLINING, CANONICAL)
"""What brings a program of any compiler into the form that analysis starts from."""

FOREIGN_LOOPS = PassList(
    "foreign loops",
    "parallel loops of C, C++ and LLVM IR; LLVM's whole pipeline follows",
    (
        *FORM,
        HEAD_TESTS,
        BFLOAT_WORDS,
        EXCHANGE_LOOPS,
        SHORT_CONVERSIONS,
        KNOWN_NUMBERS,
        MEETING_STORES,
        PARTED_LOADS,
        SET_TESTS,
        FUNCTION_INVARIANTS,
        MOVING_POINTERS,
        GUARD_BOUNDS,
        FILLED_RUNS,
        COPIED_RUNS,
        IDLE_ITERATIONS,
        AUTO_BUTTERFLIES,
        AUTO_LOOPS,
        OWN_ARRAYS,
        LOOPS_IN_PLACE,
        IN_LANES,
        SINGLE_LANE,
        CHOICES,
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
    ),
)
FOREIGN_FUNCTIONS = PassList(
    "foreign functions",
    "functions of C, C++ and LLVM IR; LLVM's whole pipeline follows",
    (
        *FORM,
        HEAD_TESTS,
        OWN_ARRAYS,
        BFLOAT_WORDS,
        EXCHANGE_LOOPS,
        SHORT_CONVERSIONS,
        KNOWN_NUMBERS,
        NARROW_PHIS,
        MEETING_STORES,
        PARTED_LOADS,
        SET_TESTS,
        ROWS_IN_TURN,
        FUNCTION_INVARIANTS,
        MOVING_POINTERS,
        FILLS,
        COPIED_RUNS,
        PARAMETERS,
        WHOLE_FUNCTION,
        SINGLE_LANE,
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
    ),
)

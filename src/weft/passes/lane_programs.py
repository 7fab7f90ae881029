"""Lane groups of a kernel as SIMD code: its threads as they were planned (`weft.passes.lane_plan`), widened."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.shapes import Shape, domain_named
from weft.codegen.lanes.lane_passes import vectorize
from weft.codegen.lanes.lane_unit import LaneUnit, SimdForm
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.order.bands import BandKernel
from weft.codegen.order.boxes import box_shapes, is_whole
from weft.codegen.order.divided_rows import DividedRows
from weft.codegen.order.rows import RowKernel
from weft.codegen.order.walks import by_own_stacks
from weft.codegen.order.width import WidthChoice, lanes_of_rest
from weft.codegen.said.remarks import remark_guards
from weft.codegen.simd_functions.entry_guard import guard_by_bits, guard_by_lane, guard_by_lane_range
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen.calls import called_seldom
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.box_kernel import BoxKernel
from weft.codegen.work_groups.continuations import GroupContinuations
from weft.codegen.work_groups.group_program import GroupProgram
from weft.codegen.work_groups.lane_groups import LaneKernel
from weft.codegen.work_groups.vectorize_barriers import vectorize_at_barriers
from weft.codegen.work_groups.warp_continuations import WarpContinuations
from weft.graph.loops import loop_forest
from weft.ir import Function, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import clone_function
from weft.ir.intrinsics import APART_ATTRIBUTE, is_lane_operation
from weft.ir.types import FloatType, IntType
from weft.passes.declared import Meaning, Pass
from weft.passes.kernel_unit import Bands, KernelUnit
from weft.passes.runner import Runner
from weft.passes.stages import Form, Rows, Runnable, StageLog, heard_through
from weft.transform.groups.divided_ids import split_numbers
from weft.transform.groups.guard_splitting import split_guards
from weft.transform.groups.linear_ids import number_linearly
from weft.transform.groups.work_items import WorkItems
from weft.transform.numbers.inner_versions import counts_from_the_end_alone

_DEAR = 100
"""Threads of more instructions are dear."""

_CHEAP_CALLS = tuple(
    f"llvm.{n}." for n in ("umin", "umax", "smin", "smax", "abs", "fabs", "fma", "fmuladd", "sqrt")
)


def position_shapes(
    unit: KernelUnit, lanes: LaneSpace, function: Function, rows: Rows | None = None
) -> dict[Value, Shape]:
    """The shapes of the parameters of a function for the kernel that differ from thread to thread.

    It runs `rows` where they are not those of the kernel.
    """
    rows = rows or unit.rows
    if unit.order.box is not None:
        return box_shapes(function, lanes, unit.options.block)
    domain = domain_named("product", lanes.extents)
    multiple = 1 if rows is not None and rows.anywhere else lanes.width
    return {WorkItems.of(function).tid[unit.order.dimension]: domain.strided(1, 64, multiple)}


def widen_rounds(
    unit: KernelUnit, called: FunctionVectorizer
) -> tuple[GroupContinuations | WarpContinuations, VectorizationSummary]:
    """Replace a kernel with barriers by its continuations."""
    module, kernel, lanes, order, options = unit.module, unit.function, called.lanes, unit.order, unit.options
    by_number = None
    if order.linear and not options.whole_rows:
        by_number = clone_function(kernel, f"{kernel.name}.by_number")
    whole = options.whole_rows
    if order.box is not None and options.block is not None:
        whole = is_whole(lanes, options.block)
    before = unit.known_along(0, lanes.width) if lanes.extents == (lanes.width,) else None
    unit.runnables = [Runnable(kernel.name, Form.THREADS)]
    program, summary = vectorize_at_barriers(
        module, kernel, position_shapes(unit, lanes, kernel), called, _runner(unit, 0),
        whole_rows=whole, before=before,
    )  # fmt: skip
    if by_number is None:
        return (replace(program, multiple=lanes.width) if order.linear else program), summary
    number_linearly(by_number)
    other, _ = vectorize_at_barriers(
        module,
        by_number,
        position_shapes(unit, lanes, by_number),
        called,
        unit.runner.watched_by(),
        linear=True,
    )
    return WarpContinuations(program, other), summary


def separate_lane_groups(unit: KernelUnit) -> None:
    """Give the kernel a function for partial lane groups, where there may be such."""
    assert unit.plan is not None
    module, kernel, order = unit.module, unit.function, unit.order
    unit.runnables = [Runnable(kernel.name, Form.THREADS)]
    unit.changed = 0
    if unit.bands is not None:
        unit.of_bands = clone_function(kernel, f"{kernel.name}.band").name
    if unit.divided is not None:
        unit.of_divided = _divided_functions(unit)
    if order.box and unit.options.block and is_whole(unit.plan.lanes, unit.options.block):
        return
    partial = clone_function(kernel, f"{kernel.name}.partial")
    if order.linear:
        _split_guards(unit)
        number_linearly(partial)
        guard_by_lane(module, partial)
    elif order.box is not None:
        guard_by_bits(module, partial, unit.plan.width)
    else:
        guard_by_lane_range(module, partial)
    unit.runnables.append(Runnable(partial.name, Form.THREADS))


def _divided_functions(unit: KernelUnit) -> tuple[str, str, str]:
    """The functions for boxes of columns and rows, and for single threads of them; and the one for their extents."""
    assert unit.rows is not None and unit.divided is not None
    of_box = clone_function(unit.function, f"{unit.name}.divided")
    extents = split_numbers(unit.module, of_box, unit.rows.dimension, unit.divided.across)
    assert extents is not None
    return of_box.name, clone_function(of_box, f"{unit.name}.divided.thread").name, extents.name


def _split_guards(unit: KernelUnit) -> None:
    """Whole lane groups ask no guards that are bounds of a row; those that do not pass them are left to the others."""
    guards = split_guards(unit.module, unit.function, 0)
    if guards is not None:
        unit.bounds = guards.bounds.name
        remark_guards(unit.remarks, guards, "of which whole warps along rows that pass it")
        unit.forget()


def widen_lanes(unit: KernelUnit, called: FunctionVectorizer) -> tuple[GroupProgram, VectorizationSummary]:
    """Replace the kernel's functions for whole and for partial lane groups by SIMD code."""
    module, kernel, lanes = unit.module, unit.function, called.lanes
    vectors: list[Function] = []
    summaries: list[VectorizationSummary] = []
    narrow = _narrow_ends(unit)
    for i, suffix in enumerate(("", ".partial")[: len(unit.runnables) - (narrow is not None)]):
        function = module.functions[unit.runnables[i].function]
        form = SimdForm(f"{kernel.name}.w{lanes.width}{suffix}")
        part: LaneUnit = called.unit(function, position_shapes(unit, lanes, function), form)
        part.facts = unit.facts if function is kernel else None
        part.seldom = function is not kernel
        if part.seldom:
            part.find_math = called_seldom(part.find_math)
        vectors.append(vectorize(part, _runner(unit, i)))
        summaries.append(part.summary)
    summaries[0].replacement.arrays_apart = any(s.replacement.arrays_apart for s in summaries)
    full, partial, summary = vectors[0], vectors[1] if len(vectors) > 1 else None, summaries[0]
    rest: Function | None = None
    if narrow is not None:
        (rest, partial), apart = _widen_ends(unit, narrow)
        summary.replacement.arrays_apart |= apart
    if unit.order.box is not None:
        return BoxKernel(lanes, full, summary, partial), summary
    assert partial is not None
    if unit.rows is None:
        bounds = module.functions[unit.bounds] if unit.bounds else None
        return LaneKernel(lanes.width, full, partial, summary, bounds), summary
    rows = _row_kernel(unit, unit.rows, lanes.width, full, partial, summary)
    if narrow is not None:
        rows = replace(rows, rest=rest, rest_width=narrow.lanes.width)
    if unit.divided is not None:
        return _in_boxes(unit, unit.divided, rows, summary)
    if unit.bands is None:
        return rows, summary
    return _in_bands(unit, unit.bands, rows, summary)


class _NarrowEnds(Struct, frozen=True):
    """The lanes that what is left of rows runs in, and the function for whole lane groups of as many."""

    lanes: LaneSpace
    function: Function


def _narrow_ends(unit: KernelUnit) -> _NarrowEnds | None:
    """Whether the ends of rows run in lane groups of one register; not where loops wait for what they compute."""
    if unit.rows is None or unit.plan is None or unit.premises.warp is not None:
        return None
    kernel, width = unit.function, lanes_of_rest(_choice_of_rest(unit, unit.plan.choice), unit.spec.isa)
    if not width or loop_forest(cfg_of(kernel).cfg).loops:
        return None
    if any(is_lane_operation(i.callee_name) for i in kernel.instructions()):
        return None
    return _NarrowEnds(LaneSpace((width,)), clone_function(kernel, f"{unit.name}.rest"))


def _choice_of_rest(unit: KernelUnit, choice: WidthChoice) -> WidthChoice:
    """The width, with the bits of what is in vectors at the ends of rows.

    Indices that may count from the end have no place there: lanes are asked whether they are neighbours.
    """
    if choice.bits <= 32:
        return choice
    if not counts_from_the_end_alone(unit.function, unit.along(unit.order.dimension, choice.width)):
        return choice
    types = [i.accessed_type for i in unit.function.instructions() if i.op in ("load", "store")]
    bits = [type.bits if isinstance(type, (IntType, FloatType)) else choice.bits for type in types]
    return replace(choice, bits=max([32, *bits]))


def _widen_ends(unit: KernelUnit, narrow: _NarrowEnds) -> tuple[tuple[Function, Function], bool]:
    """The SIMD functions for the ends of rows, and whether they rely on arrays that are apart."""
    called, partial = unit.vectorizer(narrow.lanes), unit.module.functions[unit.runnables[1].function]
    vectors: list[Function] = []
    apart = False
    for function, suffix in ((narrow.function, ".rest"), (partial, ".partial")):
        form = SimdForm(f"{unit.name}.w{narrow.lanes.width}{suffix}")
        part = called.unit(function, position_shapes(unit, narrow.lanes, function), form)
        part.seldom = True
        part.find_math = called_seldom(part.find_math)
        vectors.append(vectorize(part, unit.runner.watched_by()))
        apart |= part.summary.replacement.arrays_apart
    called.finish()
    return (vectors[0], vectors[1]), apart


def _in_bands(
    unit: KernelUnit, bands: Bands, rows: RowKernel, of_rows: VectorizationSummary
) -> tuple[GroupProgram, VectorizationSummary]:
    """Rows of threads in bands, of which most run in boxes: what became of the function for these counts."""
    full, summary = _widen_box(unit, unit.of_bands, bands, of_rows)
    assert unit.rows is not None
    assert unit.rows.across is not None
    return BandKernel(rows, full, bands.lanes, unit.rows.across[1]), summary


def _in_boxes(
    unit: KernelUnit, divided: Bands, rows: RowKernel, of_rows: VectorizationSummary
) -> tuple[GroupProgram, VectorizationSummary]:
    """Rows of threads, of which most run in boxes of the columns and rows that their numbers are divided into."""
    assert unit.of_divided is not None
    box, thread, extents = unit.of_divided
    full, summary = _widen_box(unit, box, divided, of_rows)
    functions = unit.module.functions
    alone = functions[thread]
    # Lanes along flat numbers scatter less than boxes are for, where these are columns of one row.
    dear = _is_dear(alone) or divided.lanes.extents[1] == 1
    found = DividedRows(full, alone, functions[extents], divided.lanes, dear)
    return replace(rows, divided=found), summary


def _is_dear(thread: Function) -> bool:
    """Whether a thread by itself takes much longer than one in lanes, whatever these scatter."""
    instructions = [i for i in thread.instructions() if not i.is_terminator]
    calls = [i.callee_name or "" for i in instructions if i.op == "call"]
    return len(instructions) > _DEAR or not all(name.startswith(_CHEAP_CALLS) for name in calls)


def _widen_box(
    unit: KernelUnit, name: str, bands: Bands, of_rows: VectorizationSummary
) -> tuple[Function, VectorizationSummary]:
    """The SIMD function of a box, and what became of the one of that name."""
    function, lanes = unit.module.functions[name], bands.lanes
    called = unit.vectorizer(lanes)
    form = SimdForm(f"{unit.name}.w{'x'.join(map(str, lanes.extents))}")
    part = called.unit(function, box_shapes(function, lanes), form)
    full = vectorize(part, unit.runner.watched_by())
    full.attributes = (*full.attributes, f'"{APART_ATTRIBUTE}"')
    called.finish()
    part.summary.replacement.arrays_apart |= of_rows.replacement.arrays_apart
    return full, part.summary


def run_rows_of_threads(unit: KernelUnit) -> GroupProgram:
    """The kernel, thread after thread along rows."""
    return _row_kernel(unit, unit.rows, 1, unit.function, None, None)


def run_rows_alone(unit: KernelUnit, alone: Function) -> GroupProgram:
    """The same, of a function that is there beside one in lanes."""
    return _row_kernel(unit, unit.alone_rows, 1, alone, None, None)


def widen_own_stacks(unit: KernelUnit, lanes: LaneSpace) -> GroupProgram:
    """The same, in lanes that each walk by a stack of their own, which that function is for."""
    module, alone = unit.module, unit.module.functions[unit.alone]
    called, vectors = unit.vectorizer(lanes), list[Function]()
    called.runner = by_own_stacks(called.runner)
    summary: VectorizationSummary | None = None
    for suffix in ("", ".partial"):
        function = clone_function(alone, f"{alone.name}.lanes{suffix}")
        if suffix:
            guard_by_lane_range(module, function)
        form = SimdForm(f"{alone.name}.w{lanes.width}{suffix}")
        part = called.unit(function, position_shapes(unit, lanes, function, unit.alone_rows), form)
        part.seldom = bool(suffix)
        if part.seldom:
            part.find_math = called_seldom(part.find_math)
        vectors.append(vectorize(part, called.runner))
        unit.told_apart |= part.summary.replacement.arrays_apart
        summary = summary or part.summary
    full, partial = vectors
    return _row_kernel(unit, unit.alone_rows, lanes.width, full, partial, summary)


def _row_kernel(
    unit: KernelUnit,
    rows: Rows | None,
    width: int,
    full: Function,
    partial: Function | None,
    summary: VectorizationSummary | None,
) -> RowKernel:
    functions = unit.module.functions
    assert rows is not None
    bounds, steps = (functions[name] if name else None for name in (rows.bounds, rows.steps))
    if width > 1:
        full.attributes = (*full.attributes, f'"{APART_ATTRIBUTE}"')
    return RowKernel(
        width, full, partial, summary, rows.dimension, rows.merge, bounds, steps, anywhere=rows.anywhere
    )


def _runner(unit: KernelUnit, index: int) -> Runner:
    """The runner for passes on one of the functions, of which the log hears what they mean."""
    return heard_through(unit.runner, lambda log: _PartLog(unit, index, log))


class _PartLog(Struct, frozen=True):
    """Tells the log of the kernel of a pass on one of its functions."""

    unit: KernelUnit
    index: int
    log: StageLog

    def __call__(self, done: Pass[Any], unit: LaneUnit) -> None:
        form = Form.LANES if done.meaning is Meaning.SCALAR else Form.THREADS
        self.unit.runnables[self.index] = Runnable(unit.function.name, form, done.meaning is Meaning.BOTH)
        self.unit.changed = self.index
        self.log(done, unit)

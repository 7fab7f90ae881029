"""Which kernels without barriers run in boxes of several rows of threads (`weft.codegen.order.bands`).

Of a kernel that transposes, or turns arrays of structures, some accesses are neighbours along the dimension of the
lanes, and others along another one. Boxes of threads along both have neither gathers nor scatters. Which box is best,
and whether it is better than rows, is found as for nests of loops: the SIMD code of each is made and weighed
(`weft.codegen.parallel.brush_choice`). What is tried is tried on copies.

Precondition: a plan of lane groups in rows. Postcondition: the same; the function is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from weft.analysis.divergence import FunctionFacts
from weft.analysis.divergence.result import Form
from weft.brush import Brush
from weft.codegen.lanes.lane_passes import LANES
from weft.codegen.lanes.lane_unit import SimdForm
from weft.codegen.order.boxes import box_shapes
from weft.codegen.order.dimension import analyze_along
from weft.codegen.order.width import one_register
from weft.codegen.parallel.brush_choice import (
    WORTHWHILE,
    Weighed,
    elements_of_accessed,
    is_of_one_loop,
    weigh,
)
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen.lanes import LaneSpace
from weft.costs.vector_code import VectorCosts, vector_costs
from weft.graph.loops import loop_forest
from weft.ir import Function
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import clone_function
from weft.ir.intrinsics import is_lane_operation
from weft.passes.declared import Pass
from weft.passes.kernel_unit import Bands, KernelUnit
from weft.passes.runner import Runner
from weft.transform.boscc.insertion import BOX_TWIN_LIMIT, Boscc, BosccMode
from weft.transform.groups.divided_ids import other_dimensions, split_numbers
from weft.transform.groups.guard_splitting import split_guards
from weft.transform.groups.merge_groups import find_merge, merge_groups
from weft.transform.groups.work_items import WorkItems

HIGHER = 1.25
"""What a box may take for its height, as often as the best one. 2048 by 2048 floats in boxes of 4 rows of 16 take 1.4
times as long as in boxes of 8 by 8, which the model expects to take 1.1 times as long (AVX-512)."""

WORTHWHILE_IN_ROWS = 0.5
"""What lanes along columns may take of what lanes along flat numbers take, whose rows have no ends."""


def _plan_bands(unit: KernelUnit) -> bool:
    across = _other_dimension(unit)
    if across is not None:
        along = unit.order.dimension
        if _reads_along(unit, across) > _reads_along(unit, along):
            along, across = across, along
        unit.bands = _best_box(unit, along, across)
        if unit.bands is not None:
            unit.order = replace(unit.order, dimension=along)
    else:
        unit.divided = _divided(unit)
    return False


def _reads_along(unit: KernelUnit, dimension: int) -> int:
    """How many loads are neighbours along a dimension.

    A band that goes along them reads lines of the cache one after the other; what it writes across them waits in
    buffers for its neighbours.
    """
    found = unit.along(dimension, one_register(unit.spec.isa))
    loads = (i for i in unit.function.instructions() if i.op == "load")
    return sum(found.access_form(i).form is Form.CONTIGUOUS for i in loads)


def _other_dimension(unit: KernelUnit) -> int | None:
    """The dimension along which what rows gather are neighbours; None for none, or where groups have to stay apart."""
    kernel, along = unit.function, unit.order.dimension
    tid = WorkItems.of(kernel).tid
    others = [d for d in range(3) if d != along and tid[d].is_used]
    if not others or find_merge(kernel, along) is None:
        return None
    if sum(1 for _ in kernel.instructions()) > BOX_TWIN_LIMIT:
        return None
    width = one_register(unit.spec.isa)
    rows = unit.along(along, width)
    gathered = [
        i for i in kernel.instructions() if i.is_plain_access and rows.access_form(i).form is Form.GATHER
    ]
    for d in others if gathered else ():
        columns = unit.along(d, width)
        if any(columns.access_form(i).form is Form.CONTIGUOUS for i in gathered):
            return d if find_merge(kernel, d) is not None else None
    return None


def _best_box(unit: KernelUnit, along: int, across: int) -> Bands | None:
    """The box for bands of rows along a dimension, one behind the other across it, if one is expected to gain."""
    with _tried(unit) as trial:
        for axis in (along, across):
            merge_groups(trial, axis)
        split_guards(unit.module, trial, along)
        return _best_of(unit, trial, (along, across))


def _divided(unit: KernelUnit) -> Bands | None:
    """The box of columns and rows, or planes, that numbers of threads are divided into, if one is expected to gain.

    Where loops run in a thread, single ones beside the boxes would be slow.
    """
    kernel, along = unit.function, unit.order.dimension
    if sum(1 for _ in kernel.instructions()) > BOX_TWIN_LIMIT or loop_forest(cfg_of(kernel).cfg).loops:
        return None
    if any(is_lane_operation(i.callee_name) for i in kernel.instructions()):
        return None
    rows = unit.along(along, one_register(unit.spec.isa))
    if not any(i.is_plain_access and rows.access_form(i).form is Form.GATHER for i in kernel.instructions()):
        return None
    for across, words in zip(other_dimensions(along), ("rows", "planes"), strict=True):
        with _tried(unit) as trial:
            merge = merge_groups(trial, along)
            if merge is None or merge.size is not None:
                return None
            split_guards(unit.module, trial, along)
            if split_numbers(unit.module, trial, along, across) is None:
                return None
            facts, width = FunctionFacts(trial), one_register(unit.spec.isa)
            columns, lines = (analyze_along(facts, axis, width) for axis in (along, across))
            accesses = [i for i in trial.instructions() if i.is_plain_access]
            gathered = [i for i in accesses if columns.access_form(i).form is Form.GATHER]
            if not gathered:
                return _along_columns(unit, trial, (along, across))
            if any(lines.access_form(i).form is Form.CONTIGUOUS for i in gathered):
                found = _best_of(unit, trial, (along, across), ("columns", words))
                if found is not None:
                    return found
    return None


def _along_columns(unit: KernelUnit, trial: Function, axes: tuple[int, int]) -> Bands | None:
    """A register of columns of one row, if that is expected to gain over neighbours by their numbers.

    The rest of each row runs thread after thread, so that it has to gain much.
    """
    isa, width = unit.spec.isa, one_register(unit.spec.isa)
    lanes = LaneSpace((width, 1), axes)
    flat = _costs(unit, unit.function, LaneSpace((width,), axes[:1]), "flat").cycles(isa)
    part = _costs(unit, trial, lanes, "columns").cycles(isa) / flat
    if part > WORTHWHILE_IN_ROWS:
        return None
    reason = f"along {width} columns of a row, which takes {100 * part:.0f} % of neighbours by the cost model"
    return Bands(lanes, reason)


@contextmanager
def _tried(unit: KernelUnit) -> Iterator[Function]:
    """A copy of the kernel; it, and what is made of it, are gone behind."""
    module = unit.module
    before = set(module.functions)
    try:
        yield clone_function(unit.function, f"{unit.name}.tried")
    finally:
        for made in set(module.functions) - before:
            if module.functions[made].blocks:
                del module.functions[made]


def _best_of(
    unit: KernelUnit, trial: Function, axes: tuple[int, int], words: tuple[str, str] | None = None
) -> Bands | None:
    """The box of threads along two axes that is expected to gain over rows along the first one, if there is one.

    `words` are for what is counted along them, if these are not the axes of a grid.
    """
    module, isa = unit.module, unit.spec.isa

    def costs(brush: Brush) -> VectorCosts:
        return _costs(unit, trial, LaneSpace(brush.in_order, axes), f"{brush}.{axes[1]}")

    row = elements_of_accessed(trial.instructions(), module.layout, isa)
    has_loops = bool(loop_forest(cfg_of(trial).cfg).loops)
    weighed = weigh(costs, row, 2, isa, has_loops=has_loops)
    alone = min(w.cycles for w in weighed if is_of_one_loop(w.brush))
    best = _best(weighed)
    if best is None or best.cycles > WORTHWHILE * alone:
        return None
    lanes = LaneSpace(best.brush.in_order, axes)
    counted = words or tuple(f"along {'xyz'[axis]}" for axis in axes)
    first, second = (f"{extent} {word}" for extent, word in zip(lanes.extents, counted, strict=True))
    part = 100 * best.cycles / alone
    reason = f"in boxes of {first} by {second}, which takes {part:.0f} % of rows alone by the cost model"
    return Bands(lanes, reason)


def _best(weighed: Sequence[Weighed]) -> Weighed | None:
    """The best box of several rows: what is written or read across a high band fills more of each line of the cache."""
    boxes = [w for w in weighed if not is_of_one_loop(w.brush)]
    if not boxes:
        return None
    high = next((w for w in boxes if w.brush.extents[0] >= w.brush.extents[1]), boxes[0])
    return high if high.cycles <= HIGHER * boxes[0].cycles else boxes[0]


def _costs(unit: KernelUnit, function: Function, lanes: LaneSpace, name: str) -> VectorCosts:
    """What a box of threads costs."""
    module, isa = unit.module, unit.spec.isa
    copy = clone_function(function, f"{function.name}.{name}")
    boscc = Boscc(BosccMode(unit.options.boscc), isa)
    called = FunctionVectorizer(module, lanes, lambda *_: None, isa, boscc, Runner(), unit.options.switches)
    part = called.unit(copy, box_shapes(copy, lanes), SimdForm(f"{copy.name}.simd"))
    Runner(left_out=frozenset(unit.options.switches.without)).run(LANES, part)
    # Vectors of addresses, where pieces have been found instead.
    remove_dead_instructions(part.function)
    return vector_costs(part.function, isa)


def _may_have_bands(unit: KernelUnit) -> bool:
    plan, options = unit.plan, unit.options
    if plan is None or not plan.in_rows or plan.width == 1 or unit.walk is not None or unit.alone:
        return False
    return options.width is None and not options.switches.count_lanes


BANDS: Pass[KernelUnit] = Pass(
    "bands",
    "it is planned whether threads run in boxes of several rows, which turn in registers what rows would gather",
    _plan_bands,
    optional=True,
    applies=_may_have_bands,
    source="Moll, §11",
)

"""Passes that plan in what lanes the threads of a kernel run, and cut rows of threads for them.

The plan itself is `weft.passes.lane_plan`'s. What is tried for it is tried on copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.analysis.divergence import Divergence, FunctionFacts
from weft.codegen import trials
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.plain_passes import GUESSED_RANGES, INNER_VERSIONS, NARROWING, is_better_at_no_edge
from weft.codegen.order.boxes import box_of_shared_rows
from weft.codegen.order.dimension import analyze_along
from weft.codegen.order.row_starts import may_begin_anywhere
from weft.codegen.order.walks import Walk, choose_walk
from weft.codegen.order.width import WidthChoice, choose_width, one_register, open_choice
from weft.codegen.said.remarks import THREADS_ALONE, remark_alone, remark_rows
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.warps import require_warps
from weft.costs.one_thread import may_be_alone
from weft.diag.remarks import RemarkKind
from weft.ir import Function
from weft.ir.clone import clone_function
from weft.passes.declared import Meaning, Pass
from weft.passes.kernel_unit import KernelUnit
from weft.passes.lane_plan import Planner, width_below_which_boxes_serve
from weft.passes.lane_programs import position_shapes, run_rows_of_threads
from weft.passes.stages import Rows
from weft.passes.stretch_plan import stretch_of
from weft.transform.boscc.insertion import BosccMode
from weft.transform.groups.grid_walks import unroll_walk
from weft.transform.groups.guard_splitting import GuardSplit, split_guards
from weft.transform.groups.merge_groups import merge_groups
from weft.transform.groups.work_items import WorkItems
from weft.transform.loops.alone import is_for_llvm, prepare_alone
from weft.transform.loops.guess_ranges import guess_for_good
from weft.transform.loops.told_apart import tell_apart
from weft.transform.splitting.barriers import barriers_of, cut_behind


def has_barriers(unit: KernelUnit) -> bool:
    """Whether threads wait for each other."""
    return bool(barriers_of(unit.function))


def runs_in_lanes(unit: KernelUnit) -> bool:
    """Whether threads have been planned to run in lane groups."""
    return unit.plan is not None and unit.plan.width > 1


def _order_lanes(unit: KernelUnit) -> bool:
    kernel, warp = unit.function, unit.premises.warp
    if warp is not None:
        require_warps(unit.module, kernel, warp, unit.options.width, unit.most_lanes, unit.remarks)
    unit.order = unit.planner.order()
    if unit.order.obstacle is not None:
        message = f"{kernel.name} runs thread after thread because {unit.order.obstacle}"
        unit.remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name="widening")
    return False


def _has_rows_in_lanes(unit: KernelUnit) -> bool:
    order = unit.order
    return order.in_lanes and not order.linear and order.box is None and unit.premises.warp is None


def _may_walk(unit: KernelUnit) -> bool:
    return _has_rows_in_lanes(unit) and unit.options.block is None and not has_barriers(unit)


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
    return not order.linear or (has_barriers(unit) and not order.lock_step)


def _guess_ranges(unit: KernelUnit) -> bool:
    lanes = LaneSpace((unit.planner.analyzed_width(),))
    if has_barriers(unit) or NARROWING.name in unit.runner.left_out or _runs_alone_narrowed(unit, lanes):
        return False
    part = LaneUnit(
        unit.module, unit.function, lanes, position_shapes(unit, lanes, unit.function), unit.spec.isa,
        known=unit.along(unit.order.dimension, lanes.width),
    )  # fmt: skip
    if GUESSED_RANGES.run(part) is False:
        return False
    unit.guessed = part.summary.guessed
    unit.forget()
    return True


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
        return walk.choice.width == 1
    if stretch_of(unit) is not None:
        return False
    return choose_width(_narrowed(unit, lanes), unit.spec.isa).width == 1


def _keep_alone(unit: KernelUnit) -> bool:
    if not unit.planner.may_be_open(unit.order, walks=True):
        return False
    walk = _walk(unit)
    if walk is not None:
        unit.open_choice = walk.both_ways
    elif unit.planner.may_be_open(unit.order) and stretch_of(unit) is None:
        lanes = LaneSpace((unit.planner.analyzed_width(),))
        unit.open_choice = open_choice(_narrowed(unit, lanes), unit.spec.isa)
    if unit.open_choice is None:
        return False
    alone = clone_function(unit.function, f"{unit.name}.alone")
    unit.alone, other = alone.name, "threads one after the other"
    if unit.has_own_stacks:
        other = "threads in lanes that each walk by a stack of its own"
        if NARROWING.name not in unit.runner.left_out:
            lanes = LaneSpace((unit.planner.analyzed_width(),))
            shapes = position_shapes(unit, lanes, alone)
            NARROWING.run(LaneUnit(unit.module, alone, lanes, shapes, unit.spec.isa))
    message = f"{unit.name} has code for {other}, too, as the data decide what is faster: launches try both"
    unit.remarks.add(RemarkKind.TRANSFORM, message, pass_name=trials.BOTH_WAYS)
    return True


def _walk(unit: KernelUnit) -> Walk | None:
    """How threads walk by stacks, if they do; looked at once, as it takes a copy."""
    if unit.walking is not None:
        return unit.walking[0]
    dimension, lanes = unit.order.dimension, LaneSpace((one_register(unit.spec.isa),))
    part = LaneUnit(
        unit.module, unit.function, lanes, position_shapes(unit, lanes, unit.function), unit.spec.isa,
        switches=unit.options.switches, known=unit.along(dimension, lanes.width),
    )  # fmt: skip
    may = unit.planner.may_be_open(unit.order, walks=True)
    unit.walking = (choose_walk(part, unit.runner, both_ways=may),)
    return unit.walking[0]


@contextmanager
def _mostly_run(unit: KernelUnit) -> Iterator[Planner]:
    """Plans lane groups for the kernel if all guesses are right."""
    if not unit.guessed:
        yield unit.planner
        return
    trial = clone_function(unit.function, f"{unit.name}.mostly")
    guess_for_good(trial)
    facts = FunctionFacts(trial)
    yield unit.planner_of(trial, facts, lambda dimension, width: analyze_along(facts, dimension, width))
    del unit.module.functions[trial.name]


def _walking(unit: KernelUnit) -> WidthChoice | None:
    walk = _walk(unit)
    return walk.choice if walk is not None else None


def _has_edges(unit: KernelUnit) -> bool:
    """Whether lane groups at no edge will have a version of their own."""
    if INNER_VERSIONS.name in unit.runner.left_out:
        return False
    dimension, lanes = unit.order.dimension, LaneSpace((one_register(unit.spec.isa),))
    part = LaneUnit(
        unit.module, unit.function, lanes, position_shapes(unit, lanes, unit.function), unit.spec.isa,
        switches=unit.options.switches, known=unit.along(dimension, lanes.width),
    )  # fmt: skip
    return is_better_at_no_edge(part, behind_guards=True)


def _plan_lanes(unit: KernelUnit) -> bool:
    with _mostly_run(unit) as planner:
        unit.plan = planner.plan(
            unit.order, lambda: _walking(unit), lambda: stretch_of(unit), lambda: _has_edges(unit)
        )
    if unit.order.in_lanes and unit.plan.width == 1:
        message = f"{unit.name} runs thread after thread, {unit.plan.choice.reason}"
        unit.remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name="widening")
    return False


def _runs_alone(unit: KernelUnit) -> bool:
    return unit.plan is not None and unit.plan.width == 1


def _prepare_alone(unit: KernelUnit) -> bool:
    unit.told_apart = tell_apart(unit.function)
    loops = prepare_alone(unit.function, unit.spec.isa)
    remark_alone(unit.remarks, loops)
    return loops.made > 0 or unit.told_apart


def _cut_rows(unit: KernelUnit) -> bool:
    unit.rows, guards = _rows_of(unit, unit.function)
    if runs_in_lanes(unit):
        remark_rows(unit.remarks, unit.function.name, "xyz"[unit.rows.dimension], unit.rows.merge, guards)
    if unit.alone:
        alone = unit.module.functions[unit.alone]
        unit.alone_rows, _ = _rows_of(unit, alone)
        if not unit.has_own_stacks:
            unit.told_apart |= tell_apart(alone)
            remark_alone(unit.remarks, prepare_alone(alone, unit.spec.isa))
            unit.alone_counts = is_for_llvm(alone)
    if unit.plan is not None and unit.plan.width == 1:
        unit.program = run_rows_of_threads(unit)
    unit.forget()
    # What has changed shows in the program of lane groups, which are cut that way.
    return False


def _rows_of(unit: KernelUnit, function: Function) -> tuple[Rows, GuardSplit | None]:
    """Merge groups of the kernel, or of its copy, to rows, and take their bounds out of it; what guards became."""
    dimension, walk = unit.order.dimension, unit.walk
    merge = walk.merge if walk else merge_groups(function, dimension)
    across = None
    if unit.bands is not None:
        also = merge_groups(function, unit.bands.across)
        assert also is not None
        across = (unit.bands.across, also)
    guards = split_guards(unit.module, function, dimension) if walk is None or walk.is_bounded else None
    bounds, steps = (f.name if f else None for f in (guards and guards.bounds, walk and walk.steps))
    anywhere = (
        guards is not None
        and not (guards.from_the_first or unit.spec.isa.mask_registers or walk or unit.bands)
        and unit.premises.warp is None
        and may_begin_anywhere(function, WorkItems.of(function).tid[dimension])
    )
    return Rows(dimension, merge, bounds, steps, across, anywhere), guards


def _find_box_width(unit: KernelUnit) -> bool:
    assert unit.plan is not None
    merged = unit.rows is not None and unit.rows.merge is not None
    unit.box_width = width_below_which_boxes_serve(
        lambda: unit.facts, unit.plan, unit.premises, unit.options, merged, unit.spec.isa
    )
    unit.box = _box_of_shared_rows(unit) if merged and unit.bands is None else None
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


LANE_ORDER: Pass[KernelUnit] = Pass(
    "lane order", "it is planned of which threads lane groups are", _order_lanes
)
KERNEL_GUESSES: Pass[KernelUnit] = Pass(
    GUESSED_RANGES.name,
    GUESSED_RANGES.promise,
    _guess_ranges,
    optional=True,
    applies=_has_numbers_to_narrow,
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
    THREADS_ALONE,
    "loops of threads by themselves ask no counter or index that they look up for its sign, but in other versions; LLVM"
    " knows that arrays are apart where launches see to that",
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
BOX_WIDTH: Pass[KernelUnit] = Pass(
    "boxes", "it is known for which work-groups boxes of threads are better", _find_box_width
)

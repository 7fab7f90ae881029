"""The one list of passes: from the P-LLVM of a kernel to object code.

=====================  =========================================================================  =======
stage                  promise                                                                    meaning
=====================  =========================================================================  =======
front end              the source's program, variables on the stack                               FR
canonical              LLVM's named scalar passes: SSA, simple loops, nothing duplicated          FR
components             no short vectors, structs or arrays as values                              FR
work items             ids, sizes and shared memory are parameters                                FR
known numbers          no number of known sign is asked for it                                    FR
narrow φs              no φ is wider than its uses                                                FR
barriers               each barrier orders something (only kernels that have some)                FR
narrowing              numbers that differ between threads have 32 bits where they fit            FR
lane groups            groups merged into rows, guards as their bounds; whole and partial ones    FR
divergent loops        threads that enter a loop together leave it together                       FR, OBL
boscc                  uniform branches around what divergent branches guard, where they pay      FR, OBL
linearization          no divergent branch, masks as block predicates                             FR, OBL
widening               lanes are vector elements; of kernels with barriers each continuation      scalar
group loops            the entry point the runtime launches, barriers are rounds of its loops     scalar
final                  LLVM's pipeline without its vectorizers                                    scalar
=====================  =========================================================================  =======

With ``WEFT_CHECK=1`` each stage is verified, and the program before and after it is kept for
`weft.check`, which runs both on the interpreter.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace

from weft.analysis.divergence import Divergence
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.arena import ArenaNeeds
from weft.codegen.barrier_checks import check_barriers, remark_kept_values
from weft.codegen.box_kernel import BoxKernel
from weft.codegen.boxes import (
    Block,
    box_of,
    box_shapes,
    choose_box,
    covers,
    is_whole,
    prefers_boxes,
    warp_box,
)
from weft.codegen.continuations import GroupContinuations, thread_by_thread
from weft.codegen.dimension import analyze_along, choose_dimension
from weft.codegen.functions import FunctionVectorizer
from weft.codegen.groups import GroupProgram, build_group_entry
from weft.codegen.lane_groups import LaneKernel
from weft.codegen.remarks import remark_rows, remark_vectorization
from weft.codegen.rows import RowKernel
from weft.codegen.run_unit import RunUnit
from weft.codegen.stack import lanes_with_room, require_room
from weft.codegen.vectorize import (
    VectorizationSummary,
    guard_by_bits,
    guard_by_lane,
    vectorize_function,
    why_not_vectorized,
)
from weft.codegen.vectorize_barriers import vectorize_at_barriers
from weft.codegen.warp_continuations import WarpContinuations
from weft.codegen.warps import require_warps
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.width import WidthChoice, choose_width, choose_width_of_rounds, one_register
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import Function, Module, Value
from weft.ir.clone import clone_function
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.layout import parse_datalayout
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.targets import Isa
from weft.options import CompileOptions, Timings, checking
from weft.runtime.shape import MAX_BLOCK
from weft.stages import Form, Rows, Stage, StageLog, Version
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import CANONICAL, FINAL, optimize
from weft.target.vector_math import MathSymbol, math_finder
from weft.transform.barriers import barriers_of, cut_behind, split_at_barriers
from weft.transform.boscc import Boscc
from weft.transform.boscc_costs import BosccMode
from weft.transform.components import take_module_apart
from weft.transform.group_atomics import make_group_atomics_plain
from weft.transform.guard_splitting import split_guards
from weft.transform.known_block import know_block
from weft.transform.known_numbers import replace_known_numbers
from weft.transform.lane_range import guard_by_lane_range
from weft.transform.linear_ids import number_linearly
from weft.transform.lock_step import run_in_lock_step
from weft.transform.merge_groups import find_merge, merge_groups
from weft.transform.narrow_phis import narrow_phis
from weft.transform.narrowing import narrow_varying
from weft.transform.single_lane import run_single_lane
from weft.transform.work_items import lower_work_items


@dataclass(slots=True)
class LoweredKernel:
    """A kernel as LLVM text, ready for the final pipeline.

    Parameters
    ----------
    text
        The module.
    entry
        The function that the runtime launches.
    arena
        Scratch memory that it needs.
    barrier_lines
        The source line of each barrier, numbered from 1; for `BarrierDivergence`.
    math
        Vector math functions the code calls, by symbol.
    remarks
        What was decided on the way.
    stages
        The program after each stage, kept only under ``WEFT_CHECK``.
    run_unit
        How groups are handed out.
    barrier_width
        Threads of a lane group of a kernel with barriers that has versions for smaller work-groups; 0 for others.
    row_multiple
        It is for work-groups whose rows have a multiple of so many threads.
    box_width
        For work-groups of several rows with fewer threads than this there are versions that run boxes of threads.
    warp
        Threads of a warp if the kernel uses warp operations, else 1; boxes have as many, and are warps.
    summary
        What vectorization did; None where it was not.
    """

    text: str
    entry: str
    arena: ArenaNeeds
    barrier_lines: tuple[int, ...]
    timings: Timings
    math: dict[str, MathSymbol] = field(default_factory=dict)
    remarks: RemarkLog = field(default_factory=RemarkLog)
    stages: list[Stage] = field(default_factory=list)
    run_unit: RunUnit = field(default_factory=RunUnit)
    barrier_width: int = 0
    row_multiple: int = 1
    box_width: int = 0
    warp: int = 1
    summary: VectorizationSummary | None = None


def lower_kernel(
    module: Module,
    kernel_name: str,
    options: CompileOptions,
    spec: TargetSpec,
    timings: Timings | None = None,
) -> LoweredKernel:
    """Run all stages before the final one; `module` is used up.

    Raises
    ------
    UnsupportedError
        The kernel is outside what weft compiles; the message says where.
    CompileError, VerifyError
        A stage produced an invalid program, which is an error in weft.
    """
    timings = timings or Timings()
    stages = StageLog(checking())
    stages.add("front end", module, Version(kernel_name, Form.GRID))
    with timings.measure("passes"):
        text = write_module(module, plain=True)
    with timings.measure("llvm"):
        text = optimize(text, CANONICAL, spec.machine)
    with timings.measure("passes"):
        module = read_module(text)
        stages.add("canonical", module, Version(kernel_name, Form.GRID))
        if take_module_apart(module):
            stages.add("components", module, Version(kernel_name, Form.GRID))
        most_lanes = lanes_with_room(require_room(module))
        kernel = module.functions[kernel_name]
        lower_work_items(module, kernel)
        stages.linear = asks_for_lanes(module)
        warp = options.warp if stages.linear else None
        block, box = options.block, None
        if stages.linear:
            box = warp_box(block, warp) if block is not None and warp is not None else None
            block = block if box is not None else None
        if block is not None:
            know_block(kernel, block)
        stages.add("work items", module, Version(kernel_name, Form.THREADS), warp or 0)
        if sum(map(replace_known_numbers, module.definitions())):
            stages.add("known numbers", module, Version(kernel_name, Form.THREADS), warp or 0)
        if sum(map(narrow_phis, module.definitions())):
            stages.add("narrow φs", module, Version(kernel_name, Form.THREADS), warp or 0)
        math: dict[str, MathSymbol] = {}
        remarks = RemarkLog()
        program: GroupProgram = None
        summary: VectorizationSummary | None = None
        together = False
        found: Divergence | None = None
        if barriers_of(kernel):
            together = check_barriers(kernel, remarks)
            stages.add("barriers", module, Version(kernel_name, Form.THREADS), warp or 0)
            fits = options.lock_step and (options.width or 0) <= most_lanes
            if together and fits and why_not_vectorized(kernel) is None:
                run_in_lock_step(module, kernel)
                stages.linear = True
        if warp is not None:
            require_warps(module, kernel, warp, options.width, most_lanes, remarks)
            choice = WidthChoice(warp, "as many as a warp")
            if box is not None:
                stages.box, stages.linear = box.extents, False
        elif not _can_widen(kernel, options.width, most_lanes, remarks):
            choice = WidthChoice(1, "")
        elif block is not None:
            choice = _plan_box(module, kernel, block, options.width, spec.isa, most_lanes, together, stages)
        else:
            if barriers_of(kernel):
                choice, found = _plan_rounds(module, kernel, options.width, spec.isa, stages)
            else:
                choice = _plan_lanes(module, kernel, options.width, spec.isa, remarks, stages)
            if choice.width > most_lanes:
                choice = WidthChoice(most_lanes, "whose local arrays there is room for")
        width = choice.width
        find = math_finder(math, spec)
        lanes = LaneSpace(stages.box or (width,))
        called = FunctionVectorizer(module, lanes, find, spec.isa, _boscc(options, spec.isa))
        box_width = 0
        if width > 1 and options.width is None and options.block is None:
            box_width = warp or _box_width(kernel, width, stages, spec.isa)
        if width > 1:
            if barriers_of(kernel):
                program, summary = _split(module, kernel, width, options, called, stages, found)
            else:
                program, summary = _widen(module, kernel, width, options, called, stages)
            remark_vectorization(remarks, kernel_name, choice.reason, summary)
            if isinstance(program, GroupContinuations):
                remark_kept_values(program.split, remarks)
            for name, of_function in called.summaries.items():
                remark_vectorization(remarks, name, "called once for all of them", of_function)
        elif barriers_of(kernel):
            program = thread_by_thread(split_at_barriers(module, kernel))
        layout = parse_datalayout(module.datalayout)
        for function in module.definitions():
            run_single_lane(function)
            make_group_atomics_plain(function, layout)
        entry, arena = build_group_entry(module, kernel, program, block)
        _restrict_to(module, entry)
        stages.add("group loops", module, Version(entry.name, Form.ENTRY))
        text = write_module(module, plain=True)
    lines = program.lines if isinstance(program, (GroupContinuations, WarpContinuations)) else ()
    unit = program.run_unit if isinstance(program, RowKernel) else RunUnit()
    barrier_width = program.width if isinstance(program, GroupContinuations) and warp is None else 0
    row_multiple = program.row_multiple if isinstance(program, GroupContinuations) else 1
    return LoweredKernel(
        text, entry.name, arena, lines, timings, math, remarks, stages.stages, unit,
        barrier_width, row_multiple, box_width, warp or 1, summary,
    )  # fmt: skip


def _box_width(kernel: Function, width: int, stages: StageLog, isa: Isa) -> int:
    """Up to rows of how many threads boxes of threads may be better as lane groups; 0 where work-groups are merged."""
    if stages.rows is not None and stages.rows.merge is not None:
        return 0
    return MAX_BLOCK[0] + 1 if prefers_boxes(kernel, isa) else width


def _split(
    module: Module,
    kernel: Function,
    width: int,
    options: CompileOptions,
    called: FunctionVectorizer,
    stages: StageLog,
    found: Divergence | None,
) -> tuple[GroupContinuations | WarpContinuations, VectorizationSummary]:
    """Replace a kernel with barriers by its continuations; `found` is its divergence at some width, if known."""
    lanes = called.lanes
    if found is not None and found.engine.threads.domain.extents != lanes.extents:
        found = None
    domain = domain_named("product", lanes.extents)
    any_rows = stages.linear and not options.whole_rows
    by_number = clone_function(kernel, f"{kernel.name}.by_number") if any_rows else None

    def shapes(function: Function) -> dict[Value, Shape]:
        if stages.box is not None:
            return box_shapes(function, lanes, options.block)
        return {a: domain.strided(1, 64, width) for a in function.args if a.name == "tid.x"}

    def observe(stage: str, module: Module) -> None:
        # Lane groups of consecutive numbers are along rows in some work-groups only.
        if not stages.linear:
            stages.add(stage, module, Version(kernel.name, Form.THREADS, oblivious=True), width)

    whole = options.whole_rows
    if stages.box is not None and options.block is not None:
        whole = is_whole(lanes, options.block)
    program, summary = vectorize_at_barriers(
        module, kernel, shapes(kernel), called, observe, whole_rows=whole, before=found
    )
    if by_number is None:
        return (replace(program, row_multiple=width) if stages.linear else program), summary
    number_linearly(by_number)
    other, _ = vectorize_at_barriers(module, by_number, shapes(by_number), called, linear=True)
    return WarpContinuations(program, other), summary


def _widen(
    module: Module,
    kernel: Function,
    width: int,
    options: CompileOptions,
    called: FunctionVectorizer,
    stages: StageLog,
) -> tuple[LaneKernel | RowKernel | BoxKernel, VectorizationSummary]:
    """Replace `kernel` by its versions for whole and, where there may be such, for partial lane groups."""
    lanes = called.lanes
    domain = domain_named("product", lanes.extents)
    position = f"tid.{'xyz'[stages.rows.dimension if stages.rows else 0]}"
    functions = {f"{kernel.name}.w{width}": kernel}
    if not (stages.box and options.block and is_whole(lanes, options.block)):
        partial = clone_function(kernel, f"{kernel.name}.partial")
        functions[f"{kernel.name}.w{width}.partial"] = partial
        if stages.linear:
            number_linearly(partial)
            guard_by_lane(module, partial)
        elif stages.box is not None:
            guard_by_bits(module, partial, width)
        else:
            guard_by_lane_range(module, partial)
    versions = [Version(function.name, Form.THREADS) for function in functions.values()]
    stages.add_lanes("lane groups", module, versions, 0, width)
    vectors: list[Function] = []
    summaries: list[VectorizationSummary] = []
    for i, (name, function) in enumerate(functions.items()):
        shapes: dict[Value, Shape] = {
            a: domain.strided(1, 64, width) for a in function.args if a.name == position
        }
        if stages.box is not None:
            shapes = box_shapes(function, lanes, options.block)
        observe = functools.partial(_lanes_arrive, stages, versions, i, width)
        vector, summary = vectorize_function(
            module, function, lanes, name, shapes, called.find_math, observe, called.boscc,
            called.version, called.isa,
        )  # fmt: skip
        called.finish()
        vectors.append(vector)
        summaries.append(summary)
        versions[i] = Version(name, Form.LANES)
        stages.add_lanes("widening", module, versions, i, width)
    if stages.box is not None:
        return BoxKernel(lanes, *vectors, summary=summaries[0]), summaries[0]
    if stages.rows is None:
        return LaneKernel(width, vectors[0], vectors[1], summaries[0]), summaries[0]
    rows = stages.rows
    bounds = module.functions[rows.bounds] if rows.bounds else None
    kernel_of_rows = RowKernel(
        width, vectors[0], vectors[1], summaries[0], rows.dimension, rows.merge, bounds
    )
    return kernel_of_rows, summaries[0]


def _plan_lanes(
    module: Module, kernel: Function, wanted: int | None, isa: Isa, remarks: RemarkLog, stages: StageLog
) -> WidthChoice:
    """Choose along which dimension and how wide lane groups are, and cut the kernel's rows."""
    base = one_register(isa)
    choice = WidthChoice(base, "a register of 32-bit values")
    if not stages.linear:
        along = functools.cache(functools.partial(analyze_along, kernel, width=base))
        dimension = choose_dimension(kernel, along, base, isa)
        if narrow_varying(kernel, along(dimension)):
            stages.add("narrowing", module, Version(kernel.name, Form.THREADS))
            along.cache_clear()
        # Rows that end with the work-group are not long.
        if wanted is None and find_merge(kernel, "xyz"[dimension]) is not None:
            choice = choose_width(along(dimension), isa)
        stages.rows = _cut_rows(module, kernel, dimension, remarks)
    return choice if wanted is None else WidthChoice(wanted, "as asked for")


def _plan_rounds(
    module: Module, kernel: Function, wanted: int | None, isa: Isa, stages: StageLog
) -> tuple[WidthChoice, Divergence]:
    """Choose how wide lane groups of a kernel with barriers are; with its divergence, at a width as good as any."""
    cut_behind(barriers_of(kernel))
    found = analyze_along(kernel, 0, wanted or one_register(isa))
    if narrow_varying(kernel, found):
        stages.add("narrowing", module, Version(kernel.name, Form.THREADS))
        found = analyze_along(kernel, 0, wanted or one_register(isa))
    if wanted is not None:
        return WidthChoice(wanted, "as asked for"), found
    if any(a.is_used for a in kernel.args if a.name in ("tid.y", "tid.z")):
        # Their rows are short, and boxes of threads an answer.
        return WidthChoice(one_register(isa), "a register of 32-bit values"), found
    return choose_width_of_rounds(found, isa), found


def _plan_box(
    module: Module,
    kernel: Function,
    block: Block,
    wanted: int | None,
    isa: Isa,
    most_lanes: int,
    together: bool,
    stages: StageLog,
) -> WidthChoice:
    """Choose which threads of a work-group form a lane group; if they all do, no barrier is left."""
    if wanted is None:
        lanes = choose_box(kernel, block, isa, most_lanes, together)
    else:
        lanes = box_of(block, min(wanted, most_lanes))
    stages.box = lanes.extents
    if together and lanes.width > 1 and covers(lanes, block):
        run_in_lock_step(module, kernel)
    sides = " by ".join(map(str, lanes.extents))
    return WidthChoice(lanes.width, f"{sides} of a work-group of {' by '.join(map(str, block))}")


def _cut_rows(module: Module, kernel: Function, dimension: int, remarks: RemarkLog) -> Rows:
    """Let `kernel` run on rows of threads as long as can be, of which guards that it has leave a part."""
    merge = merge_groups(kernel, "xyz"[dimension])
    guards = split_guards(module, kernel, "xyz"[dimension])
    remark_rows(remarks, kernel.name, "xyz"[dimension], merge, guards)
    return Rows(dimension, merge, guards.bounds.name if guards else None)


def _lanes_arrive(
    stages: StageLog, versions: list[Version], index: int, width: int, stage: str, module: Module
) -> None:
    """Note a stage of one of the two versions of a kernel; from the divergent loops on, OBL holds too."""
    versions[index] = Version(versions[index].function, Form.THREADS, oblivious=True)
    stages.add_lanes(stage, module, versions, index, width)


def _boscc(options: CompileOptions, isa: Isa) -> Boscc:
    return Boscc(BosccMode(options.boscc), isa)


def _can_widen(kernel: Function, wanted: int | None, most_lanes: int, remarks: RemarkLog) -> bool:
    """Whether the threads of a kernel run together, as far as user and kernel allow."""
    if wanted == 1 or most_lanes == 1:
        return False
    obstacle = why_not_vectorized(kernel)
    if obstacle is not None:
        message = f"{kernel.name} runs thread after thread because {obstacle}"
        remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name="widening")
    return obstacle is None


def _restrict_to(module: Module, entry: Function) -> None:
    """Let the entry be the module's only exported definition."""
    for function in module.definitions():
        if function is not entry:
            function.linkage.linkage = "internal"


def emit_kernel(lowered: LoweredKernel, spec: TargetSpec) -> bytes:
    """The kernel's object code."""
    with lowered.timings.measure("llvm"):
        return emit_object(lowered.text, spec, FINAL)


def kernel_llvm(lowered: LoweredKernel, spec: TargetSpec) -> str:
    """The kernel as optimized LLVM IR."""
    return optimize(lowered.text, FINAL, spec.machine)


def kernel_assembly(lowered: LoweredKernel, spec: TargetSpec) -> str:
    """The kernel as assembly."""
    return emit_assembly(lowered.text, spec, FINAL)

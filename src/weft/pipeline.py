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

from dataclasses import dataclass, field

from weft.codegen.arena import ArenaNeeds
from weft.codegen.barrier_checks import check_barriers, remark_kept_values
from weft.codegen.continuations import GroupContinuations, thread_by_thread
from weft.codegen.functions import FunctionVectorizer
from weft.codegen.groups import GroupProgram, build_group_entry
from weft.codegen.remarks import remark_vectorization
from weft.codegen.rows import RowKernel
from weft.codegen.run_unit import RunUnit
from weft.codegen.stack import lanes_with_room, require_room
from weft.codegen.vectorize import (
    VectorizationSummary,
    why_not_vectorized,
)
from weft.codegen.warp_continuations import WarpContinuations
from weft.codegen.widen.lanes import LaneSpace
from weft.diag.remarks import RemarkLog
from weft.ir import Function, Module
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.layout import parse_datalayout
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.lane_plan import LanePlanner, LaunchTerms
from weft.lane_programs import widen_lanes, widen_rounds
from weft.options import CompileOptions, Timings, checking
from weft.stages import Form, Stage, StageLog, Version
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import CANONICAL, FINAL, optimize
from weft.target.vector_math import MathSymbol, math_finder
from weft.transform.barriers import barriers_of, split_at_barriers
from weft.transform.boscc import Boscc
from weft.transform.boscc_costs import BosccMode
from weft.transform.components import take_module_apart
from weft.transform.group_atomics import make_group_atomics_plain
from weft.transform.known_block import know_block
from weft.transform.known_numbers import replace_known_numbers
from weft.transform.lock_step import run_in_lock_step
from weft.transform.narrow_phis import narrow_phis
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
        terms = LaunchTerms.of(options, stages.linear)
        warp = terms.warp
        if terms.block is not None:
            know_block(kernel, terms.block)
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
        if barriers_of(kernel):
            together = check_barriers(kernel, remarks)
            stages.add("barriers", module, Version(kernel_name, Form.THREADS), warp or 0)
            fits = options.lock_step and (options.width or 0) <= most_lanes
            if together and fits and why_not_vectorized(kernel) is None:
                run_in_lock_step(module, kernel)
                stages.linear = True
        planner = LanePlanner(module, kernel, options, terms, spec.isa, most_lanes, together, remarks, stages)
        plan = planner.plan()
        width = plan.choice.width
        find = math_finder(math, spec)
        lanes = LaneSpace(stages.box or (width,))
        called = FunctionVectorizer(module, lanes, find, spec.isa, Boscc(BosccMode(options.boscc), spec.isa))
        if width > 1:
            if barriers_of(kernel):
                program, summary = widen_rounds(module, kernel, width, options, called, stages, plan.found)
            else:
                program, summary = widen_lanes(module, kernel, width, options, called, stages)
            remark_vectorization(remarks, kernel_name, plan.choice.reason, summary)
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
        entry, arena = build_group_entry(module, kernel, program, terms.block)
        _restrict_to(module, entry)
        stages.add("group loops", module, Version(entry.name, Form.ENTRY))
        text = write_module(module, plain=True)
    lines = program.lines if isinstance(program, (GroupContinuations, WarpContinuations)) else ()
    unit = program.run_unit if isinstance(program, RowKernel) else RunUnit()
    barrier_width = program.width if isinstance(program, GroupContinuations) and warp is None else 0
    row_multiple = program.row_multiple if isinstance(program, GroupContinuations) else 1
    return LoweredKernel(
        text, entry.name, arena, lines, timings, math, remarks, stages.stages, unit,
        barrier_width, row_multiple, plan.box_width, warp or 1, summary,
    )  # fmt: skip


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

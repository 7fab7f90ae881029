"""From the P-LLVM of a kernel to LLVM text, and on to code.

That is done in two parts. Behind the first it is known which lengths of short rows matter
(`weft.passes.nests.short_rows`): launches that have such rows run code that knows them, and the second part is left out
where no others come.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field, structs

from weft.codegen.arena import ArenaNeeds
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.order.run_unit import RunUnit
from weft.diag.remarks import RemarkLog
from weft.ir import Function, Module
from weft.ir.intrinsics import ARRAY_BEGINS_ATTRIBUTE, ARRAYS_APART_ATTRIBUTE, WRITABLE_ATTRIBUTE
from weft.options import CompileOptions, Timings, checking
from weft.passes.kernel_unit import KernelUnit
from weft.passes.kernels import KERNELS
from weft.passes.machine_text import machine_text
from weft.passes.nests.short_rows import SHORT_ROWS
from weft.passes.runner import Runner
from weft.passes.stages import Form, Runnable, Stage, StageLog, log_of
from weft.runtime.launch_terms import LaunchTerms
from weft.target.machine import TargetSpec, emit_assembly, emit_object, optimized
from weft.target.offered_math import offer_vector_math
from weft.target.passes import FINAL, WHOLE, WHOLE_IN_ORDER, Pipeline
from weft.target.rewrites.flushing_mode import (
    enter_flushing_mode,
    leave_flushing_to_processor,
    text_in_flushing_mode,
)
from weft.target.vector_math import MathSymbol, math_finder, of_libraries
from weft.transform.loops.searches_together import has_narrow_searches


class LoweredKernel(Struct):
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
    timings
        Seconds in front end, weft's passes and LLVM; what comes later adds to them.
    math
        Vector math functions the code calls, by symbol.
    remarks
        What was decided on the way.
    stages
        The program after each stage, kept only under ``WEFT_CHECK``.
    run_unit
        How groups are handed out.
    terms
        For which launches it is.
    summary
        What vectorization did; None where it was not.
    called
        What it did to functions that the kernel calls.
    scalar
        The functions of a kernel that is not vectorized.
    dimension
        The dimension that lanes run along; None for consecutive numbers in the work-group.
    captured
        The arrays whose memory the code has the addresses of.
    pipeline
        What of LLVM follows: with its vectorizers where threads run one after the other, which may run loops in SIMD.
    row_numbers
        The parameters that short rows may have their lengths from, and up to which ones.
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
    terms: LaunchTerms = field(default_factory=LaunchTerms)
    summary: VectorizationSummary | None = None
    called: list[VectorizationSummary] = field(default_factory=list)
    scalar: list[Function] = field(default_factory=list)
    dimension: int | None = 0
    captured: tuple[Any, ...] = ()
    pipeline: Pipeline = FINAL
    row_numbers: tuple[tuple[int, int], ...] = ()

    @property
    def library_math(self) -> dict[str, MathSymbol]:
        """Functions of vector math libraries that the code calls, by symbol."""
        return of_libraries(self.math)

    @property
    def summaries(self) -> list[VectorizationSummary]:
        """What vectorization did, to the kernel first."""
        return [] if self.summary is None else [self.summary, *self.called]


_ROWS, _CODE = KERNELS.split_behind(SHORT_ROWS)


class StartedKernel(Struct):
    """A kernel of which it is known which lengths of short rows matter.

    Parameters
    ----------
    unit, log
        The kernel, and its stages so far.
    captured
        The arrays whose memory the code has the addresses of.
    """

    unit: KernelUnit
    log: StageLog
    captured: tuple[Any, ...] = ()

    @property
    def row_numbers(self) -> tuple[tuple[int, int], ...]:
        """The parameters that short rows may have their lengths from, and up to which ones."""
        return self.unit.row_numbers

    def finish(self) -> LoweredKernel:
        """Run the other passes, once.

        Raises
        ------
        UnsupportedError, CompileError, VerifyError
            As `lower_kernel` does.
        """
        unit, log = self.unit, self.log
        with unit.timings.measure("passes"):
            unit.runner.run(_CODE, unit)
            if unit.flushing:
                leave_flushing_to_processor(unit.module)
                enter_flushing_mode(unit.module, unit.module.functions[unit.entry])
            alone = unit.summary is None and unit.order.obstacle is None
            pipeline = WHOLE if alone or unit.alone_counts else FINAL
            if pipeline is WHOLE and has_narrow_searches(unit.module, unit.spec.isa):
                pipeline = WHOLE_IN_ORDER
            find_math = math_finder(unit.math, unit.spec)
            offers = offer_vector_math(unit.module, find_math, unit.spec.isa) if pipeline.vectorize else ""
            text = machine_text(unit.module, unit.spec.isa)
            if unit.flushing:
                text = text_in_flushing_mode(text)
        program = unit.done
        return LoweredKernel(
            text + offers, unit.entry, unit.arena, program.lines, unit.timings, unit.math, unit.remarks, log.stages,
            structs.replace(program.run_unit, long=bool(unit.updated.arrays)), unit.terms, unit.summary, unit.called,
            [] if unit.summary is not None else list(unit.module.definitions()),
            None if unit.order.linear else unit.order.dimension, self.captured,
            pipeline, self.row_numbers,
        )  # fmt: skip


def start_kernel(
    module: Module,
    kernel_name: str,
    options: CompileOptions,
    spec: TargetSpec,
    timings: Timings | None = None,
    runner: Runner | None = None,
) -> StartedKernel:
    """Run the passes for kernels up to those that look for short rows; otherwise as `lower_kernel`."""
    timings = timings or Timings()
    kernel = module.functions[kernel_name]
    promises = {
        WRITABLE_ATTRIBUTE: True,
        ARRAYS_APART_ATTRIBUTE: options.arrays_apart,
        ARRAY_BEGINS_ATTRIBUTE: options.array_begins,
    }
    kernel.attributes = (*kernel.attributes, *(f'"{name}"' for name, holds in promises.items() if holds))
    runner = runner or Runner(left_out=frozenset(options.switches.without), strict=checking())
    unit = KernelUnit(module, kernel_name, options, spec, runner, timings=timings)
    unit.runnables = [Runnable(kernel_name, Form.GRID)]
    log = log_of(unit, runner)
    with timings.measure("passes"):
        runner.run(_ROWS, unit)
    return StartedKernel(unit, log)


def lower_kernel(
    module: Module,
    kernel_name: str,
    options: CompileOptions,
    spec: TargetSpec,
    timings: Timings | None = None,
    runner: Runner | None = None,
) -> LoweredKernel:
    """Run the passes for kernels, by `runner` if there is one; `module` is used up.

    Raises
    ------
    UnsupportedError
        The kernel is outside what weft compiles; the message says where.
    CompileError, VerifyError
        A pass produced an invalid program, which is an error in weft.
    """
    return start_kernel(module, kernel_name, options, spec, timings, runner).finish()


def emit_kernel(lowered: LoweredKernel, spec: TargetSpec) -> bytes:
    """The kernel's object code."""
    with lowered.timings.measure("llvm"):
        return emit_object(lowered.text, spec, lowered.pipeline)


def kernel_llvm(lowered: LoweredKernel, spec: TargetSpec) -> str:
    """The kernel as optimized LLVM IR."""
    return optimized(lowered.text, spec, lowered.pipeline)


def kernel_assembly(lowered: LoweredKernel, spec: TargetSpec) -> str:
    """The kernel as assembly."""
    return emit_assembly(lowered.text, spec, lowered.pipeline)

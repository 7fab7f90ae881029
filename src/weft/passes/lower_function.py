"""From the P-LLVM of a Python function with parallel loops to LLVM text.

In two parts, as kernels are compiled (`weft.passes.lower_kernel`).
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.sequential.scope import ArrayParameters
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.parallel.brush_choice import Weighed
from weft.codegen.slots import SlotInterface
from weft.diag.remarks import RemarkLog
from weft.ir import Function, Module
from weft.ir.heap import uses_heap
from weft.ir.intrinsics import WRITABLE_ATTRIBUTE
from weft.jit_options import JitOptions
from weft.options import Timings, checking
from weft.passes.jit_unit import JitUnit
from weft.passes.loops import LOOPS
from weft.passes.machine_text import machine_text
from weft.passes.nests.short_rows import SHORT_ROWS
from weft.passes.runner import Runner
from weft.passes.stages import Stage, StageLog, log_of
from weft.target.machine import TargetSpec
from weft.target.offered_math import offer_vector_math
from weft.target.passes import WHOLE, Pipeline
from weft.target.vector_math import MathSymbol, math_finder, of_libraries
from weft.transform.boscc.insertion import Boscc, BosccMode


class LoweredFunction(Struct):
    """A function as LLVM text, ready for the final pipeline.

    Parameters
    ----------
    text, entry
        The module, and the function that the runtime calls.
    parallel
        Whether it has jobs for the thread pool.
    heap
        Whether it allocates.
    interface
        What the last parameters of the function are, which is not the entry.
    timings
        Seconds in front end, weft's passes and LLVM; what comes later adds to them.
    math
        Vector math functions the code calls, by symbol.
    remarks
        What was decided on the way.
    weighed
        The brushes that were weighed for the first nest, the best first.
    stages
        The program after each stage, kept only under ``WEFT_CHECK``.
    summaries
        What vectorization did to the bodies of loops, and to functions that they call.
    scalar
        The functions that are not vectorized.
    pipeline
        What LLVM is to do with the module.
    row_numbers
        The parameters that short rows may have their lengths from, and up to which ones.
    """

    text: str
    entry: str
    parallel: bool
    heap: bool
    timings: Timings
    interface: SlotInterface
    math: dict[str, MathSymbol] = field(default_factory=dict)
    remarks: RemarkLog = field(default_factory=RemarkLog)
    weighed: list[Weighed] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    summaries: list[VectorizationSummary] = field(default_factory=list)
    scalar: list[Function] = field(default_factory=list)
    pipeline: Pipeline = WHOLE
    row_numbers: tuple[tuple[int, int], ...] = ()

    @property
    def library_math(self) -> dict[str, MathSymbol]:
        """Functions of vector math libraries that the code calls, by symbol."""
        return of_libraries(self.math)


_ROWS, _CODE = LOOPS.split_behind(SHORT_ROWS)


class StartedFunction(Struct):
    """A function of which it is known which lengths of short rows matter.

    Parameters
    ----------
    unit, log
        The function, and its stages so far.
    """

    unit: JitUnit
    log: StageLog

    @property
    def row_numbers(self) -> tuple[tuple[int, int], ...]:
        """The parameters that short rows may have their lengths from, and up to which ones."""
        return self.unit.row_numbers

    def finish(self) -> LoweredFunction:
        """Run the other passes, once.

        Raises
        ------
        UnsupportedError, CompileError, VerifyError
            As `lower_function` does.
        """
        unit = self.unit
        with unit.timings.measure("passes"):
            unit.runner.run(_CODE, unit)
            find_math = None if unit.exact_math else math_finder(unit.math, unit.spec)
            offers = offer_vector_math(unit.module, find_math, unit.isa) if find_math is not None else ""
            text = machine_text(unit.module, unit.isa) + offers
        summaries = [found.mined.summary for found in unit.loops if found.mined.width > 1]
        summaries += unit.called.values()
        made = {f.name for summary in summaries for f in summary.functions}
        scalar = [f for f in unit.module.definitions() if f.name not in made]
        return LoweredFunction(
            text, unit.name, unit.all_cores and unit.has_jobs, uses_heap(unit.module), unit.timings,
            unit.interface, unit.math, unit.remarks, unit.weighed, self.log.stages, summaries, scalar,
            unit.pipeline, unit.row_numbers,
        )  # fmt: skip


def start_function(
    module: Module,
    name: str,
    interface: SlotInterface,
    options: JitOptions,
    spec: TargetSpec,
    timings: Timings | None = None,
    runner: Runner | None = None,
    arrays: tuple[ArrayParameters, ...] = (),
) -> StartedFunction:
    """Run the passes for functions up to those that look for short rows; otherwise as `lower_function`."""
    timings = timings or Timings()
    runner = runner or Runner(left_out=frozenset(options.switches.without), strict=checking())
    function = module.functions[name]
    function.attributes = (*function.attributes, f'"{WRITABLE_ATTRIBUTE}"')
    boscc = Boscc(BosccMode(options.boscc), spec.isa)
    approximates = options.fastmath is True or (options.fastmath and "afn" in options.fastmath)
    unit = JitUnit(
        module, name, spec, spec.isa, options.width, boscc, runner, options.switches,
        timings=timings, interface=interface, if_legal=options.if_legal, auto=options.auto, all_cores=options.all_cores,
        exact_math=options.auto and not approximates, brush=options.brush, arrays=arrays, known=options.known,
    )  # fmt: skip
    log = log_of(unit, runner)
    with timings.measure("passes"):
        runner.run(_ROWS, unit)
    return StartedFunction(unit, log)


def lower_function(
    module: Module,
    name: str,
    interface: SlotInterface,
    options: JitOptions,
    spec: TargetSpec,
    timings: Timings | None = None,
    runner: Runner | None = None,
    arrays: tuple[ArrayParameters, ...] = (),
) -> LoweredFunction:
    """Run the passes for functions with parallel loops, by `runner` if there is one; `module` is used up.

    `interface` says what its last parameters are, `arrays` which others are arrays.

    Raises
    ------
    UnsupportedError
        A loop over `prange` cannot run in parallel, or the function asks where a thread is; the message says where.
    CompileError, VerifyError
        A pass produced an invalid program, which is an error in weft.
    """
    return start_function(module, name, interface, options, spec, timings, runner, arrays).finish()

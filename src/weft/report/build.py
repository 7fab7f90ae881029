"""Making a report: the analysis of each function under the user's assumptions, and what is read off it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.barrier_divergence import divergent_barriers, is_barrier
from weft.analysis.divergence import Divergence, Scope, Summaries, analyze_divergence, is_kernel
from weft.analysis.shapes import Domain, Shape, Signature, domain_named
from weft.analysis.shapes.lattice import Extents
from weft.diag.errors import WeftError
from weft.ir import BasicBlock, Function, Instruction, Module, Value
from weft.machine.host import chosen
from weft.machine.targets import Isa
from weft.report import facts
from weft.report.arguments import initial_shapes
from weft.report.compiled import CompiledCode
from weft.report.explanation import explain_branch
from weft.report.marks import excerpts
from weft.report.model import BarrierReport, FunctionReport, ReportSettings
from weft.report.ranking import Ranking
from weft.report.report import Report
from weft.report.source_map import SourceMap
from weft.report.warps import warp_findings
from weft.target.machine import TargetSpec


class ReportOptions(Struct, frozen=True):
    """Under which assumptions to analyse.

    Parameters
    ----------
    scope
        The thread set that values are compared in: a lane group, a work-group or the grid.
    width
        Lanes of a lane group; None: the lanes of 32 bits that a vector register has.
    lattice
        The name of the shape lattice.
    isa
        Whose costs count; None: the machine's at hand.
    dimension
        The dimension that lanes run along; None: lanes have consecutive numbers in the work-group.
    compiled
        Whether costs are those of the code that is compiled, where the other assumptions are those of the compiler.
    gpus
        Whether accesses of warps of a GPU are looked at, too.
    """

    scope: Scope = Scope.LANES
    width: int | None = None
    lattice: str = "product"
    isa: Isa | None = None
    dimension: int | None = 0
    compiled: bool = True
    gpus: bool = False

    @property
    def machine(self) -> Isa:
        return self.isa or chosen().isa

    @property
    def lanes(self) -> int:
        return self.width or self.machine.lanes(32)

    def with_warps(self, lanes: int) -> ReportOptions:
        """The same with lane groups of so many threads with consecutive numbers."""
        return replace(self, width=lanes, dimension=None)

    @property
    def spec(self) -> TargetSpec:
        """What code is made for."""
        return TargetSpec.chosen() if self.isa is None else TargetSpec.of_isa(self.isa)

    @property
    def own_question(self) -> str:
        """What is asked that the compiler does not ask, in words; empty for nothing."""
        if self.scope is not Scope.LANES:
            return "the threads of a work-group are compared"
        return "" if self.lattice == "product" else f"the lattice is {self.lattice!r}"

    def domain(self) -> Domain:
        """The lattice over the lane space of the scope."""
        extents: Extents = (self.lanes,) if self.scope is Scope.LANES else (None, None, None)
        return domain_named(self.lattice, extents)


class Program(Struct, frozen=True):
    """What to report on.

    Parameters
    ----------
    module
        The module.
    functions
        Those of its functions to report on, in order.
    source
        Names and places.
    shapes
        The argument shapes given for a function; those of functions not in it follow from what they are.
    element_bytes
        The size of what a pointer argument points to, where the source tells.
    compile
        Compiles it under the options; None where nothing of weft's compiles such a program as it is analysed.
    assumed
        What is said of the arguments, where that is more than their shapes.
    """

    module: Module
    functions: tuple[Function, ...]
    source: SourceMap
    shapes: dict[Function, Signature] = field(default_factory=dict)
    element_bytes: dict[Value, int] = field(default_factory=dict)
    compile: Callable[[ReportOptions], CompiledCode] | None = None
    assumed: str = ""


def build_report(program: Program, options: ReportOptions | None = None) -> Report:
    """Analyse the functions of a program and report what was found."""
    options = options or ReportOptions()
    summaries = Summaries()
    shapes = next(iter(program.shapes.values()), None)
    code, how = _code(program, options)
    if code is not None:
        options = replace(options, width=code.width, dimension=code.dimension)
    width = options.lanes if options.scope is Scope.LANES else None
    given = program.assumed or ("" if shapes is None else str(shapes))
    settings = ReportSettings(options.scope.value, width, given)
    reports = tuple(
        replace(_function(program, function, options, summaries, code), compiled=how)
        for function in program.functions
    )
    return Report(reports, settings, None if code is None else code.lines)


def _code(program: Program, options: ReportOptions) -> tuple[CompiledCode | None, str]:
    """What the program is compiled to, and how; or why costs are those of the program as it was written."""
    because = options.own_question
    if program.shapes and program.compile is not None and any(map(is_kernel, program.functions)):
        because = because or "shapes are given, and kernels are compiled for uniform arguments"
    if program.compile is None:
        because = because or "it is analysed for itself"
    if not because and options.compiled and program.compile is not None:
        try:
            code = program.compile(options)
        except WeftError as error:
            because = f"it cannot be compiled: {error.message}"
        else:
            return code, code.how
    return None, f"costs are those of the program as it was written: {because}" if because else ""


def _function(
    program: Program,
    function: Function,
    options: ReportOptions,
    summaries: Summaries,
    code: CompiledCode | None,
) -> FunctionReport:
    domain = options.domain()
    given = _initial(program, function, domain)
    divergence = analyze_divergence(
        function,
        domain=domain,
        initial=given,
        scope=options.scope,
        dimension=options.dimension,
        summaries=summaries,
    )
    source = program.source
    return FunctionReport(
        function.name,
        source.signature(function),
        excerpts(divergence, source, code),
        facts.values(divergence, source),
        facts.branches(divergence, source),
        facts.loops(divergence, source),
        facts.allocas(divergence, source),
        facts.accesses(divergence, source),
        Ranking(divergence, source, options.lanes, options.machine, code).findings(),
        _barriers(program, function, divergence, options),
        is_kernel(function),
        "" if function.fn_type.result.is_void else str(divergence.result),
        cycles=None if code is None else code.total,
        blocks=facts.blocks(divergence, source),
        on_gpus=warp_findings(function, given, source) if options.gpus and is_kernel(function) else (),
    )


def _initial(program: Program, function: Function, domain: Domain) -> dict[Value, Shape]:
    shapes = program.shapes.get(function)
    if shapes is None:
        return {}
    layout = program.module.layout
    return initial_shapes(function, shapes, domain, layout, program.element_bytes)


def _barriers(
    program: Program, function: Function, divergence: Divergence, options: ReportOptions
) -> tuple[BarrierReport, ...]:
    """Barriers are a matter of the work-group, whatever scope the report is about."""
    if not any(is_barrier(i) for i in function.instructions()):
        return ()
    if options.scope is not Scope.GROUP:
        domain = domain_named("product", (None, None, None))
        divergence = analyze_divergence(
            function, domain=domain, initial=_initial(program, function, domain), scope=Scope.GROUP
        )
    found: list[BarrierReport] = []
    for item in divergent_barriers(divergence):
        place = program.source.place(item.barrier)
        text = (
            "threads of a work-group wait at different barriers: some here, the others elsewhere"
            if item.certain
            else "not all threads of a work-group may reach this barrier together"
        )
        because = explain_branch(divergence, item.branch, program.source)
        line, file = (None, "") if place is None else (place.line, place.file)
        found.append(
            BarrierReport(
                line, item.certain, text, because, file, _leaves_loop(divergence, item.branch, item.barrier)
            )
        )
    return tuple(found)


def _leaves_loop(divergence: Divergence, branch: BasicBlock, barrier: Instruction) -> bool:
    """Whether the branch leaves a loop that the barrier is in."""
    numbers = divergence.engine.blocks
    assert barrier.block is not None
    inside, here = numbers[branch], numbers[barrier.block]
    return any(here in loop.blocks and inside in loop.exiting for loop in facts.loops_of(divergence))

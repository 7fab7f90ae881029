"""Making a report: the analysis of each function under the user's assumptions, and what is read off it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from weft.analysis.barrier_divergence import divergent_barriers, is_barrier
from weft.analysis.divergence import Divergence, Scope, Summaries, analyze_divergence, is_kernel
from weft.analysis.shapes import Domain, Shape, Signature, domain_named
from weft.analysis.shapes.lattice import Extents
from weft.ir import Function, Module, Value
from weft.machine.host import chosen
from weft.machine.targets import Isa
from weft.report import facts
from weft.report.arguments import initial_shapes
from weft.report.explanation import explain_branch
from weft.report.marks import excerpts
from weft.report.model import BarrierReport, FunctionReport, ReportSettings
from weft.report.ranking import Ranking
from weft.report.report import Report
from weft.report.source_map import SourceMap


@dataclass(frozen=True, slots=True)
class ReportOptions:
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
    """

    scope: Scope = Scope.LANES
    width: int | None = None
    lattice: str = "product"
    isa: Isa | None = None
    dimension: int | None = 0

    @property
    def machine(self) -> Isa:
        return self.isa or chosen().isa

    @property
    def lanes(self) -> int:
        return self.width or self.machine.lanes(32)

    def with_warps(self, lanes: int) -> ReportOptions:
        """The same with lane groups of so many threads with consecutive numbers."""
        return replace(self, width=lanes, dimension=None)

    def domain(self) -> Domain:
        """The lattice over the lane space of the scope."""
        extents: Extents = (self.lanes,) if self.scope is Scope.LANES else (None, None, None)
        return domain_named(self.lattice, extents)


@dataclass(frozen=True, slots=True)
class Program:
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
    """

    module: Module
    functions: tuple[Function, ...]
    source: SourceMap
    shapes: dict[Function, Signature] = field(default_factory=dict)
    element_bytes: dict[Value, int] = field(default_factory=dict)


def build_report(program: Program, options: ReportOptions | None = None) -> Report:
    """Analyse the functions of a program and report what was found."""
    options = options or ReportOptions()
    summaries = Summaries()
    shapes = next(iter(program.shapes.values()), None)
    width = options.lanes if options.scope is Scope.LANES else None
    settings = ReportSettings(options.scope.value, width, "" if shapes is None else str(shapes))
    reports = tuple(_function(program, function, options, summaries) for function in program.functions)
    return Report(reports, settings)


def _function(
    program: Program, function: Function, options: ReportOptions, summaries: Summaries
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
        excerpts(divergence, source),
        facts.values(divergence, source),
        facts.branches(divergence, source),
        facts.loops(divergence, source),
        facts.allocas(divergence, source),
        facts.accesses(divergence, source),
        Ranking(divergence, source, options.lanes, options.machine).findings(),
        _barriers(program, function, divergence, options),
        is_kernel(function),
        "" if function.fn_type.result.is_void else str(divergence.result),
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
        found.append(BarrierReport(None if place is None else place.line, item.certain, text, because))
    return tuple(found)

"""Reports on sequential loops: which may run as kernels, what they take and give, and what that rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TextIO

from msgspec import Struct

from weft.analysis.loops.reductions import reduction_of
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Program, Scope, line_of
from weft.analysis.sequential.sections import Parameters, Section, parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict, Reason, Verdict, loop_verdict
from weft.analysis.symbolic.integer_sets import isl
from weft.costs.strips import strips_of
from weft.ir import Function, Instruction, Module
from weft.ir.types import IntType
from weft.machine.host import chosen
from weft.report.loops.costs import AccessCost, CostReporter, LoopSettings, MappingReport
from weft.report.loops.counters import counter_name, in_program_names, line_of_loop, loops_around
from weft.report.loops.data import report_data
from weft.report.loops.html import page
from weft.report.loops.observed import ObservedLoop
from weft.report.loops.text import report_lines
from weft.report.styled import StyledLine
from weft.report.text import plain, write

Observe = Callable[[Accesses, LoopContext, LoopVerdict], ObservedLoop]
"""Says what a run did in a loop."""


@dataclass(frozen=True, slots=True)
class AccessReport:
    """One load or store of the source.

    Parameters
    ----------
    line, kind, array
        Where it is, ``load`` or ``store``, and of what.
    offset
        The byte that it begins at, in the names of the program.
    cost
        What it costs for each mapping; None in sequential loops.
    """

    line: int
    kind: str
    array: str
    offset: str
    cost: AccessCost | None = field(default=None, compare=False)


class SectionReport(Struct, frozen=True):
    """An array that a loop reads or writes, or a number that it uses.

    Parameters
    ----------
    name
        What the program calls it.
    section
        The first byte and that behind the last, as expressions in the program's names; each None where it is not known.
        None for numbers.
    """

    name: str
    section: tuple[str | None, str | None] | None


class StripReport(Struct, frozen=True):
    """One of the loops that a loop becomes in each of its strips.

    Parameters
    ----------
    lines
        What of the source it has.
    in_lanes
        Whether lanes run it; in order where not.
    """

    lines: tuple[int, ...]
    in_lanes: bool


class LoopReport(Struct, frozen=True):
    """What is found of a loop.

    Parameters
    ----------
    function, file, line, depth
        Where it is; loops of a function that are in no other have depth 1.
    verdict, reasons
        How its iterations may run, and why.
    iterations
        How often its body runs, as an expression; None where that is not known when it begins.
    inputs, outputs
        What it reads and writes.
    private
        Names of objects of which each iteration has its own.
    functions
        Names of the functions that it calls.
    is_complete
        Whether `inputs` and `outputs` are all that it touches.
    assumptions
        What all of this rests on.
    accesses
        Its loads and stores.
    mapping
        How it may map to a grid, and what that costs; None of sequential loops.
    observed
        What a run did in it; None if there was none.
    strips
        The loops that it is best run as, strip by strip, without fast mathematics; none where it stays one.
    found, parameters, loop, reconstruction
        The same, as the analysis has it.
    """

    function: str
    file: str
    line: int
    depth: int
    verdict: Verdict
    reasons: tuple[Reason, ...]
    iterations: str | None
    inputs: tuple[SectionReport, ...]
    outputs: tuple[SectionReport, ...]
    private: tuple[str, ...]
    functions: tuple[str, ...]
    is_complete: bool
    assumptions: tuple[Assumption, ...]
    accesses: tuple[AccessReport, ...]
    mapping: MappingReport | None
    observed: ObservedLoop | None
    strips: tuple[StripReport, ...]
    found: LoopVerdict
    parameters: Parameters
    loop: LoopContext
    reconstruction: Reconstruction


class FoundValue(Struct, frozen=True):
    """What is known of a parameter from numbers of iterations, or from the calls of a run.

    Parameters
    ----------
    function, name
        The parameter.
    values
        What it may be, least first; one value is put in its place.
    source
        Where that is from.
    """

    function: str
    name: str
    values: tuple[int, ...]
    source: str


class LoopNestReport(Struct, frozen=True):
    """The loops of a program, functions and loops in the order of the source.

    Parameters
    ----------
    loops
        The loops.
    instantiated
        Parameters with values that were found.
    """

    loops: tuple[LoopReport, ...]
    instantiated: tuple[FoundValue, ...] = ()

    def __str__(self) -> str:
        return plain(self.lines())

    def lines(self) -> Iterator[StyledLine]:
        """The report for people."""
        return report_lines(self)

    def write(self, stream: TextIO) -> None:
        """Print the report, in colours on a terminal."""
        write(self.lines(), stream)

    def to_data(self) -> dict[str, Any]:
        """The report as dictionaries, lists, strings, numbers and None."""
        return report_data(self)

    def to_html(self, title: str = "weft loops") -> str:
        """The report as a page that needs nothing else, with the source and pictures of what blocks touch."""
        return page(self, title)

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_data(), indent=1)


def report_on_loops(
    module: Module,
    functions: Iterable[Function],
    file: str,
    settings: LoopSettings | None = None,
    observe: Observe | None = None,
) -> LoopNestReport:
    """Analyse all loops of some functions.

    Parameters
    ----------
    module, functions
        The program.
    file
        What the report calls it.
    settings
        What it is for.
    observe
        What a run did in each loop.

    Raises
    ------
    UnsupportedError
        islpy is not installed.
    """
    isl()
    settings = settings or LoopSettings()
    found: list[LoopReport] = []
    for function in functions:
        program = Program(module, settings.of(function.name))
        scope = Scope(program, function)
        accesses = Accesses(Reconstruction(program))
        verdicts = {loop: loop_verdict(accesses, loop) for loop in scope.loops.values()}
        costs = CostReporter(accesses, verdicts, program.values, settings.gpu)
        reports = [_loop(accesses, loop, verdict, costs, file, observe) for loop, verdict in verdicts.items()]
        found += sorted(reports, key=lambda r: (r.line, r.depth))
    return LoopNestReport(tuple(found))


def _loop(
    accesses: Accesses,
    loop: LoopContext,
    verdict: LoopVerdict,
    costs: CostReporter,
    file: str,
    observe: Observe | None,
) -> LoopReport:
    parameters = parameters_of(accesses, loop, verdict.private)
    made = accesses.reconstruction
    inputs = [_section(made, s) for s in parameters.inputs]
    names = {counter_name(made, c) or c.iteration.name: c for c in loops_around(loop)}
    for name in parameters.scalars:
        shown = next((n for n, c in names.items() if c.iteration.name == name), name)
        inputs.append(SectionReport(shown, None))
    mapping = costs.mapping(loop, parameters)
    listed: dict[AccessReport, None] = {}
    for access in accesses.of(loop):
        if isinstance(access, Access):
            base = "?" if access.base is None else access.base.name
            offset = in_program_names(made, access.offset)
            cost = None if mapping is None else costs.access(mapping, access)
            listed.setdefault(AccessReport(access.line, access.kind.value, base, str(offset), cost))
    observed = None if observe is None else observe(accesses, loop, verdict)
    trips = None if verdict.trips is None else str(in_program_names(made, verdict.trips))
    return LoopReport(
        loop.scope.function.name, file, line_of_loop(loop), loop.depth, verdict.verdict, verdict.reasons, trips,
        tuple(dict.fromkeys(inputs)), tuple(_section(made, s) for s in parameters.outputs),
        parameters.private, parameters.functions, parameters.is_complete, verdict.assumptions,
        tuple(listed), mapping, observed, _strips(accesses, loop, verdict), verdict, parameters, loop, made,
    )  # fmt: skip


def _strips(accesses: Accesses, loop: LoopContext, verdict: LoopVerdict) -> tuple[StripReport, ...]:
    """The loops that a loop becomes which lanes cannot run as it is."""
    rounds = any(a.kind == "reassociation" for a in verdict.assumptions)
    if verdict.verdict is not Verdict.SEQUENTIAL and not rounds:
        return ()
    found = strips_of(accesses, loop, verdict, partial(_is_combined, loop), chosen().isa, vector_math=False)
    if found is None:
        return ()
    return tuple(
        StripReport(tuple(sorted({line_of(i) for i in part.nodes} - {0})), part.in_lanes)
        for part in found.parts
    )


def _is_combined(loop: LoopContext, phi: Instruction) -> bool:
    counted = loop.counted
    if isinstance(counted, str) or not isinstance(phi.type, IntType):
        return False
    return not isinstance(reduction_of(counted, phi), str)


def _section(made: Reconstruction, section: Section) -> SectionReport:
    ends = [None if e is None else str(in_program_names(made, e)) for e in (section.low, section.end)]
    return SectionReport(section.base.name, (ends[0], ends[1]))

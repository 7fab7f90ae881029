"""Reports on sequential loops: which may run as kernels, what they take and give, and what that rests on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import Assumption, LoopContext, Program, Scope, line_of
from weft.analysis.sequential.sections import Parameters, Section, parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict, Reason, Verdict, loop_verdict
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression, floor_division
from weft.ir import Function, Instruction, Module
from weft.report.styled import Style, StyledLine
from weft.report.text import plain, write

_STYLES = {Verdict.SEQUENTIAL: Style.ERROR, Verdict.PARALLEL: Style.UNIFORM}


@dataclass(frozen=True, slots=True)
class AccessReport:
    """One load or store of the source.

    Parameters
    ----------
    line, kind, array
        Where it is, ``load`` or ``store``, and of what.
    offset
        The byte that it begins at, in the names of the program.
    """

    line: int
    kind: str
    array: str
    offset: str


@dataclass(frozen=True, slots=True)
class SectionReport:
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


@dataclass(frozen=True, slots=True)
class LoopReport:
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
    found: LoopVerdict
    parameters: Parameters
    loop: LoopContext
    reconstruction: Reconstruction


@dataclass(frozen=True, slots=True)
class LoopNestReport:
    """The loops of a program, functions and loops in the order of the source."""

    loops: tuple[LoopReport, ...]

    def __str__(self) -> str:
        return plain(self.lines())

    def lines(self) -> Iterator[StyledLine]:
        """The report for people."""
        return report_lines(self.loops)

    def write(self, stream: TextIO) -> None:
        """Print the report, in colours on a terminal."""
        write(self.lines(), stream)

    def to_data(self) -> dict[str, Any]:
        """The report as dictionaries, lists, strings, numbers and None."""
        return {"loops": [_data(loop) for loop in self.loops]}

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_data(), indent=1)


def report_on_loops(module: Module, functions: Iterable[Function], file: str) -> LoopNestReport:
    """Analyse all loops of some functions.

    Raises
    ------
    UnsupportedError
        islpy is not installed.
    """
    found: list[LoopReport] = []
    for function in functions:
        program = Program(module)
        scope = Scope(program, function)
        accesses = Accesses(Reconstruction(program))
        found += sorted(
            (_loop(accesses, loop, file) for loop in scope.loops.values()), key=lambda r: (r.line, r.depth)
        )
    return LoopNestReport(tuple(found))


def _loop(accesses: Accesses, loop: LoopContext, file: str) -> LoopReport:
    verdict = loop_verdict(accesses, loop)
    parameters = parameters_of(accesses, loop, verdict.private)
    made = accesses.reconstruction
    inputs = [_section(made, s) for s in parameters.inputs]
    names = {_counter_name(made, c) or c.iteration.name: c for c in _around(loop)}
    for name in parameters.scalars:
        shown = next((n for n, c in names.items() if c.iteration.name == name), name)
        inputs.append(SectionReport(shown, None))
    listed: dict[AccessReport, None] = {}
    for access in accesses.of(loop):
        if isinstance(access, Access):
            base = "?" if access.base is None else access.base.name
            offset = in_program_names(made, access.offset)
            listed[AccessReport(access.line, access.kind.value, base, str(offset))] = None
    trips = None if verdict.trips is None else str(in_program_names(made, verdict.trips))
    line = _line(loop)
    return LoopReport(
        loop.scope.function.name, file, line, loop.depth, verdict.verdict, verdict.reasons, trips,
        tuple(dict.fromkeys(inputs)), tuple(_section(made, s) for s in parameters.outputs),
        parameters.private, parameters.functions, parameters.is_complete, verdict.assumptions,
        tuple(listed), verdict, parameters, loop, made,
    )  # fmt: skip


def _line(loop: LoopContext) -> int:
    """The line of a loop's head."""
    for instruction in (loop.header.terminator, *loop.header.instructions):
        if line_of(instruction):
            return line_of(instruction)
    return min((line_of(i) for b in loop.blocks for i in b.instructions if line_of(i)), default=0)


def _section(made: Reconstruction, section: Section) -> SectionReport:
    ends = [None if e is None else str(in_program_names(made, e)) for e in (section.low, section.end)]
    return SectionReport(section.base.name, (ends[0], ends[1]))


def _around(loop: LoopContext) -> Iterator[LoopContext]:
    context: LoopContext | None = loop
    while context is not None:
        yield context
        context = context.parent


def _counter(made: Reconstruction, loop: LoopContext) -> tuple[Instruction, Expression, int] | None:
    """The φ that the program calls the loop's counter, its first value, and its step."""
    counted = loop.counted
    phis = [counted.counter.phi] if isinstance(counted, CountedLoop) else []
    for phi in (*phis, *loop.header.phis()):
        if not hasattr(phi.type, "bits"):
            continue
        for signed in (True, False):
            parts = made.of(loop.scope, phi, signed).coefficients(loop.iteration)
            if len(parts) == 2 and parts[1].constant:
                return phi, parts[0], parts[1].offset
    return None


def _counter_name(made: Reconstruction, loop: LoopContext) -> str | None:
    counter = _counter(made, loop)
    return None if counter is None else value_name(counter[0])


def in_program_names(made: Reconstruction, value: Expression) -> Expression:
    """An expression with the counters of loops in the place of the numbers of their iterations."""
    for _ in range(8):
        replaced: dict[Atom, Expression] = {}
        for symbol in value.symbols():
            if isinstance(symbol.origin, LoopContext):
                counter = _counter(made, symbol.origin)
                if counter is None:
                    continue
                phi, start, step = counter
                here = as_expression(Symbol(value_name(phi), symbol.rank))
                distance = here - start if step > 0 else start - here
                replaced[symbol] = floor_division(distance, abs(step))
        if not replaced:
            return value
        value = value.substitute(replaced)
    return value


def _data(loop: LoopReport) -> dict[str, Any]:
    return {
        "function": loop.function,
        "file": loop.file,
        "line": loop.line,
        "depth": loop.depth,
        "verdict": loop.verdict.value,
        "reasons": [{"line": r.line, "text": r.text} for r in loop.reasons],
        "iterations": loop.iterations,
        "in": [_section_data(s) for s in loop.inputs],
        "out": [_section_data(s) for s in loop.outputs],
        "private": list(loop.private),
        "functions": list(loop.functions),
        "complete": loop.is_complete,
        "assumptions": [
            {"kind": kind, "line": line, "text": text} for kind, line, text in _told(loop.assumptions)
        ],
        "accesses": [
            {"line": a.line, "kind": a.kind, "array": a.array, "offset": a.offset} for a in loop.accesses
        ],
    }


def _section_data(section: SectionReport) -> dict[str, Any]:
    return {"name": section.name, "section": None if section.section is None else list(section.section)}


def report_lines(loops: Iterable[LoopReport]) -> Iterator[StyledLine]:
    """The report for people, line by line."""
    function: str | None = None
    for loop in loops:
        if loop.function != function:
            if function is not None:
                yield []
            yield [(loop.function, Style.HEADING), (f"  {loop.file}", Style.MUTED)]
            function = loop.function
        yield from _loop_lines(loop)
    if function is None:
        yield [("There are no loops.", Style.PLAIN)]


def _loop_lines(loop: LoopReport) -> Iterator[StyledLine]:
    indent = "  " * loop.depth
    style = _STYLES.get(loop.verdict, Style.STRIDED)
    count = "unknown number of iterations" if loop.iterations is None else f"{loop.iterations} iterations"
    yield [
        (f"{indent}line {loop.line}: ", Style.PLAIN),
        (loop.verdict.value, style),
        (f", {count}", Style.MUTED),
    ]
    inner = indent + "    "
    for reason in loop.reasons:
        yield [(f"{inner}line {reason.line}: {reason.text}", Style.PLAIN)]
    for label, sections in (("in", loop.inputs), ("out", loop.outputs)):
        for section in sections:
            yield [(f"{inner}{label:4}{_section_text(section)}", Style.PLAIN)]
    if not loop.is_complete:
        yield [(f"{inner}and memory that is not known", Style.WARNING)]
    for name in loop.private:
        yield [(f"{inner}own {name}", Style.PLAIN)]
    for _, line, text in _told(loop.assumptions):
        where = f"line {line}: " if line else ""
        yield [(f"{inner}if  {where}{text}", Style.MUTED)]


def _told(assumptions: Iterable[Assumption]) -> list[tuple[str, int, str]]:
    """Kind, line and text of assumptions, each once."""
    return list(dict.fromkeys((a.kind, a.line, a.text) for a in assumptions))


def _section_text(section: SectionReport) -> str:
    if section.section is None:
        return section.name
    low, end = ("?" if e is None else e for e in section.section)
    return f"{section.name}, bytes [{low}, {end})"

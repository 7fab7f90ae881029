"""Reports on sequential loops for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.verdicts import Verdict
from weft.report.loops.costs import MAX_LENGTH, MappingReport, SharedArea
from weft.report.loops.counters import loops_around
from weft.report.loops.data import strip_lines, told
from weft.report.loops.observed import ObservedLoop
from weft.report.styled import Style, StyledLine

if TYPE_CHECKING:
    from weft.report.loops.nests import LoopNestReport, LoopReport, SectionReport

_STYLES = {Verdict.SEQUENTIAL: Style.ERROR, Verdict.PARALLEL: Style.UNIFORM}


def report_lines(report: LoopNestReport) -> Iterator[StyledLine]:
    """The report for people, line by line."""
    for value in report.instantiated:
        numbers = " or ".join(map(str, value.values)) or "nothing: the numbers contradict each other"
        yield [
            (f"{value.function}: {value.name} is {numbers}", Style.WARNING),
            (f"  {value.source}", Style.MUTED),
        ]
    if report.instantiated:
        yield []
    function: str | None = None
    mapped: set[LoopContext] = set()
    for loop in report.loops:
        if loop.function != function:
            if function is not None:
                yield []
            yield [(loop.function, Style.HEADING), (f"  {loop.file}", Style.MUTED)]
            function = loop.function
        yield from _loop_lines(loop)
        if loop.mapping is not None and not any(around in mapped for around in loops_around(loop.loop)):
            mapped.add(loop.loop)
            yield from _mapping_lines(loop, loop.mapping)
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
    if loop.strips:
        yield [(f"{inner}in strips: {'; '.join(strip_lines(loop))}", Style.PLAIN)]
    if loop.observed is not None:
        yield from _observed_lines(inner, loop.observed)
    for label, sections in (("in", loop.inputs), ("out", loop.outputs)):
        for section in sections:
            yield [(f"{inner}{label:4}{_section_text(section)}", Style.PLAIN)]
    if not loop.is_complete:
        yield [(f"{inner}and memory that is not known", Style.WARNING)]
    for name in loop.private:
        yield [(f"{inner}own {name}", Style.PLAIN)]
    for _, line, text in told(loop.assumptions):
        where = f"line {line}: " if line else ""
        yield [(f"{inner}if  {where}{text}", Style.MUTED)]


def _observed_lines(inner: str, observed: ObservedLoop) -> Iterator[StyledLine]:
    """What was seen, which is no proof of anything; all else in the report is of the program as it is written."""
    if not observed.runs:
        yield [(f"{inner}run: it was not reached", Style.WARNING)]
        return
    rounds = (
        str(observed.least) if observed.least == observed.most else f"{observed.least} to {observed.most}"
    )
    times = "once" if observed.runs == 1 else f"{observed.runs} times"
    text = f"{inner}run: {times}, {_iterations(rounds)}, {observed.share:.0%} of all instructions"
    if not observed.dependences:
        text += "; no iterations met in memory"
        text += "" if observed.is_complete else " as far as was looked"
    yield [(text, Style.AFFINE)]
    for d in observed.dependences:
        far = str(d.least) if d.least == d.most else f"{d.least} to {d.most}"
        words = {"flow": "written, then read", "anti": "read, then written", "output": "written twice"}[
            d.kind
        ]
        yield [
            (
                f"{inner}run: the same bytes are {words}, in lines {d.source} and {d.sink}, {_iterations(far)} later",
                Style.AFFINE,
            )
        ]


def _iterations(number: str) -> str:
    return "1 iteration" if number == "1" else f"{number} iterations"


def _section_text(section: SectionReport) -> str:
    if section.section is None:
        return section.name
    low, end = ("?" if e is None else e for e in section.section)
    return f"{section.name}, bytes [{low}, {end})"


def _mapping_lines(loop: LoopReport, mapping: MappingReport) -> Iterator[StyledLine]:
    """The table of mappings: costs depend on the loop that is x, so it has a column for each of those."""
    indent = "  " * loop.depth + "    "
    rows = [
        (f"{a.line} {a.kind} {a.array}", [a.cost.transactions[name] for _, name in mapping.by_x])
        for a in loop.accesses
        if a.cost is not None and a.cost.varies
    ]
    if rows:
        heads = [f"x={x}" for x, _ in mapping.by_x]
        first = max(len("lines of a warp"), *(len(label) for label, _ in rows))
        widths = [
            max(len(head), *(len(_short(row[column])) for _, row in rows))
            for column, head in enumerate(heads)
        ]
        yield [
            (f"{indent}{'lines of a warp':{first}}", Style.MUTED),
            *((f"  {h:{w}}", Style.MUTED) for h, w in zip(heads, widths, strict=True)),
        ]
        for label, row in dict.fromkeys((label, tuple(row)) for label, row in rows):
            yield [
                (f"{indent}{label:{first}}", Style.PLAIN),
                *((f"  {_short(c):{w}}", _cost_style(c)) for c, w in zip(row, widths, strict=True)),
            ]
    yield [(f"{indent}grid {mapping.best}", Style.UNIFORM), (work_text(mapping), Style.MUTED)]
    for area in mapping.near:
        yield [(f"{indent}share {area_text(area)}", Style.PLAIN)]
    for _, line, text in mapping.assumptions:
        where = f"line {line}: " if line else ""
        yield [(f"{indent}if  {where}{text}", Style.MUTED)]


def _short(expression: str) -> str:
    return expression if len(expression) <= MAX_LENGTH else "..."


def _cost_style(transactions: str) -> Style:
    return Style.UNIFORM if transactions in ("1", "2") else Style.STRIDED


def work_text(mapping: MappingReport) -> str:
    """Operations and bytes, and what limits their speed."""
    if mapping.operations is None or mapping.bytes is None:
        return ""
    text = f"; {_short(mapping.bytes)} bytes"
    if mapping.operations == "0":
        return text
    text = f"; {_short(mapping.operations)} float operations{text.replace(';', ',')}"
    if mapping.estimate is not None:
        text += f": {mapping.estimate.limit} limits it"
    return text


def area_text(area: SharedArea) -> str:
    """What shared memory would be good for, in words."""
    lines = ", ".join(map(str, area.lines))
    place = f"{area.array} of line{'s' * (len(area.lines) > 1)} {lines}"
    if area.reason == "uncoalesced":
        return f"{place}: a warp's accesses are scattered; {_short(area.bytes)} bytes for a block"
    over = ", ".join(f"{_short(o)} with the next in {d}" for d, o in area.overlaps.items() if o is not None)
    return f"{place}: threads share bytes, {over}; {_short(area.bytes)} bytes for a block"

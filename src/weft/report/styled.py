"""A report as lines of styled pieces: what plain text, colours on a terminal and HTML have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from weft.report.model import BarrierReport, Excerpt, FunctionReport, LineReport, ReportSettings


class Style(StrEnum):
    """What a piece of text is; how that looks is for the renderers."""

    PLAIN = "plain"
    HEADING = "heading"
    MUTED = "muted"
    SOURCE = "source"
    UNIFORM = "uniform"
    STRIDED = "strided"
    AFFINE = "affine"
    VARYING = "varying"
    DIVERGES = "diverges"
    COST = "cost"
    WARNING = "warning"
    ERROR = "error"


StyledLine: TypeAlias = list[tuple[str, Style]]

LEGEND = (
    ("U", Style.UNIFORM, "uniform: the same in all lanes"),
    ("S4", Style.STRIDED, "neighbouring lanes are 4 apart"),
    ("S?", Style.AFFINE, "apart by a uniform number known at run time"),
    ("T", Style.VARYING, "varying"),
)

_SHOWN_FINDINGS = 10


def report_lines(functions: Iterable[FunctionReport], settings: ReportSettings) -> Iterator[StyledLine]:
    """The whole report, function by function."""
    for number, function in enumerate(functions):
        if number:
            yield []
        yield from function_lines(function, settings, legend=not number)


def function_lines(
    function: FunctionReport, settings: ReportSettings, legend: bool = True
) -> Iterator[StyledLine]:
    """The report of one function; `legend`: say what the marks mean."""
    yield [(f"{function.name}{function.signature}", Style.HEADING)]
    yield [(f"  {describe(settings, function)}", Style.MUTED)]
    if function.compiled:
        yield [(f"  {function.compiled}", Style.MUTED)]
    for excerpt in function.excerpts:
        yield []
        yield from excerpt_lines(excerpt)
    if legend:
        yield []
        yield from _legend()
    yield from _loops(function)
    yield from _stack_objects(function)
    yield from _barriers(function.barriers)
    yield from _findings(function)


def describe(settings: ReportSettings, function: FunctionReport) -> str:
    """The assumptions of a report on a function in words."""
    threads = {
        "lanes": _lane_group(function.lanes or settings.width),
        "group": "all threads of a work-group",
        "grid": "all threads of the grid",
    }[settings.scope]
    shapes = settings.arguments or ("uniform" if function.is_kernel else "varying")
    return f"{threads}; arguments {shapes}" + (f"; result {function.result}" if function.result else "")


def _lane_group(width: int | None) -> str:
    if width == 1:
        return "one at a time"
    return f"lane group of {width} lanes" if width else "lane group of any width"


def excerpt_lines(excerpt: Excerpt) -> Iterator[StyledLine]:
    """The source with its gutter."""
    memory = [", ".join(line.memory) for line in excerpt.lines]
    shape_width = max([5, *(len(line.shape) for line in excerpt.lines)])
    control_width = max([7, *(len(line.control) for line in excerpt.lines)])
    memory_width = max([6, *map(len, memory)])
    last = excerpt.lines[-1].number if excerpt.lines else 0
    number_width = max(4, len(str(last)))
    yield [(f"  {excerpt.file}", Style.MUTED)]
    head = f"  {'shape':{shape_width}}  {'control':{control_width}}  {'memory':{memory_width}}"
    costs = any(line.cycles is not None for line in excerpt.lines)
    yield [(f"{head}  {'cost  ' if costs else ''}{'line':>{number_width}}", Style.MUTED)]
    for line, access in zip(excerpt.lines, memory, strict=True):
        yield [
            (f"  {line.shape:{shape_width}}", style_of(line)),
            (f"  {line.control:{control_width}}", _control_style(line)),
            (f"  {access:{memory_width}}", _memory_style(line)),
            *([(f"  {cost_of(line):>4}", Style.COST)] if costs else []),
            (f"  {line.number:>{number_width}}", Style.MUTED),
            (f"  {line.text}", Style.SOURCE),
        ]


_IRREGULAR = ("gather", "scatter", "strided", "interleaved", "rows", "pieces", "neighbours", "lane by lane")


def is_irregular(line: LineReport) -> bool:
    """Whether some access of a line is of lanes that are no neighbours."""
    return any(word in form for form in line.memory for word in _IRREGULAR)


def cost_of(line: LineReport) -> str:
    """The part of a line in all that the code costs, in percent; empty for next to nothing."""
    return f"{line.share:.0%}" if line.share >= 0.005 else ""


def style_of(line: LineReport) -> Style:
    """The style of what a line computes."""
    return Style(line.shape_class) if line.shape_class else Style.PLAIN


def _control_style(line: LineReport) -> Style:
    return Style.DIVERGES if "diverges" in line.control else Style.UNIFORM


def _memory_style(line: LineReport) -> Style:
    return Style.VARYING if is_irregular(line) else Style.UNIFORM


def _legend() -> Iterator[StyledLine]:
    pieces: StyledLine = []
    for mark, style, meaning in LEGEND:
        pieces += [("  " if not pieces else "   ", Style.MUTED), (mark, style), (f" {meaning}", Style.MUTED)]
    yield pieces


def at_line(line: int | None) -> str:
    """A line in words."""
    return "somewhere" if line is None else f"line {line}"


def _loops(function: FunctionReport) -> Iterator[StyledLine]:
    if not function.loops:
        return
    yield []
    yield [("  loops", Style.HEADING)]
    for loop in function.loops:
        leaving = sum(e.divergent for e in loop.exits)
        if loop.divergent:
            text, style = "divergent: lanes leave it in different iterations", Style.DIVERGES
            if leaving < len(loop.exits):
                text += f", at {leaving} of its {len(loop.exits)} exits"
        else:
            text, style = "uniform: lanes leave it together", Style.UNIFORM
        yield [(f"    {at_line(loop.line):10} {loop.header:16} ", Style.PLAIN), (text, style)]


def _stack_objects(function: FunctionReport) -> Iterator[StyledLine]:
    if not function.allocas:
        return
    yield []
    yield [("  stack objects", Style.HEADING)]
    for alloca in function.allocas:
        text = "uniform: one copy serves all lanes" if alloca.uniform else "varying: a copy for each lane"
        style = Style.UNIFORM if alloca.uniform else Style.VARYING
        yield [(f"    {at_line(alloca.line):10} {alloca.name:16} ", Style.PLAIN), (text, style)]


def _barriers(barriers: tuple[BarrierReport, ...]) -> Iterator[StyledLine]:
    if not barriers:
        return
    yield []
    yield [("  barriers", Style.HEADING)]
    for barrier in barriers:
        word, style = ("error", Style.ERROR) if barrier.certain else ("warning", Style.WARNING)
        yield [(f"    {at_line(barrier.line):10} ", Style.PLAIN), (f"{word}: {barrier.message}", style)]
        yield from _because(barrier.because)


def _findings(function: FunctionReport) -> Iterator[StyledLine]:
    findings = function.findings
    yield []
    if not findings:
        yield [("  nothing here costs more because lanes differ", Style.UNIFORM)]
        return
    yield [
        ("  what costs most", Style.HEADING),
        (f"  ({about_cycles(function)})", Style.MUTED),
    ]
    for rank, finding in enumerate(findings[:_SHOWN_FINDINGS], start=1):
        yield [
            (f"  {rank:>3}. ", Style.MUTED),
            (f"{finding.cycles:>9,.0f}  ", Style.COST),
            (f"{at_line(finding.line)}: {finding.message}", Style.PLAIN),
        ]
        yield from _because(finding.because)
        if finding.hint:
            yield [(f"                  hint: {finding.hint}", Style.PLAIN)]
    rest = len(findings) - _SHOWN_FINDINGS
    if rest > 0:
        cycles = sum(finding.cycles for finding in findings[_SHOWN_FINDINGS:])
        yield [(f"       and {rest} more, {cycles:,.0f} cycles together", Style.MUTED)]


def about_cycles(function: FunctionReport) -> str:
    """What the cycles of findings are."""
    more = "cycles more than if all lanes agreed; each loop around counts as 10 rounds"
    return more if function.cycles is None else f"{more}; the code takes {function.cycles:,.0f} in all"


def _because(chain: tuple[str, ...]) -> Iterator[StyledLine]:
    for step in chain:
        yield [(f"                  {step}", Style.MUTED)]

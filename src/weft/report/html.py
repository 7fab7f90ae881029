"""A report as HTML: a fragment for notebooks, or a page of its own. Everything from outside is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import PurePath

from weft.report.flow_drawing import STYLE as FLOW_STYLE
from weft.report.flow_drawing import flow_drawing
from weft.report.html_page import STYLE, document
from weft.report.machine_code import Lines
from weft.report.model import BarrierReport, Excerpt, Finding, FunctionReport, LineReport, ReportSettings
from weft.report.styled import LEGEND, about_cycles, at_line, cost_of, describe, is_irregular

_NO_CODE: Lines = {}
_LINE = re.compile(r"\bline (\d+)")


def fragment(functions: Iterable[FunctionReport], settings: ReportSettings, code: Lines = _NO_CODE) -> str:
    """The report as a ``div`` with its style, for a notebook; with `code`, the machine code of lines."""
    functions = tuple(functions)
    body = sections(functions, settings, code)
    return f'<div class="weft"><style>{STYLE}{FLOW_STYLE}</style>{_summary(functions)}{body}</div>'


def page(
    functions: Iterable[FunctionReport], settings: ReportSettings, title: str, code: Lines = _NO_CODE
) -> str:
    """The report as a document."""
    return document(title, fragment(functions, settings, code))


def sections(
    functions: Iterable[FunctionReport],
    settings: ReportSettings,
    code: Lines = _NO_CODE,
    prefix: str = "weft",
) -> str:
    """A section for each function; `prefix` begins the names by which they are linked to."""
    return "".join(
        _function(f"{prefix}-{number}", function, settings, code) for number, function in enumerate(functions)
    )


def _summary(functions: tuple[FunctionReport, ...]) -> str:
    """What costs most of each function, where there are several."""
    if len(functions) < 2:
        return ""
    rows: list[str] = []
    for number, function in enumerate(functions):
        first = function.findings[0] if function.findings else None
        cycles = "" if function.cycles is None else f"{function.cycles:,.0f}"
        told = "" if first is None else f"{at_line(first.line)}: {first.message}"
        rows.append(
            f'<tr><td><a href="#weft-{number}">{escape(function.name)}</a></td>{_cell(cycles, "cost")}'
            f"{_cell('' if first is None else f'{first.cycles:,.0f}', 'cost')}{_cell(told, '')}</tr>"
        )
    head = _head("function", "cycles", "dearest", "")
    return f'<nav aria-label="functions"><h3>Functions</h3><table>{head}{"".join(rows)}</table></nav>'


def _function(name: str, function: FunctionReport, settings: ReportSettings, code: Lines) -> str:
    drawing = flow_drawing(function.blocks, function.name, name)
    parts = [
        f'<h3 id="{name}">{escape(function.name + function.signature)}</h3>',
        f'<p class="muted">{escape(describe(settings, function))}</p>',
        f'<p class="muted">{escape(function.compiled)}</p>' if function.compiled else "",
        *(_excerpt(excerpt, function, code) for excerpt in function.excerpts),
        _legend(),
        f'<details><summary>Control flow</summary><div class="scroll">{drawing}</div></details>'
        if drawing
        else "",
        _loops(function),
        _stack_objects(function),
        _barriers(function.barriers),
        _findings(function),
    ]
    return f'<section aria-labelledby="{name}">' + "\n".join(part for part in parts if part) + "</section>"


def _head(*names: str) -> str:
    return "<tr>" + "".join(f'<th scope="col">{name}</th>' for name in names) + "</tr>"


def _excerpt(excerpt: Excerpt, function: FunctionReport, code: Lines) -> str:
    told: dict[int, list[Finding]] = {}
    for finding in function.findings:
        if finding.line is not None and finding.file in ("", excerpt.file):
            told.setdefault(finding.line, []).append(finding)
    file = PurePath(excerpt.file).name
    caused = _caused(function, excerpt)
    rows = "\n".join(
        _line(
            line,
            told.get(line.number, []),
            caused.get(line.number, []),
            code.get((file, line.number), ()) if code else None,
        )
        for line in excerpt.lines
    )
    head = _head("shape", "control", "memory", "cost", "line", "source", *(("machine code",) if code else ()))
    return (
        f'<p class="muted">{escape(excerpt.file)}</p><div class="scroll"><table>{head}\n{rows}</table></div>'
    )


def _caused(function: FunctionReport, excerpt: Excerpt) -> dict[int, list[Finding]]:
    """What findings each line is among the causes of: the chains read from their other end."""
    found: dict[int, list[Finding]] = {}
    for finding in function.findings:
        if finding.file in ("", excerpt.file):
            lines = {int(number) for step in finding.because for number in _LINE.findall(step)}
            for line in sorted(lines - {finding.line}):
                found.setdefault(line, []).append(finding)
    return found


def _line(
    line: LineReport, findings: list[Finding], caused: list[Finding], code: Sequence[str] | None
) -> str:
    control = "diverges" if "diverges" in line.control else "uniform"
    cells = (
        _cell(line.shape, line.shape_class),
        _cell(line.control, control),
        _cell(", ".join(line.memory), "varying" if is_irregular(line) else "uniform"),
        f'<td class="cost" style="--share:{line.share:.1%}">{cost_of(line)}</td>',
        _cell(str(line.number), "number"),
        _source(line, findings, caused),
        "" if code is None else _code(line, code),
    )
    mark = ' class="partly"' if control == "diverges" else ""
    return f"<tr{mark}>{''.join(cells)}</tr>"


def _source(line: LineReport, findings: list[Finding], caused: list[Finding]) -> str:
    """The text of a line; a click on it shows what it costs, why, what helps, and what comes of it elsewhere."""
    if not findings and not caused:
        return _cell(line.text, "source")
    items = "".join(f"<li>{_told(finding)}</li>" for finding in findings)
    items += "".join(
        f'<li class="muted">leads to <b>{f.cycles:,.0f}</b> {at_line(f.line)}: {escape(f.message)}</li>'
        for f in caused
    )
    text = line.text.lstrip()
    indent = line.text[: len(line.text) - len(text)]
    summary = f'<summary>{indent}<span class="opens">{escape(text)}</span></summary>'
    return f'<td class="source"><details>{summary}<ul>{items}</ul></details></td>'


def _code(line: LineReport, code: Sequence[str]) -> str:
    """How many instructions a line has become; a click shows them."""
    if not code:
        return "<td></td>"
    label = f"machine code of line {line.number}: {len(code)} instructions"
    body = escape("\n".join(code))
    return (
        f'<td class="code"><details><summary aria-label="{label}">{len(code)}</summary>'
        f'<pre tabindex="0">{body}</pre></details></td>'
    )


def _told(finding: Finding) -> str:
    return (
        f"<b>{finding.cycles:,.0f}</b> {escape(finding.message)}{_hint(finding)}{_because(finding.because)}"
    )


def _cell(text: str, css_class: str) -> str:
    return f'<td class="{css_class}">{escape(text)}</td>' if css_class else f"<td>{escape(text)}</td>"


def _legend() -> str:
    marks = (f'<span class="{style}">{escape(mark)}</span> {escape(text)}' for mark, style, text in LEGEND)
    return f'<p class="muted">{" · ".join(marks)}</p>'


def _table(title: str, rows: Iterable[str]) -> str:
    body = "\n".join(rows)
    return f"<h4>{title}</h4><table>{body}</table>" if body else ""


def _row(line: int | None, name: str, css_class: str, text: str) -> str:
    return f"<tr>{_cell(at_line(line), 'muted')}{_cell(name, '')}{_cell(text, css_class)}</tr>"


def _loops(function: FunctionReport) -> str:
    return _table(
        "Loops",
        (
            _row(loop.line, loop.header, "diverges", "divergent: lanes leave it in different iterations")
            if loop.divergent
            else _row(loop.line, loop.header, "uniform", "uniform: lanes leave it together")
            for loop in function.loops
        ),
    )


def _stack_objects(function: FunctionReport) -> str:
    return _table(
        "Stack objects",
        (
            _row(a.line, a.name, "uniform", "uniform: one copy serves all lanes")
            if a.uniform
            else _row(a.line, a.name, "varying", "varying: a copy for each lane")
            for a in function.allocas
        ),
    )


def _barriers(barriers: tuple[BarrierReport, ...]) -> str:
    items = (
        f'<li><span class="{"error" if b.certain else "warning"}">{at_line(b.line)}: {escape(b.message)}</span>'
        f"{_because(b.because)}</li>"
        for b in barriers
    )
    body = "".join(items)
    return f"<h4>Barriers</h4><ul>{body}</ul>" if body else ""


def _findings(function: FunctionReport) -> str:
    findings = function.findings
    if not findings:
        return '<p class="uniform">Nothing here costs more because lanes differ.</p>'
    items = (
        f"<li><b>{f.cycles:,.0f}</b> {at_line(f.line)}: {escape(f.message)}{_hint(f)}{_because(f.because)}</li>"
        for f in findings
    )
    note = f'<span class="muted">({about_cycles(function)})</span>'
    return f"<h4>What costs most {note}</h4><ol>{''.join(items)}</ol>"


def _hint(finding: Finding) -> str:
    return f'<div class="hint">{escape(finding.hint)}</div>' if finding.hint else ""


def _because(chain: tuple[str, ...]) -> str:
    if not chain:
        return ""
    return '<ol class="because">' + "".join(f"<li>{escape(step)}</li>" for step in chain) + "</ol>"

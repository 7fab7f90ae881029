"""A report as HTML: a fragment for notebooks, or a page of its own. Everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from weft.report.html_page import STYLE, document
from weft.report.model import BarrierReport, Excerpt, Finding, FunctionReport, LineReport, ReportSettings
from weft.report.styled import LEGEND, about_cycles, at_line, cost_of, describe


def fragment(functions: Iterable[FunctionReport], settings: ReportSettings) -> str:
    """The report as a ``div`` with its style, for a notebook."""
    body = "".join(_function(function, settings) for function in functions)
    return f'<div class="weft"><style>{STYLE}</style>{body}</div>'


def page(functions: Iterable[FunctionReport], settings: ReportSettings, title: str) -> str:
    """The report as a document."""
    return document(title, fragment(functions, settings))


def _function(function: FunctionReport, settings: ReportSettings) -> str:
    parts = [
        f"<h3>{escape(function.name + function.signature)}</h3>",
        f'<p class="muted">{escape(describe(settings, function))}</p>',
        f'<p class="muted">{escape(function.compiled)}</p>' if function.compiled else "",
        *(_excerpt(excerpt) for excerpt in function.excerpts),
        _legend(),
        _loops(function),
        _stack_objects(function),
        _barriers(function.barriers),
        _findings(function),
    ]
    return "<section>" + "\n".join(part for part in parts if part) + "</section>"


def _excerpt(excerpt: Excerpt) -> str:
    rows = "\n".join(_line(line) for line in excerpt.lines)
    head = "<tr><th>shape</th><th>control</th><th>memory</th><th>cost</th><th>line</th><th></th></tr>"
    return f'<p class="muted">{escape(excerpt.file)}</p><table>{head}\n{rows}</table>'


def _line(line: LineReport) -> str:
    control = "diverges" if "diverges" in line.control else "uniform"
    irregular = any(form.startswith(("gather", "scatter", "strided")) for form in line.memory)
    cells = (
        _cell(line.shape, line.shape_class),
        _cell(line.control, control),
        _cell(", ".join(line.memory), "varying" if irregular else "uniform"),
        _cell(cost_of(line), "cost"),
        _cell(str(line.number), "number"),
        _cell(line.text, "source"),
    )
    mark = ' class="partly"' if control == "diverges" else ""
    return f"<tr{mark}>{''.join(cells)}</tr>"


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

"""Two versions of a program side by side: what costs more or less, and both reports under it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

from weft.report.flow_drawing import STYLE as FLOW_STYLE
from weft.report.html import sections
from weft.report.html_page import STYLE, document
from weft.report.machine_code import Lines
from weft.report.model import FunctionReport, ReportSettings


class Side(Struct, frozen=True):
    """The report on one version.

    Parameters
    ----------
    functions, settings
        What was found, and how.
    code
        The machine code of its lines; empty where it is not to be shown.
    """

    functions: Sequence[FunctionReport]
    settings: ReportSettings
    code: Lines


def beside(before: Side, after: Side, title: str) -> str:
    """The page of two versions; functions belong together by name, or by place where both have as many."""
    rows = "".join(_row(old, new) for old, new in _pairs(before.functions, after.functions))
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("function", "cycles before", "after", "change", "findings")
    )
    columns = "".join(
        f'<div role="region" aria-label="{name}"><h2>{name.capitalize()}</h2>'
        f"{sections(side.functions, side.settings, side.code, f'weft-{name}')}</div>"
        for name, side in (("before", before), ("after", after))
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    body = (
        f'<div class="weft"><style>{STYLE}{FLOW_STYLE}</style><h1>{escape(title)}</h1>{table}'
        f'<div class="sides">{columns}</div></div>'
    )
    return document(title, body, "body { max-width: none }")


def _pairs(
    before: Sequence[FunctionReport], after: Sequence[FunctionReport]
) -> list[tuple[FunctionReport | None, FunctionReport | None]]:
    names = {function.name for function in before} & {function.name for function in after}
    if not names and len(before) == len(after):
        return list(zip(before, after, strict=True))
    old = {function.name: function for function in before}
    found: list[tuple[FunctionReport | None, FunctionReport | None]] = [
        (old.get(function.name), function) for function in after
    ]
    return found + [(function, None) for function in before if function.name not in names]


def _row(old: FunctionReport | None, new: FunctionReport | None) -> str:
    names = list(dict.fromkeys(function.name for function in (old, new) if function is not None))
    cycles = [None if function is None else function.cycles for function in (old, new)]
    change, style = "", ""
    if cycles[0] and cycles[1] is not None:
        ratio = cycles[1] / cycles[0]
        change = f"{ratio - 1:+.0%}"
        style = "better" if ratio < 0.995 else "worse" if ratio > 1.005 else "muted"
    findings = " → ".join("" if function is None else str(len(function.findings)) for function in (old, new))
    cells = (
        f'<th scope="row">{escape(" → ".join(names))}</th>',
        *(f'<td class="cost">{"" if c is None else f"{c:,.0f}"}</td>' for c in cycles),
        f'<td class="cost {style}">{change}</td>',
        f"<td>{findings}</td>",
    )
    return f"<tr>{''.join(cells)}</tr>"

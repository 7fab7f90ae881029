"""Reports on sequential loops as a page: the source line by line, tables of mappings, pictures of what blocks touch."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from weft.analysis.mapping.grouping import Scheme, grouped
from weft.analysis.sequential.verdicts import Verdict
from weft.report.footprints import DRAWN, THREADS, footprint
from weft.report.html_page import STYLE, document
from weft.report.loops.costs import MappingReport
from weft.report.loops.data import strip_lines, told
from weft.report.loops.observed import ObservedLoop
from weft.report.loops.text import area_text, work_text

if TYPE_CHECKING:
    from weft.report.loops.nests import LoopNestReport, LoopReport, SectionReport

_CLASSES = {Verdict.PARALLEL: "uniform", Verdict.SEQUENTIAL: "error"}

_LOOP_STYLE = """
.weft .source-lines td { padding: 0 .5em } .weft .source-lines tr.loop { background: var(--mark) }
.weft .grid td, .weft .grid th { border: 1px solid var(--line); padding: .1em .6em }
.weft .best { font-weight: bold; color: var(--good) }
.weft section.loop { border-left: 3px solid var(--line); padding-left: 1em; margin: 1.5em 0 }
.weft figure { margin: .8em 0 } .weft svg { max-width: 100%; height: auto }
.weft svg .block { fill: var(--area); stroke: var(--line) }
.weft svg .thread { fill: var(--thread); fill-opacity: .55; stroke: var(--thread) }
.weft svg .next { fill: none; stroke: var(--next); stroke-width: 2; stroke-dasharray: 5 3 }
.weft .key { font-size: 90%; color: var(--muted) }
""".strip()


def page(report: LoopNestReport, title: str) -> str:
    """The report as a document that needs nothing else."""
    functions: dict[tuple[str, str], list[LoopReport]] = {}
    for loop in report.loops:
        functions.setdefault((loop.file, loop.function), []).append(loop)
    numbers = {id(loop): f"loop{n}" for n, loop in enumerate(report.loops)}
    parts = [f"<h1>{escape(title)}</h1>", _contents(functions), _found_values(report)]
    for (file, function), loops in functions.items():
        parts.append(f'<section id="{_anchor(function)}"><h2>{escape(function)}</h2>')
        parts.append(_source(file, loops, numbers))
        parts += [_loop(loop, numbers) for loop in loops]
        parts.append("</section>")
    if not functions:
        parts.append("<p>There are no loops.</p>")
    body = "\n".join(p for p in parts if p)
    return document(title, f'<main class="weft"><style>{STYLE}</style>{body}</main>', _LOOP_STYLE)


def _anchor(function: str) -> str:
    return "f-" + "".join(c if c.isalnum() else "-" for c in function)


def _contents(functions: dict[tuple[str, str], list[LoopReport]]) -> str:
    items = (
        f'<li><a href="#{_anchor(name)}">{escape(name)}</a> <span class="muted">{escape(file)}</span></li>'
        for file, name in functions
    )
    return f'<nav aria-label="Functions"><ul>{"".join(items)}</ul></nav>' if len(functions) > 1 else ""


def _found_values(report: LoopNestReport) -> str:
    items = (
        f"<li>{escape(v.function)}: <b>{escape(v.name)}</b> is {' or '.join(map(str, v.values))}"
        f' <span class="muted">{escape(v.source)}</span></li>'
        for v in report.instantiated
    )
    body = "".join(items)
    return f"<ul>{body}</ul>" if body else ""


def _source(file: str, loops: list[LoopReport], numbers: dict[int, str]) -> str:
    """The lines from the first loop to the last access, with verdicts and costs beside them."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f'<p class="muted">{escape(file)} cannot be read</p>'
    heads = {loop.line: loop for loop in reversed(loops)}
    costs = _costs_of_lines(loops)
    reasons: dict[int, list[str]] = {}
    for loop in loops:
        for reason in loop.reasons:
            reasons.setdefault(reason.line, []).append(reason.text)
    known = [n for n in (*heads, *costs, *reasons) if 0 < n <= len(lines)]
    if not known:
        return ""
    rows = []
    for number in range(max(1, min(known) - 1), min(len(lines), max(known) + 1) + 1):
        loop = heads.get(number)
        verdict = ""
        if loop is not None:
            kind = _CLASSES.get(loop.verdict, "strided")
            verdict = f'<a class="{kind}" href="#{numbers[id(loop)]}">{loop.verdict.value}</a>'
        notes = "; ".join(dict.fromkeys(reasons.get(number, [])))
        rows.append(
            f"<tr{' class=loop' if loop is not None else ''}><td>{verdict}</td>"
            f'<td class="cost">{escape(", ".join(costs.get(number, [])))}</td><td class="number">{number}</td>'
            f'<td class="source">{escape(lines[number - 1])}</td><td class="varying">{escape(notes)}</td></tr>'
        )
    head = (
        '<tr><th scope="col">loop</th><th scope="col">lines of a warp</th><th scope="col">line</th>'
        '<th scope="col">source</th><th scope="col">note</th></tr>'
    )
    return (
        f'<p class="muted">{escape(file)}</p><div class="scroll" tabindex="0" role="region" aria-label="Source">'
        f'<table class="source-lines">{head}{"".join(rows)}</table></div>'
    )


def _costs_of_lines(loops: list[LoopReport]) -> dict[int, list[str]]:
    """What the accesses of each line cost, for the best mapping of the outermost loop that has one."""
    found: dict[int, dict[str, None]] = {}
    owner: dict[int, int] = {}
    for loop in sorted(loops, key=lambda loop: loop.depth):
        if loop.mapping is None:
            continue
        for access in loop.accesses:
            if (
                access.cost is None
                or not access.cost.varies
                or owner.setdefault(access.line, id(loop)) != id(loop)
            ):
                continue
            text = f"{access.array} {access.cost.transactions[loop.mapping.best]}"
            found.setdefault(access.line, {})[text] = None
    return {line: list(texts) for line, texts in found.items()}


def _loop(loop: LoopReport, numbers: dict[int, str]) -> str:
    kind = _CLASSES.get(loop.verdict, "strided")
    count = "unknown number of" if loop.iterations is None else loop.iterations
    parts = [
        f'<section class="loop" id="{numbers[id(loop)]}"><h3>line {loop.line}: '
        f'<span class="{kind}">{loop.verdict.value}</span>'
        f' <span class="muted">{escape(count)} iterations, depth {loop.depth}</span></h3>',
        _list("Why", (f"line {r.line}: {r.text}" for r in loop.reasons)),
        _list("In strips", strip_lines(loop)),
        _parameters(loop),
        _list(
            "This rests on",
            (f"line {line}: {text}" if line else text for _, line, text in told(loop.assumptions)),
        ),
        _observed(loop.observed) if loop.observed is not None else "",
        _mapping(loop, loop.mapping) if loop.mapping is not None else "",
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _list(title: str, items: Iterable[str]) -> str:
    body = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<h4>{title}</h4><ul>{body}</ul>" if body else ""


def _parameters(loop: LoopReport) -> str:
    rows = [_parameter("in", s) for s in loop.inputs] + [_parameter("out", s) for s in loop.outputs]
    rows += [f"<tr><td>own</td><td>{escape(name)}</td><td></td></tr>" for name in loop.private]
    if not loop.is_complete:
        rows.append('<tr><td></td><td class="warning">and memory that is not known</td><td></td></tr>')
    head = '<tr><th scope="col"></th><th scope="col">name</th><th scope="col">bytes</th></tr>'
    return f'<h4>Parameters</h4><table class="grid">{head}{"".join(rows)}</table>' if rows else ""


def _parameter(kind: str, section: SectionReport) -> str:
    ends = "" if section.section is None else ", ".join("?" if e is None else e for e in section.section)
    return f"<tr><td>{kind}</td><td>{escape(section.name)}</td><td>{escape(f'[{ends})' if ends else '')}</td></tr>"


def _observed(observed: ObservedLoop) -> str:
    if not observed.runs:
        return "<h4>In the run</h4><p>It was not reached.</p>"
    text = (
        f"Entered {observed.runs} times, {observed.least} to {observed.most} iterations, {observed.share:.1%} of all"
        " instructions."
    )
    met = [
        f"{d.kind}: line {d.source} and line {d.sink}, {d.least} to {d.most} iterations apart, {d.times} times"
        for d in observed.dependences
    ]
    none = "No iterations met in memory." if not met else ""
    looked = "" if observed.is_complete else " The first accesses only were looked at."
    return f"<h4>In the run</h4><p>{escape(text)} {none}{looked}</p>{_list('Iterations met', met)}"


def _mapping(loop: LoopReport, mapping: MappingReport) -> str:
    heads = "".join(
        f'<th scope="col"{" class=best" if name == mapping.best else ""}>{escape(name)}</th>'
        for name in mapping.names
    )
    rows = {
        f'<tr><th scope="row">{a.line} {a.kind} {escape(a.array)}</th>'
        + "".join(
            f"<td{' class=best' if n == mapping.best else ''}>{'≤ ' if n in a.cost.bounds else ''}"
            f"{escape(a.cost.transactions[n])} <span class=muted>{a.cost.contiguity[n]}, CPU"
            f" {escape(a.cost.cache_lines[n])}</span></td>"
            for n in mapping.names
        )
        + "</tr>": None
        for a in loop.accesses
        if a.cost is not None and a.cost.varies
    }
    parts = [
        "<h4>Mappings to a grid</h4>",
        f"<p>Lines of 128 bytes that a warp touches, and lines of 64 bytes of {mapping.width} lanes of a CPU. Best: "
        f'<span class="best">{escape(mapping.best)}</span>{escape(work_text(mapping))}.</p>',
        '<div class="scroll" tabindex="0" role="region" aria-label="Mappings">'
        f'<table class="grid"><tr><th></th>{heads}</tr>'
        f"{''.join(rows)}</table></div>"
        if rows
        else "",
        _list("Costs rest on", (f"line {line}: {t}" if line else t for _, line, t in mapping.assumptions)),
        _list("Shared memory", (area_text(a) for a in mapping.near)),
        _footprints(loop, mapping),
    ]
    return "\n".join(part for part in parts if part)


def _footprints(loop: LoopReport, mapping: MappingReport) -> str:
    costs = mapping.found
    facts = loop.reconstruction.facts(loop.loop.scope, loop.loop.header)
    names = tuple(part.partition("=")[2] for part in mapping.best.split(", "))
    values = loop.reconstruction.program.values
    figures = []
    for area in grouped(costs.areas, Scheme.NEAR, facts):
        assert area.access.base is not None
        kind = "writes" if area.access.is_write else "reads"
        label = (
            f"what a block {kind} of {area.access.base.name} in line{'s' * (len(area.lines) > 1)} "
            + ", ".join(map(str, area.lines))
        )
        figures.append(
            f"<figure><figcaption>{escape(label)}</figcaption>{footprint(area, names, label, values)}</figure>"
        )
    if not figures:
        return ""
    key = (
        f"Drawn for a block of {THREADS[0]} by {THREADS[1]} threads, and {DRAWN} for sizes that are not known. Light:"
        " the bytes of the block, rows down and bytes across. Dark: those of one thread. Dashed: those of the next"
        " thread in each dimension."
    )
    return f'<h4>What a block touches</h4><p class="key">{key}</p>{"".join(figures)}'

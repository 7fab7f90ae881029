"""The control flow of a function as a drawing: blocks in layers, divergent regions coloured, as SVG without scripts.

Layers are longest paths from the entry, ways back left out; in a layer blocks stand in the order of the mean places of
those before them (Sugiyama, Tagawa and Toda, 1981, with one sweep down). Ways back go round on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from weft.report.model import BlockReport

_WIDE, _HIGH, _GAP_X, _GAP_Y = 116, 34, 26, 34
_MOST = 150
"""Functions of more blocks are not drawn."""

STYLE = """
.weft .flow rect { fill: var(--back); stroke: var(--muted) }
.weft .flow .partly rect { fill: var(--mark) }
.weft .flow .diverges rect { stroke: var(--bad); stroke-width: 2.5 }
.weft .flow text { fill: var(--text); font: 11px ui-monospace, monospace; text-anchor: middle }
.weft .flow .small { fill: var(--muted) }
.weft .flow path { fill: none; stroke: var(--muted); stroke-width: 1.2 }
.weft .flow path.diverges { stroke: var(--bad) }
""".strip()


def flow_drawing(blocks: Sequence[BlockReport], title: str, name: str = "weft") -> str:
    """The drawing, whose ids begin with `name`; empty for a function of one block, and of very many."""
    if not 1 < len(blocks) <= _MOST:
        return ""
    layers = _layers(blocks)
    places = _places(blocks, layers)
    width = max(x for x, _ in places.values()) + _WIDE + 2 * _GAP_X
    height = max(y for _, y in places.values()) + _HIGH + _GAP_Y
    edges = [
        _edge(places[k], places[to], layers[to] <= layers[k], block.divergent, width, name)
        for k, block in enumerate(blocks)
        for to in dict.fromkeys(block.successors)
        if k in places
    ]
    drawn = [_block(block, *places[k]) for k, block in enumerate(blocks) if k in places]
    label = escape(f"control flow of {title}: {len(drawn)} blocks", quote=True)
    return (
        f'<svg class="flow" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}">'
        f'<defs><marker id="{name}-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0,0L8,4L0,8" style="stroke:context-stroke"/></marker></defs>'
        + "".join((*edges, *drawn))
        + "</svg>"
    )


def _layers(blocks: Sequence[BlockReport]) -> dict[int, int]:
    """The layer of each block that is reached."""
    order, state = [], {}
    stack = [(0, iter(blocks[0].successors))]
    state[0] = 1
    while stack:
        number, rest = stack[-1]
        for to in rest:
            if to not in state:
                state[to] = 1
                stack.append((to, iter(blocks[to].successors)))
                break
        else:
            order.append(number)
            stack.pop()
    position = {number: k for k, number in enumerate(reversed(order))}
    layers = dict.fromkeys(position, 0)
    for number in reversed(order):
        for to in blocks[number].successors:
            if position[to] > position[number]:
                layers[to] = max(layers[to], layers[number] + 1)
    return layers


def _places(blocks: Sequence[BlockReport], layers: dict[int, int]) -> dict[int, tuple[float, float]]:
    """The upper left corner of each block."""
    rows: dict[int, list[int]] = {}
    for number, layer in layers.items():
        rows.setdefault(layer, []).append(number)
    widest = max(map(len, rows.values()))
    middle = widest * (_WIDE + _GAP_X) / 2
    before: dict[int, list[int]] = {}
    for number in layers:
        for to in blocks[number].successors:
            if layers[to] > layers[number]:
                before.setdefault(to, []).append(number)
    places: dict[int, tuple[float, float]] = {}
    for layer in sorted(rows):
        row = sorted(
            rows[layer], key=lambda n: _mean([places[p][0] for p in before.get(n, ()) if p in places], middle)
        )
        start = middle - len(row) * (_WIDE + _GAP_X) / 2 + _GAP_X
        for k, number in enumerate(row):
            places[number] = (start + k * (_WIDE + _GAP_X), layer * (_HIGH + _GAP_Y) + _GAP_Y / 2)
    return places


def _mean(numbers: list[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _edge(
    start: tuple[float, float], end: tuple[float, float], back: bool, divergent: bool, width: float, name: str
) -> str:
    x, y = start[0] + _WIDE / 2, start[1] + _HIGH
    to_x, to_y = end[0] + _WIDE / 2, end[1]
    if back:
        x, y, to_x, to_y = start[0] + _WIDE, start[1] + _HIGH / 2, end[0] + _WIDE, end[1] + _HIGH / 2
        out = min(width - 4, max(x, to_x) + _GAP_X)
        path = f"M{x:.0f},{y:.0f}C{out:.0f},{y:.0f} {out:.0f},{to_y:.0f} {to_x:.0f},{to_y:.0f}"
    else:
        half = (to_y - y) / 2
        path = f"M{x:.0f},{y:.0f}C{x:.0f},{y + half:.0f} {to_x:.0f},{to_y - half:.0f} {to_x:.0f},{to_y:.0f}"
    style = ' class="diverges"' if divergent else ""
    return f'<path{style} d="{path}" marker-end="url(#{name}-tip)"/>'


def _block(block: BlockReport, x: float, y: float) -> str:
    classes = " ".join(c for c, on in (("partly", block.partly), ("diverges", block.divergent)) if on)
    name = block.name if len(block.name) <= 15 else block.name[:14] + "…"
    told = [block.name]
    if block.partly:
        told.append("runs for some lanes only")
    if block.divergent:
        told.append("lanes disagree at its branch")
    line = f"line {block.line}" if block.line is not None else ""
    return (
        f'<g class="{classes}"><title>{escape(", ".join(told))}</title>'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDE}" height="{_HIGH}" rx="4"/>'
        f'<text x="{x + _WIDE / 2:.0f}" y="{y + 14:.0f}">{escape(name)}</text>'
        f'<text class="small" x="{x + _WIDE / 2:.0f}" y="{y + 27:.0f}">{line}</text></g>'
    )

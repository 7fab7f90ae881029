"""Pictures of what a block touches of an array: its bytes, those of its first thread, and of the threads beside that.

The picture has numbers, which expressions have only for given sizes: a block of 32 by 8 threads, the values that
parameters were given, and `DRAWN` for the others. What is drawn is told below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from msgspec import Struct

from weft.analysis.mapping.sharing import BLOCK, Area, Interval
from weft.analysis.symbolic.expression import Expression, Symbol

DRAWN = 8
THREADS = (32, 8, 1)

_WIDTH, _HEIGHT = 420.0, 130.0
_LEAST = 3.0


class _Box(Struct, frozen=True):
    """A rectangle in rows and bytes."""

    row: int
    column: int
    rows: int
    columns: int


def footprint(area: Area, dimensions: tuple[str, ...], label: str, values: Mapping[str, int]) -> str:
    """The picture of an area as SVG, with its description.

    Parameters
    ----------
    area
        What a block touches.
    dimensions
        The counters of x, y and z.
    label
        What it shows, for those who do not see it.
    values
        Numbers for parameters.
    """

    def number(value: Expression) -> int:
        threads = dict(zip(BLOCK, THREADS, strict=True))

        def of(symbol: Symbol) -> int:
            return threads.get(symbol, values.get(symbol.name, DRAWN if symbol.loop is None else 0))

        return value.evaluate(of)

    rows = area.intervals[0] if len(area.intervals) > 1 else None
    columns = area.intervals[len(area.intervals) - 1]
    thread = _Box(0, 0, 1 if rows is None else number(rows.width), number(columns.width))
    nexts = [
        _Box(
            0 if rows is None else number(rows.shifts[d]),
            number(columns.shifts[d]),
            thread.rows,
            thread.columns,
        )
        for d in range(area.dimensions)
    ]
    origin = (_first(rows, number), _first(columns, number))
    ends = [number(end - low) for low, end in area.block]
    block = _Box(-origin[0], -origin[1], ends[0] if rows is not None else 1, ends[-1])
    return _drawn(block, thread, nexts, dimensions, label)


def _first(interval: Interval | None, number: Callable[[Expression], int]) -> int:
    """How far before the first thread's interval a block begins."""
    if interval is None:
        return 0
    total = 0
    for shift, threads in zip(interval.shifts, THREADS, strict=False):
        step = number(shift)
        total += -step * (threads - 1) if step < 0 else 0
    return total


def _drawn(block: _Box, thread: _Box, nexts: list[_Box], dimensions: tuple[str, ...], label: str) -> str:
    across = _WIDTH / max(1, block.columns)
    down = _HEIGHT / max(1, block.rows) if block.rows > 1 else 28.0

    def rectangle(box: _Box, kind: str, title: str) -> str:
        x, y = (box.column - block.column) * across + 1, (box.row - block.row) * down + 1
        width, height = max(_LEAST, box.columns * across), max(_LEAST, box.rows * down)
        return (
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">'
            f"<title>{escape(title)}</title></rect>"
        )

    shapes = [rectangle(block, "block", f"a block: {block.rows} by {block.columns} bytes")]
    for box, name in zip(nexts, dimensions, strict=True):
        shapes.append(rectangle(box, "next", f"the next thread in {name}"))
    shapes.append(rectangle(thread, "thread", f"one thread: {thread.rows} by {thread.columns} bytes"))
    height = max(block.rows * down, _LEAST) + 2
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH + 4:.0f} {height:.0f}" '
        f'width="{_WIDTH + 4:.0f}" height="{height:.0f}">{"".join(shapes)}</svg>'
    )

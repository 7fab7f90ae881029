"""Areas of shared memory that are put together (Juravle, §5.2.2).

Loads of ``row[x]``, ``row[x + 1]`` and ``row[x + 2]`` need one area, a little greater, not three. By the first scheme
areas of one pointer are put together if their ends are apart by less than a limit; by the second all of one pointer
are, which may leave holes, and needs no comparison. As in the thesis an area that does not fit the one that is
accumulated waits in a queue for the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from weft.analysis.mapping.sharing import Area, Interval
from weft.analysis.symbolic.extent import weakest
from weft.analysis.symbolic.facts import Facts

LIMIT = 128
"""Bytes, or rows, that ends may be apart in the first scheme."""


class Scheme(Enum):
    """Which areas are put together."""

    NEAR = "near"
    POINTER = "pointer"


def grouped(areas: Sequence[Area], scheme: Scheme, facts: Facts) -> list[Area]:
    """The areas that are left, in the order of their first accesses."""
    fits: Callable[[Area, Area], bool] = _is_near if scheme is Scheme.NEAR else _has_same_form
    found: list[Area] = []
    queue = list(areas)
    while queue:
        group, *rest = queue
        queue = []
        for area in rest:
            if _has_same_form(group, area) and fits(group, area):
                group = _union(group, area, facts)
            else:
                queue.append(area)
        found.append(group)
    return found


def _has_same_form(a: Area, b: Area) -> bool:
    return (
        a.access.base is b.access.base
        and a.access.kind is b.access.kind
        and a.pitch == b.pitch
        and [i.shifts for i in a.intervals] == [i.shifts for i in b.intervals]
    )


def _is_near(a: Area, b: Area) -> bool:
    for one, other in zip(a.intervals, b.intervals, strict=True):
        for distance in ((one.low - other.low).constant, (one.end - other.end).constant):
            if distance is None or abs(distance) >= LIMIT:
                return False
    return True


def _union(a: Area, b: Area, facts: Facts) -> Area:
    intervals = tuple(
        Interval(
            weakest([i.low, j.low], facts, upper=False), weakest([i.end, j.end], facts, upper=True), i.shifts
        )
        for i, j in zip(a.intervals, b.intervals, strict=True)
    )
    lines = tuple(sorted({*a.lines, *b.lines}))
    assumptions = tuple(dict.fromkeys((*a.assumptions, *b.assumptions)))
    scattered = a.is_scattered or b.is_scattered
    return Area(a.access, lines, a.pitch, intervals, a.facts, scattered, a.dimensions, assumptions)

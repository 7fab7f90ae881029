"""The lane groups of a launch in rows, and running them, as `weft.codegen.order.rows` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from weft.check.lane_groups import MAX_LANES
from weft.interp import Bundle, Image, run_function
from weft.passes.stages import Rows
from weft.runtime.shape import LaunchShape

Array = NDArray[np.int64]


class RowGroups(Struct, frozen=True):
    """Lane groups of rows.

    Parameters
    ----------
    tid, gid
        Position of lane 0 in its work-group, and of that in the grid, along x, y and z.
    first, count
        The first lane of each that runs, and how many do.
    """

    tid: tuple[Array, Array, Array]
    gid: tuple[Array, Array, Array]
    first: Array
    count: Array

    def __getitem__(self, chosen: slice | NDArray[np.bool_]) -> RowGroups:
        x, y, z = (a[chosen] for a in self.tid)
        gx, gy, gz = (a[chosen] for a in self.gid)
        return RowGroups((x, y, z), (gx, gy, gz), self.first[chosen], self.count[chosen])

    def batches(self, width: int) -> Iterator[RowGroups]:
        """Parts of at most `MAX_LANES` lanes."""
        size = max(1, MAX_LANES // width)
        for start in range(0, self.count.size, size):
            yield self[start : start + size]

    def groups(self, shape: LaunchShape) -> tuple[int, Array]:
        """How many work-groups they belong to, and which of these each does, counted from 0."""
        x, y, _ = shape.grid
        numbers, index = np.unique(self.gid[0] + x * (self.gid[1] + y * self.gid[2]), return_inverse=True)
        return numbers.size, index

    def positions(self, rows: Rows, lanes: int) -> list[Array]:
        """Position of the first `lanes` threads of each in the work-group, and of that in the grid."""
        spread = [np.repeat(a, lanes) for a in (*self.tid, *self.gid)]
        spread[rows.dimension] += np.tile(np.arange(lanes), self.count.size)
        return spread


def row_groups(
    image: Image, slots: Sequence[Any], shape: LaunchShape, rows: Rows, width: int
) -> Iterator[RowGroups]:
    """The lane groups of a launch that runs rows, those of a walk one row after the other.

    Guards, and steps of walks, are evaluated by the program itself.
    """
    along, *others = rows.order
    block, grid = shape.block, shape.grid
    merged = rows.merge is not None and rows.merge.size in (None, block[along])
    ends = [
        grid[others[1]],
        grid[others[0]],
        1 if merged else grid[along],
        block[others[1]],
        block[others[0]],
    ]
    if rows.across is not None:
        across, merge = rows.across
        at = 0 if across == others[1] else 1
        if merge.size in (None, block[across]):
            ends[at], ends[3 + at] = 1, ends[3 + at] * ends[at]
    g2, g1, g0, t2, t1 = (n.reshape(-1) for n in np.meshgrid(*map(np.arange, ends), indexing="ij"))
    tid, gid = [np.zeros_like(g0)] * 3, [g0] * 3
    tid[others[0]], tid[others[1]] = t1, t2
    gid[others[0]], gid[others[1]] = g1, g2
    first = np.zeros_like(g0)
    last = np.full_like(g0, block[along] * (grid[along] if merged else 1))
    items = [*slots, *tid, *gid, *block, *grid, 0, 0, shape.dynamic_bytes]
    if rows.steps is None or not g0.size:
        yield _lane_groups(image, items, rows, width, (tid, gid), first, last)
        return
    step, end = number_pairs(image, rows.steps, items, g0.size)
    while (first < end).any():
        yield _lane_groups(image, items, rows, width, (tid, gid), first, np.minimum(last, end))
        first, last = first + step, last + step


def number_pairs(image: Image, name: str, arguments: Sequence[Any], count: int) -> tuple[Array, Array]:
    """The two numbers that a function returns for each row."""
    outcome = run_function(image, name, arguments, count)
    assert isinstance(outcome.value, Bundle)
    first, second = (member.data.astype(np.int64) for member in outcome.value.members)  # type: ignore[union-attr]
    return first, second


def _lane_groups(
    image: Image, items: Sequence[Any], rows: Rows, width: int, at: tuple[list[Array], list[Array]],
    first: Array, last: Array,
) -> RowGroups:  # fmt: skip
    """The lane groups of rows at these positions, from the first thread of each to the last."""
    (tid, gid), along = at, rows.dimension
    if rows.bounds is not None and first.size:
        first, last = number_pairs(image, rows.bounds, [*items, first, last], first.size)
    some = first < last
    start = first if rows.anywhere else first & -width
    groups = np.where(some, -(-(last - start) // width), 0)
    row = np.repeat(np.arange(groups.size), groups)
    number = np.arange(row.size) - np.repeat(np.cumsum(groups) - groups, groups)
    x = start[row] + number * width
    tid, gid = [a[row] for a in tid], [a[row] for a in gid]
    tid[along] = x
    before = np.maximum(first[row] - x, 0)
    count = np.minimum(last[row] - x, width) - before
    return RowGroups((tid[0], tid[1], tid[2]), (gid[0], gid[1], gid[2]), before, count)

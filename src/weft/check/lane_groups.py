"""The lane groups of a launch, as arrays: consecutive threads, along x or by number, whole work-groups at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weft.runtime.shape import LaunchShape

Array = NDArray[np.int64]

MAX_LANES = 1 << 14
"""Threads that are run side by side, if a single work-group does not have more."""


@dataclass(frozen=True, slots=True)
class LaneGroups:
    """Lane groups of consecutive work-groups.

    Parameters
    ----------
    width
        Threads of a lane group.
    groups
        Work-groups they belong to; `group` numbers them from 0 for each lane group.
    linear
        Whether they may go beyond a row of threads.
    first
        Linear number of each lane group's first thread in its work-group.
    block
        Threads of a work-group along x, y and z.
    block_x, block_y, block_z
        Index of its work-group in the grid.
    count
        How many of its threads exist.
    """

    width: int
    groups: int
    linear: bool
    group: Array
    first: Array
    block: tuple[int, int, int]
    block_x: Array
    block_y: Array
    block_z: Array
    count: Array

    def where(self, chosen: NDArray[np.bool_]) -> LaneGroups:
        """Those that are chosen."""
        arrays = ("group", "first", "block_x", "block_y", "block_z", "count")
        return replace(self, **{name: getattr(self, name)[chosen] for name in arrays})

    def numbers(self, lanes: int) -> Array:
        """The linear number of each of the first `lanes` threads, lane group after lane group."""
        return (self.first[:, None] + np.arange(lanes)).reshape(-1)

    def positions(self, lanes: int) -> tuple[Array, Array, Array]:
        """Index along x, y and z of the same threads; in a row x goes on beyond its end."""
        bx, by, _ = self.block
        if self.linear:
            numbers = self.numbers(lanes)
            return numbers % bx, numbers // bx % by, numbers // (bx * by)
        rows = np.repeat(self.first // bx, lanes)
        return ((self.first % bx)[:, None] + np.arange(lanes)).reshape(-1), rows % by, rows // by

    def exists(self) -> NDArray[np.bool_]:
        """Whether each lane is a thread."""
        return (np.arange(self.width) < self.count[:, None]).reshape(-1)


def lane_groups(shape: LaunchShape, width: int, linear: bool) -> Iterator[LaneGroups]:
    """All lane groups of a launch, in batches of whole work-groups; without a width, a row of threads is one.

    They do not go beyond a row of threads, unless they are `linear`.
    """
    row = shape.group_threads if linear else shape.block[0]
    rows = shape.group_threads // row
    width = width or row
    each = -(-row // width)
    batch = max(1, MAX_LANES // (each * width * rows))
    for start in range(0, shape.groups, batch):
        groups = np.arange(start, min(start + batch, shape.groups))
        number, y, k = (
            n.reshape(-1) for n in np.meshgrid(groups, *map(np.arange, (rows, each)), indexing="ij")
        )
        gx, gy, _ = shape.grid
        yield LaneGroups(
            width,
            groups.size,
            linear,
            group=number - start,
            first=y * row + k * width,
            block=shape.block,
            block_x=number % gx,
            block_y=number // gx % gy,
            block_z=number // (gx * gy),
            count=np.minimum(width, row - k * width),
        )

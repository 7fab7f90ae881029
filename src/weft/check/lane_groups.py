"""The lane groups of a launch, as arrays: consecutive threads along x, whole work-groups at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    x, y, z
        Index of each lane group's first thread in its work-group.
    block_x, block_y, block_z
        Index of its work-group in the grid.
    count
        How many of its threads exist.
    """

    width: int
    groups: int
    group: Array
    x: Array
    y: Array
    z: Array
    block_x: Array
    block_y: Array
    block_z: Array
    count: Array

    def where(self, chosen: NDArray[np.bool_]) -> LaneGroups:
        """Those that are chosen."""
        arrays = (self.group, self.x, self.y, self.z, self.block_x, self.block_y, self.block_z, self.count)
        return LaneGroups(self.width, self.groups, *(array[chosen] for array in arrays))

    def thread_x(self) -> Array:
        """Index along x of each thread, lane group after lane group."""
        return (self.x[:, None] + np.arange(self.width)).reshape(-1)

    def exists(self) -> NDArray[np.bool_]:
        """Whether each lane is a thread."""
        return (np.arange(self.width) < self.count[:, None]).reshape(-1)


def lane_groups(shape: LaunchShape, width: int) -> Iterator[LaneGroups]:
    """All lane groups of a launch, in batches of whole work-groups; without a width, a row of threads is one."""
    bx, by, bz = shape.block
    width = width or bx
    row = -(-bx // width)
    batch = max(1, MAX_LANES // (row * width * by * bz))
    for first in range(0, shape.groups, batch):
        groups = np.arange(first, min(first + batch, shape.groups))
        number, z, y, k = (
            n.reshape(-1) for n in np.meshgrid(groups, *map(np.arange, (bz, by, row)), indexing="ij")
        )
        gx, gy, _ = shape.grid
        yield LaneGroups(
            width,
            groups.size,
            group=number - first,
            x=k * width,
            y=y,
            z=z,
            block_x=number % gx,
            block_y=number // gx % gy,
            block_z=number // (gx * gy),
            count=np.minimum(width, bx - k * width),
        )

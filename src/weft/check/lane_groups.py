"""The lane groups of a launch, as arrays: threads along x, by number or in boxes, whole work-groups at a time."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from weft.runtime.shape import LaunchShape

Array = NDArray[np.int64]

MAX_LANES = 1 << 14
"""Threads that are run side by side, if a single work-group does not have more."""


class LaneGroups(Struct, frozen=True):
    """Lane groups of consecutive work-groups.

    Parameters
    ----------
    extents
        Threads of a lane group along each dimension; of one that is `linear`, how many there are.
    axes
        Which of x, y and z each dimension is along.
    groups
        How many work-groups they belong to.
    linear
        Whether they may go beyond a row of threads.
    group
        The number of each lane group's work-group among these, from 0.
    first
        Linear number of each lane group's first thread in its work-group.
    block
        Threads of a work-group along x, y and z.
    block_x, block_y, block_z
        Index of its work-group in the grid.
    """

    extents: tuple[int, ...]
    axes: tuple[int, ...]
    groups: int
    linear: bool
    group: Array
    first: Array
    block: tuple[int, int, int]
    block_x: Array
    block_y: Array
    block_z: Array

    @property
    def width(self) -> int:
        """Threads of a lane group."""
        return prod(self.extents)

    def where(self, chosen: NDArray[np.bool_]) -> LaneGroups:
        """Those that are chosen."""
        arrays = ("group", "first", "block_x", "block_y", "block_z")
        return replace(self, **{name: getattr(self, name)[chosen] for name in arrays})

    def numbers(self, lanes: int) -> Array:
        """The linear number of each of the first `lanes` threads, lane group after lane group."""
        return (self.first[:, None] + np.arange(lanes)).reshape(-1)

    def positions(self, lanes: int) -> tuple[Array, Array, Array]:
        """Index along x, y and z of the same threads, some of which may be beyond the ends of the work-group."""
        bx, by, _ = self.block
        if self.linear:
            numbers = self.numbers(lanes)
            return numbers % bx, numbers // bx % by, numbers // (bx * by)
        lane, inside = np.arange(lanes), [np.zeros(lanes, np.int64) for _ in range(3)]
        for extent, axis in zip(self.extents, self.axes, strict=True):
            inside[axis], lane = lane % extent, lane // extent
        x = (self.first % bx)[:, None] + inside[0]
        y = (self.first // bx % by)[:, None] + inside[1]
        z = (self.first // (bx * by))[:, None] + inside[2]
        return x.reshape(-1), y.reshape(-1), z.reshape(-1)

    def exists(self) -> NDArray[np.bool_]:
        """Whether each lane is a thread."""
        bounds = zip(self.positions(self.width), self.block, strict=True)
        return np.logical_and.reduce([position < size for position, size in bounds])

    @property
    def count(self) -> Array:
        """How many threads of each lane group exist."""
        return self.exists().reshape(-1, self.width).sum(axis=1)

    @property
    def bits(self) -> Array:
        """A bit for each thread of a lane group that exists."""
        exists = self.exists().reshape(-1, self.width).astype(np.uint64)
        return (exists << np.arange(self.width, dtype=np.uint64)).sum(axis=1).astype(np.int64)


def lane_groups(
    shape: LaunchShape,
    width: int,
    linear: bool,
    box: tuple[int, ...] | None = None,
    axes: tuple[int, ...] = (),
) -> Iterator[LaneGroups]:
    """All lane groups of a launch, in batches of whole work-groups; without a width, a row of threads is one.

    They do not go beyond a row of threads, unless they are `linear` or boxes.
    """
    extents = box or (width or (shape.group_threads if linear else shape.block[0]),)
    sizes = (shape.group_threads, 1, 1) if linear else shape.block
    axes = axes or tuple(range(len(extents)))
    steps = [1, 1, 1]
    for extent, axis in zip(extents, axes, strict=True):
        steps[axis] = extent
    each = prod(-(-size // step) for size, step in zip(sizes, steps, strict=True))
    batch = max(1, MAX_LANES // (each * prod(extents)))
    for start in range(0, shape.groups, batch):
        groups = np.arange(start, min(start + batch, shape.groups))
        begins = [np.arange(0, size, step) for size, step in zip(sizes, steps, strict=True)]
        number, z, y, x = (n.reshape(-1) for n in np.meshgrid(groups, *begins[::-1], indexing="ij"))
        gx, gy, _ = shape.grid
        yield LaneGroups(
            extents,
            axes,
            groups.size,
            linear,
            group=number - start,
            first=x + sizes[0] * (y + sizes[1] * z),
            block=shape.block,
            block_x=number % gx,
            block_y=number // gx % gy,
            block_z=number // (gx * gy),
        )

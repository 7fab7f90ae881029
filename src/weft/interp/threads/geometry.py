"""The threads of a run: which lane is which thread of which group of the grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct, field

Array = np.ndarray
Dim3 = tuple[int, int, int]


class Geometry(Struct):
    """Work-groups laid side by side on lanes, each padded to whole lane groups.

    Parameters
    ----------
    grid, block
        Groups of the grid and threads of a group, per dimension (x, y, z).
    first, groups
        The lanes hold the groups ``first .. first + groups - 1`` in linear order, x fastest.
    width
        Lanes of a lane group, Moll's W. Threads are taken in linear order ``x + bx * (y + by * z)``.
    """

    grid: Dim3
    block: Dim3
    first: int = 0
    groups: int = 1
    width: int = 1
    _cache: dict[tuple[str, int], Array] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """Threads of a work-group."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def group_lanes(self) -> int:
        """Lanes that a work-group takes, padding included."""
        return -(-self.threads // self.width) * self.width

    @property
    def lanes(self) -> int:
        return self.groups * self.group_lanes

    def exists(self) -> Array | None:
        """Which lanes are threads; None when all are."""
        if self.group_lanes == self.threads:
            return None
        return np.tile(np.arange(self.group_lanes) < self.threads, self.groups)

    def local_id(self, dimension: int) -> Array:
        """Index of each thread in its group."""
        return self._cached(
            "local", dimension, lambda: self._coordinate(self._linear(), self.block, dimension)
        )

    def group_id(self, dimension: int) -> Array:
        """Index of each thread's group in the grid; of length 1 when there is one group."""
        return self._cached("group", dimension, lambda: self._group(dimension))

    def group_of_lane(self) -> Array:
        """The position of each lane's group among the groups here."""
        return np.repeat(np.arange(self.groups), self.group_lanes)

    def thread_of(self, lane: int) -> tuple[Dim3, Dim3]:
        """The block index and thread index of a lane."""
        group, linear = divmod(lane, self.group_lanes)
        group += self.first
        gx, gy, _ = self.grid
        bx, by, _ = self.block
        return (
            (group % gx, group // gx % gy, group // (gx * gy)),
            (linear % bx, linear // bx % by, linear // (bx * by)),
        )

    def _linear(self) -> Array:
        return np.tile(np.arange(self.group_lanes, dtype=np.uint64), self.groups)

    def _group(self, dimension: int) -> Array:
        numbers = np.arange(self.first, self.first + self.groups, dtype=np.uint64)
        coordinate = self._coordinate(numbers, self.grid, dimension)
        return coordinate if self.groups == 1 else np.repeat(coordinate, self.group_lanes)

    @staticmethod
    def _coordinate(linear: Array, extents: Dim3, dimension: int) -> Array:
        before = 1
        for extent in extents[:dimension]:
            before *= extent
        return linear // np.uint64(before) % np.uint64(extents[dimension])

    def _cached(self, kind: str, dimension: int, make: Callable[[], Array]) -> Array:
        found = self._cache.get((kind, dimension))
        if found is None:
            found = self._cache[kind, dimension] = make()
        return found

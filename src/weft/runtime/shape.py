"""The shape of a launch: how many work-groups of how many threads."""

from __future__ import annotations

import functools
import operator
from typing import SupportsIndex

from msgspec import Struct

from weft.diag.errors import LaunchError

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_BLOCK_THREADS = 1024
MAX_DYNAMIC_BYTES = 2**31 - 1
"""CUDA's limits, kept so that kernels stay portable; CUDA allows less shared memory."""

Extent = SupportsIndex | tuple[SupportsIndex, ...]


class LaunchShape(Struct, frozen=True):
    """Grid, block and dynamic shared memory of a launch, checked; made by `launch_shape`.

    Parameters
    ----------
    grid, block
        Groups in the grid and threads in a group, along x, y and z.
    dynamic_bytes
        Dynamic shared memory of each group.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_bytes: int = 0

    @property
    def groups(self) -> int:
        """Work-groups in the grid."""
        x, y, z = self.grid
        return x * y * z

    def group_at(self, number: int) -> tuple[int, int, int]:
        """Where the work-group with a linear number, x fastest, is in the grid."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    @property
    def group_threads(self) -> int:
        """Threads in a work-group."""
        x, y, z = self.block
        return x * y * z


def launch_shape(grid: Extent, block: Extent, dynamic_bytes: SupportsIndex = 0) -> LaunchShape:
    """Return the shape that a user wrote as integers or tuples of up to three.

    Raises
    ------
    LaunchError
        An extent is not a positive integer, or beyond what a launch may have.
    """
    return _checked(
        _integers("grid", grid), _integers("block", block), _integer("dynamic shared memory", dynamic_bytes)
    )


def tasks_shape(tasks: SupportsIndex, block: SupportsIndex, dynamic_bytes: SupportsIndex = 0) -> LaunchShape:
    """Return the one-dimensional shape with at least `tasks` threads in blocks of `block`.

    Raises
    ------
    LaunchError
        As `launch_shape`, or there is no task.
    """
    count, size = _integer("number of tasks", tasks), _integer("block", block)
    if count < 1:
        raise LaunchError(f"the number of tasks is {count}", hint="it has to be positive")
    return launch_shape(-(-count // max(size, 1)), size, dynamic_bytes)


@functools.lru_cache(maxsize=1024)
def _checked(grid: tuple[int, ...], block: tuple[int, ...], dynamic_bytes: int) -> LaunchShape:
    shape = LaunchShape(_extents("grid", grid, MAX_GRID), _extents("block", block, MAX_BLOCK), dynamic_bytes)
    if shape.group_threads > MAX_BLOCK_THREADS:
        raise LaunchError(
            f"a block of {shape.block} has {shape.group_threads} threads",
            hint=f"a block has at most {MAX_BLOCK_THREADS} threads; use more blocks",
        )
    if not 0 <= shape.dynamic_bytes <= MAX_DYNAMIC_BYTES:
        raise LaunchError(
            f"dynamic shared memory of {dynamic_bytes} bytes",
            hint=f"it may be 0 to {MAX_DYNAMIC_BYTES} bytes",
        )
    if shape.groups >= 1 << 62:
        raise LaunchError(
            f"a grid of {shape.grid} has {shape.groups} blocks, too many to count in 62 bits",
            hint="launch parts of it one after the other",
        )
    return shape


def _integers(what: str, value: Extent) -> tuple[int, ...]:
    items = value if isinstance(value, tuple) else (value,)
    return tuple([_integer(what, item) for item in items])


def _extents(what: str, items: tuple[int, ...], limits: tuple[int, int, int]) -> tuple[int, int, int]:
    if not 1 <= len(items) <= 3:
        raise LaunchError(
            f"a {what} has 1 to 3 dimensions, not {len(items)}", hint="write x, (x, y) or (x, y, z)"
        )
    x, y, z = (*items, 1, 1)[:3]
    for extent, limit, axis in zip((x, y, z), limits, "xyz", strict=True):
        if not 1 <= extent <= limit:
            raise LaunchError(f"the {what} is {extent} along {axis}", hint=f"it may be 1 to {limit}")
    return x, y, z


def _integer(what: str, value: SupportsIndex) -> int:
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise LaunchError(
            f"{what}: {value!r} is not an integer",
            hint="use // to divide, and a tuple for several dimensions",
        ) from None

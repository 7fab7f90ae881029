"""How many threads a launch on a block has."""

from __future__ import annotations

from collections.abc import Sequence

from weft.diag.errors import ArgumentError

_BLOCKS = ((), (256,), (32, 8), (32, 4, 2))
"""Threads of a work-group by the number of axes: neighbours in memory first."""

MOST_AXES = len(_BLOCKS) - 1

Launch = tuple[tuple[int, ...], tuple[int, ...]]


def threads_of(
    shape: Sequence[int], axes: Sequence[int] | None = None, block: Sequence[int] | None = None
) -> Launch:
    """Grid and block of a launch with at least one thread for each place in `shape`.

    Parameters
    ----------
    shape
        The extents of a block of an array, none of them zero.
    axes
        Which axes x, y and z run over; the last axis first by default.
    block
        Threads of a work-group along x, y and z.

    Raises
    ------
    ArgumentError
        There are no such axes, or more than a grid has.
    """
    chosen = range(len(shape) - 1, -1, -1) if axes is None else axes
    if not 1 <= len(chosen) <= MOST_AXES or any(not 0 <= axis < len(shape) for axis in chosen):
        raise ArgumentError(
            f"a grid over axes {tuple(chosen)} of a block with {len(shape)} axes",
            hint="axes= says which one, two or three of the axes threads run over",
        )
    extents = [shape[axis] for axis in chosen]
    sizes = _BLOCKS[len(extents)] if block is None else tuple(block)
    if len(sizes) != len(extents):
        raise ArgumentError(f"block={sizes} for threads over {len(extents)} axes")
    return tuple(-(-e // s) for e, s in zip(extents, sizes, strict=True)), sizes

"""Brushes: how many iterations along each loop of a nest, or threads along each axis, run together (Moll, ch. 11).

A *brush* 4 by 16 is a lane group of 64 lanes: 4 iterations of the outer loop, 16 of the inner one (Def. 24). Which lane
each runs in is the *projection*'s matter (§11.5): the dimensions in an order, that which changes fastest first. Of
(1, 0) the lane of coordinates (c0, c1) is ``c1 + m1*c0``, of (0, 1) it is ``c0 + m0*c1``. Dimensions are loops from the
outermost on; of kernels z, y, x, or y, x. Cheap to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

from msgspec import Struct

from weft.diag.errors import SignatureError

MAX_DIMENSIONS = 3

AUTO = "auto"
"""The cost model chooses."""

MOST_LANES = 64
"""Of a brush: as many as bits of a mask."""


class Brush(Struct, frozen=True):
    """A tensor brush and its projection.

    Parameters
    ----------
    extents
        Iterations along each dimension, outermost first.
    projection
        The dimensions in the order of lanes, that which changes fastest first.
    """

    extents: tuple[int, ...]
    projection: tuple[int, ...]

    @property
    def width(self) -> int:
        """Lanes."""
        return prod(self.extents)

    @property
    def rank(self) -> int:
        """Dimensions."""
        return len(self.extents)

    @property
    def in_order(self) -> tuple[int, ...]:
        """The extents in the order of lanes."""
        return tuple(self.extents[d] for d in self.projection)

    def rows_of(self, levels: int) -> list[int]:
        """The loops of a nest of so many, outermost first, but the innermost, of which it has several iterations."""
        first = levels - self.rank
        return [first + d for d, extent in enumerate(self.extents[:-1]) if extent > 1]

    def lane(self, coordinates: Sequence[int]) -> int:
        """The lane in which an iteration runs (§11.5)."""
        number = 0
        for d in reversed(self.projection):
            number = coordinates[d] + self.extents[d] * number
        return number

    def __str__(self) -> str:
        return "x".join(map(str, self.extents))


BrushOption = Brush | Literal["auto"] | None
"""What can be asked for; None is for lanes along one loop."""


def brush_of(brush: Any, projection: Any = None, *, width: int | None = None) -> BrushOption:
    """The brush that options of any door ask for; None for none.

    Parameters
    ----------
    brush
        Powers of two, outermost dimension first, as numbers or as in ``"4x16"``; ``"auto"``; None for none.
    projection
        A permutation of the dimensions, as numbers or as in ``"1,0"``; None lets the innermost change fastest.
    width
        Another option, which says the same of one dimension.

    Raises
    ------
    SignatureError
        They are no such things.
    """
    if brush is None:
        if projection is not None:
            raise SignatureError(
                f"a projection {projection!r} without a brush",
                hint="ask for both: brush=(4, 8), projection=(1, 0)",
            )
        return None
    if isinstance(brush, str) and brush == AUTO:
        if projection is not None or width is not None:
            raise SignatureError(
                "the brush is chosen, and with it projection and width", hint="leave these out"
            )
        return AUTO
    extents = _numbers(brush, "x", "brush", 'it is two or three powers of two, as (4, 16) or "4x16"')
    if not 2 <= len(extents) <= MAX_DIMENSIONS or any(n < 1 or n & (n - 1) for n in extents):
        raise SignatureError(
            f"a brush of {brush!r}",
            hint='it is two or three powers of two, outermost first, as (4, 16) or "4x16"',
        )
    if not 2 <= prod(extents) <= MOST_LANES:
        raise SignatureError(f"a brush of {prod(extents)} lanes", hint=f"it may have 2 to {MOST_LANES}")
    if width is not None:
        raise SignatureError(
            "both a brush and a width", hint="the width is the product of the brush: leave it out"
        )
    order = tuple(reversed(range(len(extents))))
    if projection is not None:
        order = _numbers(
            projection, ",", "projection", 'it is the dimensions in an order, as (1, 0) or "1,0"'
        )
    if sorted(order) != list(range(len(extents))):
        raise SignatureError(
            f"a projection {projection!r} of a brush of {len(extents)} dimensions",
            hint=f"it names each of {', '.join(map(str, range(len(extents))))} once, that which changes fastest first",
        )
    return Brush(extents, order)


def _numbers(given: Any, separator: str, what: str, hint: str) -> tuple[int, ...]:
    try:
        parts = given.split(separator) if isinstance(given, str) else list(given)
        numbers = tuple(int(p) if isinstance(p, str) else p.__index__() for p in parts)
    except (AttributeError, TypeError, ValueError):
        raise SignatureError(f"{what}={given!r}", hint=hint) from None
    return numbers

"""``np.ndindex(n, m)``, ``np.ndenumerate(a)`` and ``a.flat``: what loops run over point by point, in C order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.reshaped import shape_items
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, static
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.types import Array
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Points:
    """All indices within some extents.

    Parameters
    ----------
    extents
        How many there are along each axis.
    array
        The array whose elements come at the indices; None for `numpy.ndindex`.
    indexed
        Whether an item has its indices.
    """

    __slots__ = ("array", "extents", "indexed")

    def __init__(self, extents: list[Value], array: Typed | None, indexed: bool) -> None:
        self.extents = extents
        self.array = array
        self.indexed = indexed

    def item(self, low: Lowering, indices: list[Typed]) -> Typed:
        """What a loop gets at these indices."""
        place = TupleValue(tuple(indices))
        if self.array is None:
            return place
        type = array_type_of(self.array)
        element = load_element(
            low, element_address(low, self.array, indices), type.dtype, element_align(type)
        )
        return TupleValue((place, element)) if self.indexed else element


@call(np.ndindex)
def _ndindex(low: Lowering, args: Arguments) -> Typed:
    if args.keywords:
        raise TypingError("ndindex() takes a shape")
    shape = shape_items(args.values)
    return static(Points([to_int64(low, item, "an extent") for item in shape], None, True))


@call(np.ndenumerate)
def _ndenumerate(low: Lowering, args: Arguments) -> Typed:
    (array,) = args.bind("arr")
    if not isinstance(array.type, Array):
        raise TypingError(f"ndenumerate() takes an array, not {array.type}")
    return static(Points(extents_of(low, array), array, True))

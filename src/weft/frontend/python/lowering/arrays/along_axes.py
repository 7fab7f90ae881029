"""An array among several indices: ``a[order, :]``, ``a[:, mask]``, ``a[i, order]``, of one dimension.

The other indices make a view, of which the array selects along one axis. Where a slice stands between it and an integer
NumPy puts the selected axis first, which is refused, as is more than one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import (
    Index,
    Slice,
    element_address,
    element_align,
)
from weft.frontend.python.lowering.arrays.elementwise import Lazy, assign_elements, stretched_index
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.arrays.shape_checks import require_extents, require_same
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.arrays.whole_arrays import for_each
from weft.frontend.python.lowering.calls.registry import CALLS, Arguments
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import Array, Scalar, boolean
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def along_one_axis(low: Lowering, array: Typed, parts: Sequence[Index]) -> tuple[Typed, Typed, int]:
    """The view that the other indices make, the indices along one axis of it, and which axis that is.

    Raises
    ------
    UnsupportedError
        There are several arrays, one of more dimensions, or a slice between it and an integer.
    """
    arrays = [place for place, part in enumerate(parts) if _is(part, Array)]
    numbers = [place for place, part in enumerate(parts) if _is(part, Scalar)]
    place = arrays[0]
    index = parts[place]
    assert isinstance(index, Typed)
    if len(arrays) > 1:
        raise UnsupportedError("several arrays among the indices are not supported", hint="write a loop")
    if array_type_of(index).ndim != 1:
        raise UnsupportedError("an array among several indices has one dimension", hint="write a loop")
    chosen = sorted((*numbers, place))
    if chosen[-1] - chosen[0] != len(chosen) - 1:
        raise UnsupportedError(
            "a slice between an integer and an array of indices is not supported",
            hint="take the part that the integer names first: a[i][:, order]",
        )
    whole = view(low, array, [Slice() if one == place else part for one, part in enumerate(parts)])
    axis = sum(not _is(part, Scalar) for part in parts[:place])
    return whole, _as_places(low, whole, axis, index), axis


def _is(part: Index, kind: type[Array] | type[Scalar]) -> bool:
    return isinstance(part, Typed) and isinstance(part.type, kind)


def _as_places(low: Lowering, array: Typed, axis: int, index: Typed) -> Typed:
    """The indices, or those where a mask is true."""
    from weft.frontend.python.lowering.arrays.selections import selected

    dtype = array_type_of(index).dtype
    if dtype is not boolean:
        if not isinstance(dtype, Scalar) or not dtype.is_integer:
            raise TypingError(
                f"an array of {dtype} is no index", hint="it has integers, or is a mask of bools"
            )
        return index
    import numpy as np

    extent = extents_of(low, array)[axis]
    require_same(low, extents_of(low, index)[:1], [extent])
    from weft.frontend.python.lowering.arrays.allocation import extent as length

    numbers = CALLS[np.arange](low, Arguments("an array index", [length(extent)], {}))
    return selected(low, numbers, [index])


def selected_along(low: Lowering, array: Typed, index: Typed, axis: int) -> Typed:
    """The elements at given indices along one axis, in a new array."""
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.arrays.selections import rows, selected

    type = array_type_of(array)
    if type.ndim == 1:
        return selected(low, array, [index])
    if axis == 0:
        return rows(low, array, index)
    extents = _extents(low, array, index, axis)
    made = allocate(low, Arguments("an array index", [], {}), list(map(extent, extents)), type.dtype)
    made_type = array_type_of(made)

    def take(at: list[Typed]) -> None:
        source = element_address(low, array, _places(low, index, axis, at))
        value = load_element(low, source, type.dtype, element_align(type))
        store_element(low, value, element_address(low, made, at), made_type.dtype, element_align(made_type))

    for_each(low, extents, take)
    return made


def assign_along(low: Lowering, array: Typed, index: Typed, axis: int, value: Typed) -> None:
    """Store a number to the elements at given indices along one axis, or an array to those along the first."""
    type = array_type_of(array)
    if axis == 0 and isinstance(value.type, Array):
        _assign_rows(low, array, index, value)
        return
    if not isinstance(value.type, Scalar):
        raise UnsupportedError(
            f"only a number can be assigned to what an array selects along a later axis, not {value.type}",
            hint="write a loop",
        )

    def put(at: list[Typed]) -> None:
        place = element_address(low, array, _places(low, index, axis, at))
        store_element(low, value, place, type.dtype, element_align(type))

    for_each(low, _extents(low, array, index, axis), put)


def _assign_rows(low: Lowering, array: Typed, index: Typed, value: Typed) -> None:
    """Store an array to the rows at given indices: its own rows, or the same to each."""
    from weft.frontend.python.lowering.arrays.allocation import copied

    # Rows that are read may be among those that are written: they are all read before.
    args = Arguments("what an array selects", [], {})
    values = value.settled(low) if isinstance(value, Lazy) else copied(low, args, value)
    has_rows = array_type_of(values).ndim == array_type_of(array).ndim
    count = extents_of(low, index)[0]
    if has_rows:
        require_extents(low, extents_of(low, values)[:1], [count])

    def put(at: list[Typed]) -> None:
        row = view(low, array, [*_places(low, index, 0, at)])
        if has_rows:
            place = stretched_index(low, at[0], extents_of(low, values)[0])
            assign_elements(low, row, view(low, values, [place]))
        else:
            assign_elements(low, row, values)

    for_each(low, [count], put)


def _extents(low: Lowering, array: Typed, index: Typed, axis: int) -> list[Value]:
    extents = list(extents_of(low, array))
    extents[axis] = extents_of(low, index)[0]
    return extents


def _places(low: Lowering, index: Typed, axis: int, at: list[Typed]) -> list[Typed]:
    """Where an element of what is selected lies in the array."""
    type = array_type_of(index)
    chosen = load_element(low, element_address(low, index, [at[axis]]), type.dtype, element_align(type))
    return [*at[:axis], chosen, *at[axis + 1 :]]

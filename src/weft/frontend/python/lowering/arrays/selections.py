"""Arrays as indices: ``a[a > 0]``, the elements where a mask is true, and ``a[order]``, those at given indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeGuard

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python import device_arrays
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import (
    Index,
    element_address,
    element_align,
    require_writable,
)
from weft.frontend.python.lowering.arrays.elementwise import combine, require_same
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.arrays.reshaped import flat
from weft.frontend.python.lowering.arrays.whole_arrays import for_each
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.types import Array, Scalar, boolean, pyint
from weft.ir.builder import const_int
from weft.ir.types import I64

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def is_selection(parts: Sequence[Index]) -> TypeGuard[Sequence[Typed]]:
    """Whether a subscript is one array."""
    found = [part for part in parts if isinstance(part, Typed) and isinstance(part.type, Array)]
    if found and len(parts) > 1:
        raise UnsupportedError("an array among several indices is not supported", hint="write a loop")
    return bool(found)


def selected(low: Lowering, array: Typed, index: Typed) -> Typed:
    """The elements that a mask or an array of indices selects."""
    if array_type_of(index).dtype is not boolean:
        return combine(low, lambda low, place: _element(low, array, [place]), _indices(array, index))
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.calls.calls import call_function

    _require_mask(low, array, index)
    counted = call_function(low, device_arrays.nonzero, Arguments("nonzero", [flat(low, index)], {}))
    type = array_type_of(array)
    count = to_int64(low, counted, "a number of elements")
    made = allocate(low, Arguments("an array index", [], {}), [extent(count)], type.dtype)
    position = low.alloca(I64, "position")
    low.builder.store(const_int(0), position)

    def take(indices: list[Typed]) -> None:
        here = low.builder.load(I64, position)
        place = element_address(low, made, [Typed(pyint, (here,), low=0)])
        store_element(
            low, _element(low, array, indices), place, type.dtype, element_align(array_type_of(made))
        )
        low.builder.store(low.builder.binary("add", here, const_int(1), ("nuw", "nsw")), position)

    _where(low, index, take)
    return made


def assign_selected(low: Lowering, array: Typed, index: Typed, value: Typed) -> None:
    """Store a number to the elements that a mask or an array of indices selects."""
    require_writable(array_type_of(array))
    if not isinstance(value.type, Scalar):
        raise UnsupportedError(
            f"only a number can be assigned to what an array selects, not {value.type}", hint="write a loop"
        )
    type = array_type_of(array)

    def store(indices: list[Typed]) -> None:
        store_element(low, value, element_address(low, array, indices), type.dtype, element_align(type))

    if array_type_of(index).dtype is boolean:
        _require_mask(low, array, index)
        _where(low, index, store)
        return
    places = _indices(array, index)
    for_each(low, extents_of(low, places), lambda at: store([_element(low, places, at)]))


def _element(low: Lowering, array: Typed, indices: list[Typed]) -> Typed:
    type = array_type_of(array)
    return load_element(low, element_address(low, array, indices), type.dtype, element_align(type))


def _indices(array: Typed, index: Typed) -> Typed:
    """An array of indices, checked."""
    dtype = array_type_of(index).dtype
    if not isinstance(dtype, Scalar) or not dtype.is_integer:
        raise TypingError(f"an array of {dtype} is no index", hint="it has integers, or is a mask of bools")
    if array_type_of(array).ndim != 1:
        raise UnsupportedError("only an array of one dimension is indexed by an array", hint="write a loop")
    return index


def _require_mask(low: Lowering, array: Typed, mask: Typed) -> None:
    if array_type_of(mask).ndim != array_type_of(array).ndim:
        raise TypingError(f"a mask of {array_type_of(mask).ndim} dimensions for {array.type}")
    for one, other in zip(extents_of(low, mask), extents_of(low, array), strict=True):
        require_same(low, one, other)


def _where(low: Lowering, mask: Typed, body: Callable[[list[Typed]], None]) -> None:
    """Run `body` for the indices at which a mask is true, in C order."""

    def each(indices: list[Typed]) -> None:
        chosen, following = low.new_block("mask.chosen"), low.new_block("mask.next")
        low.branch_if(_element(low, mask, indices).value, chosen, following)
        low.start(chosen)
        body(indices)
        low.branch(following)
        low.start(following)

    for_each(low, extents_of(low, mask), each)

"""Arrays as indices: ``a[a > 0]``, the elements where a mask is true, and ``a[order]``, those at given indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeGuard

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python import device_arrays, device_measures
from weft.frontend.python.lowering.arrays.along_axes import along_one_axis, assign_along, selected_along
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of, is_row_of_truths
from weft.frontend.python.lowering.arrays.arrays import (
    Index,
    element_address,
    element_align,
    require_writable,
)
from weft.frontend.python.lowering.arrays.elementwise import Lazy, combine, stretched_index
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.arrays.reshaped import flat
from weft.frontend.python.lowering.arrays.shape_checks import require_extents, require_same
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.arrays.whole_arrays import copy, for_each
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.types import Array, Scalar, boolean, pyint
from weft.ir.builder import const_int
from weft.ir.types import I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def is_selection(parts: Sequence[Index]) -> bool:
    """Whether there is an array in a subscript."""
    return any(map(is_array, parts))


def is_array(part: Index) -> TypeGuard[Typed]:
    """Whether a part of a subscript is an array."""
    return isinstance(part, Typed) and isinstance(part.type, Array)


def selected(low: Lowering, array: Typed, parts: Sequence[Index]) -> Typed:
    """The elements that a mask or an array of indices selects, perhaps along one axis."""
    index = parts[0]
    if len(parts) == 1 and is_array(index) and not _is_row_mask(array, index):
        return _selected(low, array, index)
    return selected_along(low, *along_one_axis(low, array, parts))


def _is_row_mask(array: Typed, index: Typed) -> bool:
    """Whether it is a mask of one dimension for an array of more."""
    type = array_type_of(index)
    return type.dtype is boolean and type.ndim == 1 < array_type_of(array).ndim


def _selected(low: Lowering, array: Typed, index: Typed) -> Typed:
    if array_type_of(index).dtype is not boolean:
        if array_type_of(array).ndim > 1:
            return rows(low, array, index)
        return combine(low, lambda low, place: _element(low, array, [place]), _indices(array, index))
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.arrays.written import run_written

    _require_mask(low, array, index)
    type = array_type_of(array)
    if is_row_of_truths(index) and isinstance(type.dtype, Scalar) and (type.ndim == 1 or type.layout == "C"):
        args = Arguments("an array index", [], {})
        return run_written(low, args, device_measures.chosen, flat(low, array), index)
    count = _count(low, index)
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


def rows(low: Lowering, array: Typed, index: Typed) -> Typed:
    """The rows, or parts of more dimensions, that an array of indices selects."""
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent

    dtype = array_type_of(index).dtype
    if not isinstance(dtype, Scalar) or not dtype.is_integer:
        raise TypingError(f"an array of {dtype} is no index", hint="it has integers, or is a mask of bools")
    if array_type_of(index).ndim != 1:
        raise UnsupportedError("rows are selected by an array of one dimension", hint="write a loop")
    shape = [extent(size) for size in (*extents_of(low, index), *extents_of(low, array)[1:])]
    made = allocate(low, Arguments("an array index", [], {}), shape, array_type_of(array).dtype)

    def take(at: list[Typed]) -> None:
        copy(low, view(low, array, [_element(low, index, at)]), view(low, made, [*at]))

    for_each(low, extents_of(low, index), take)
    return made


def assign_selected(low: Lowering, array: Typed, parts: Sequence[Index], value: Typed) -> None:
    """Store a number, or one element of an array each, to the elements that a mask or an array of indices selects."""
    require_writable(array_type_of(array))
    index = parts[0]
    of_more = is_array(index) and array_type_of(index).ndim == 1 < array_type_of(array).ndim
    if len(parts) > 1 or not is_array(index) or of_more:
        array, index, axis = along_one_axis(low, array, parts)
        if array_type_of(array).ndim > 1:
            assign_along(low, array, index, axis, value)
            return
    type = array_type_of(array)
    if isinstance(value.type, Array):
        _assign_elements_to_selected(low, array, index, value)
        return
    if not isinstance(value.type, Scalar):
        raise UnsupportedError(
            f"only numbers and arrays can be assigned to what an array selects, not {value.type}",
            hint="write a loop",
        )

    def store(indices: list[Typed]) -> None:
        store_element(low, value, element_address(low, array, indices), type.dtype, element_align(type))

    if array_type_of(index).dtype is boolean:
        _require_mask(low, array, index)
        _where(low, index, store)
        return
    places = _indices(array, index)
    for_each(low, extents_of(low, places), lambda at: store([_element(low, places, at)]))


def _assign_elements_to_selected(low: Lowering, array: Typed, index: Typed, value: Typed) -> None:
    from weft.frontend.python.lowering.arrays.allocation import copied

    type = array_type_of(array)
    # Elements that are read may be among those that are written: they are all read before.
    values = (
        value.settled(low)
        if isinstance(value, Lazy)
        else copied(low, Arguments("what an array selects", [], {}), value)
    )
    found = array_type_of(values)
    is_mask = array_type_of(index).dtype is boolean
    wanted = 1 if is_mask else array_type_of(index).ndim
    if found.ndim != wanted:
        raise TypingError(
            f"{value.type} is assigned to what an array selects: it has not {wanted} dimensions"
        )
    extents = extents_of(low, values)

    def store(indices: list[Typed], at: list[Typed]) -> None:
        places = [stretched_index(low, place, extent) for place, extent in zip(at, extents, strict=True)]
        element = _element(low, values, places)
        store_element(low, element, element_address(low, array, indices), type.dtype, element_align(type))

    if not is_mask:
        chosen = _indices(array, index)
        require_extents(low, extents, extents_of(low, chosen))
        for_each(low, extents_of(low, chosen), lambda at: store([_element(low, chosen, at)], at))
        return
    _require_mask(low, array, index)
    require_extents(low, extents[:1], [_count(low, index)])
    position = low.alloca(I64, "position")
    low.builder.store(const_int(0), position)

    def put(indices: list[Typed]) -> None:
        here = low.builder.load(I64, position)
        store(indices, [Typed(pyint, (here,), low=0)])
        low.builder.store(low.builder.binary("add", here, const_int(1), ("nsw",)), position)

    _where(low, index, put)


def _count(low: Lowering, mask: Typed) -> Value:
    """How many elements a mask selects."""
    from weft.frontend.python.lowering.calls.calls import call_function

    count = device_measures.true_in_mask if is_row_of_truths(mask) else device_arrays.nonzero
    counted = call_function(low, count, Arguments("nonzero", [flat(low, mask)], {}))
    return to_int64(low, counted, "a number of elements")


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
    require_same(low, extents_of(low, mask), extents_of(low, array))


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

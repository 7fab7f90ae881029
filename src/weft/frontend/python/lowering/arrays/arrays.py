"""Indexing: from the subscript of an array to an address, an element or a view.

A negative index counts from the end. The wrapping is emitted only where the index may be negative: ids, sizes,
range counters and unsigned integers are not.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.array_parts import (
    add,
    array_type_of,
    data_of,
    element_type,
    extents_of,
    has_unknown_extent,
    multiply,
    strides_of,
)
from weft.frontend.python.lowering.arrays.memory import load_element, scalar_align, store_element
from weft.frontend.python.lowering.calls.registry import CALLS, Arguments
from weft.frontend.python.lowering.calls.typed import Typed, items_of
from weft.frontend.python.lowering.checks import INDEX, check
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.types import Array, NoneType, Record, Tiled, Tuple
from weft.ir.builder import const_int
from weft.ir.types import I8
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Slice(Struct, frozen=True):
    """A slice in a subscript, each part None when it is left out."""

    lower: Typed | None = None
    upper: Typed | None = None
    step: Typed | None = None


class NewAxis(Struct, frozen=True):
    """``None`` in a subscript: a dimension of one element in the view."""


Index = Typed | Slice | NewAxis


def lower_index(low: Lowering, node: ast.expr, array: Array | Tiled) -> list[Index]:
    """The parts of a subscript, an ellipsis replaced by full slices."""
    parts: list[Index] = []
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    rest: int | None = None
    for element in elements:
        if isinstance(element, ast.Slice):
            bounds = (element.lower, element.upper, element.step)
            parts.append(Slice(*(None if part is None else low.expr(part) for part in bounds)))
            continue
        value = low.expr(element)
        if value.static is Ellipsis:
            rest = len(parts)
        elif isinstance(value.type, Tuple):
            parts += [_part_of(item) for item in items_of(value)]
        else:
            parts.append(_part_of(value))
    taken = sum(not isinstance(part, NewAxis) for part in parts)
    if taken > array.ndim:
        raise TypingError(f"{array} has {array.ndim} dimensions, not {taken}")
    if rest is not None:
        parts[rest:rest] = [Slice()] * (array.ndim - taken)
    if isinstance(array, Tiled) and any(isinstance(part, NewAxis) for part in parts):
        raise TypingError(f"{array} has no views")
    return parts


def _part_of(value: Typed) -> Index:
    return NewAxis() if isinstance(value.type, NoneType) else value


def _index_of(low: Lowering, node: ast.Subscript, type: Array) -> tuple[list[Index], list[Typed] | None]:
    """The parts of a subscript, and the indices of the one element that it names, if it does."""
    parts = lower_index(low, node.slice, type)
    low.at(node)
    indices = [part for part in parts if isinstance(part, Typed)]
    return parts, indices if len(indices) >= type.ndim and len(parts) == len(indices) else None


def load_item(low: Lowering, node: ast.Subscript, array: Typed) -> Typed:
    """Lower ``array[...]``: an element, a view when not all dimensions are indexed, or what an array selects."""
    from weft.frontend.python.lowering.arrays.reshaped import field_of_all
    from weft.frontend.python.lowering.arrays.selections import is_selection, selected
    from weft.frontend.python.lowering.arrays.views import view

    type = array_type_of(array)
    field = _field_named(node, type)
    if field is not None:
        low.at(node)
        return field_of_all(low, array, field)
    parts, indices = _index_of(low, node, type)
    if is_selection(parts):
        return selected(low, array, parts)
    if indices is None:
        return view(low, array, parts)
    return load_element(low, element_address(low, array, indices), type.dtype, element_align(type))


def _field_named(node: ast.Subscript, type: Array) -> str | None:
    """The field that ``array["name"]`` names of each record."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if not isinstance(key, str):
        return None
    if not isinstance(type.dtype, Record) or key not in type.dtype.fields:
        raise TypingError(f"{type} has no field '{key}'")
    return key


def store_item(low: Lowering, node: ast.Subscript, array: Typed, value: Typed) -> None:
    """Lower ``array[...] = value``; a number goes to all elements of a view, an array to those of its shape."""
    from weft.frontend.python.lowering.arrays.elementwise import assign_elements
    from weft.frontend.python.lowering.arrays.reshaped import field_of_all
    from weft.frontend.python.lowering.arrays.selections import assign_selected, is_selection
    from weft.frontend.python.lowering.arrays.views import view
    from weft.frontend.python.lowering.arrays.whole_arrays import fill

    type = array_type_of(array)
    require_writable(type)
    field = _field_named(node, type)
    parts, indices = ([], None) if field is not None else _index_of(low, node, type)
    if is_selection(parts):
        assign_selected(low, array, parts, value)
        return
    if indices is None:
        target = view(low, array, parts) if field is None else field_of_all(low, array, field)
        # A kernel has no place for an array of its members.
        if isinstance(value.type, Tuple) and not low.stack[0].is_kernel:
            value = CALLS[np.array](low, Arguments("array", [value], {}))
        if isinstance(value.type, Array):
            assign_elements(low, target, value)
        else:
            fill(low, target, value)
        return
    value = value.settled(low)
    store_element(low, value, element_address(low, array, indices), type.dtype, element_align(type))


def target_of(low: Lowering, node: ast.Subscript, array: Typed) -> Value | Typed:
    """What a subscript names as the target of an assignment: the address of an element, or a view."""
    from weft.frontend.python.lowering.arrays.reshaped import field_of_all
    from weft.frontend.python.lowering.arrays.selections import is_selection
    from weft.frontend.python.lowering.arrays.views import view

    type = array_type_of(array)
    require_writable(type)
    field = _field_named(node, type)
    if field is not None:
        return field_of_all(low, array, field)
    parts, indices = _index_of(low, node, type)
    if is_selection(parts):
        raise TypingError(
            "what an array selects cannot be changed in place", hint="write a[i] = a[i] + value"
        )
    return view(low, array, parts) if indices is None else element_address(low, array, indices)


def require_writable(type: Array | Tiled) -> None:
    """Refuse to write to a read-only array."""
    if type.readonly and isinstance(type, Array) and type.shape is not None:
        raise TypingError(
            "an array from outside the kernel is a constant, so it is read-only",
            hint="pass it as an argument",
        )
    if type.readonly:
        hint = "pass a writeable array: a.copy(), or after a.flags.writeable = True"
        raise TypingError(f"this array is read-only: {type}", hint=hint)


def element_align(type: Array | Tiled) -> int:
    """The alignment of the array's elements in memory."""
    if isinstance(type.dtype, Record):
        return type.dtype.align
    return scalar_align(type.dtype, isinstance(type, Tiled) or type.aligned)


def wrapped(low: Lowering, index: Typed, extent: Value | None) -> tuple[Value, bool]:
    """An index as i64 that counts from the start, and whether it is known not to be negative."""
    value = to_int64(low, index, "an array index")
    if extent is None or (index.low is not None and index.low >= 0):
        return value, extent is not None or (index.low is not None and index.low >= 0)
    if index.is_literal:
        return add(low, extent, value, ("nsw",)), False
    builder = low.builder
    negative = builder.icmp("slt", value, const_int(0))
    return builder.select(negative, builder.binary("add", value, extent, ("nsw",)), value), False


def check_index(low: Lowering, index: Value, extent: Value | None) -> None:
    """With ``debug=True``, report an index that is outside of an array."""
    if low.unit.options.debug and extent is not None:
        check(low, INDEX, low.builder.icmp("uge", index, extent))


def element_address(low: Lowering, array: Typed, indices: list[Typed]) -> Value:
    """The address of an element, given one index for each dimension."""
    type = array_type_of(array)
    extents: list[Value | None]
    # Where the size is only known to the launch, it is asked for where an index certainly counts from the end.
    from_end = any(index.int_literal is not None and index.int_literal < 0 for index in indices)
    unasked = has_unknown_extent(type) and not from_end
    extents = [None] * type.ndim if unasked else [*extents_of(low, array)]
    places: list[tuple[Value, bool]] = []
    for index, extent in zip(indices, extents, strict=True):
        value, nonnegative = wrapped(low, index, extent)
        check_index(low, value, extent)
        places.append((value, nonnegative))
    if not places:
        return data_of(array)
    if type.layout == "C":
        offset = _linear(low, places, extents)
        return low.builder.gep(element_type(type.dtype), data_of(array), (offset,), ("inbounds",))
    return offset_address(low, data_of(array), [v for v, _ in places], strides_of(low, array))


def _linear(low: Lowering, places: list[tuple[Value, bool]], extents: list[Value | None]) -> Value:
    """The number of an element in C order, row by row.

    An element in the array has a number below 2^63, so neither product nor sum wraps.
    """
    result, nonnegative = places[0]
    for (value, is_nonnegative), extent in zip(places[1:], extents[1:], strict=True):
        assert extent is not None
        flags = ("nuw", "nsw") if nonnegative else ("nsw",)
        nonnegative = nonnegative and is_nonnegative
        result = multiply(low, result, extent, flags)
        result = add(low, result, value, ("nuw", "nsw") if nonnegative else ("nsw",))
    return result


def offset_address(low: Lowering, data: Value, indices: list[Value], strides: list[Value]) -> Value:
    """The address at the byte offset that indices and byte strides give."""
    offset: Value = const_int(0)
    for index, stride in zip(indices, strides, strict=True):
        offset = add(low, offset, multiply(low, index, stride, ("nsw",)), ("nsw",))
    return low.builder.gep(I8, data, (offset,), ("inbounds",))


def index_values(value: Typed) -> list[Typed]:
    """The indices given to a function such as `cuda.atomic.add`: an integer or a tuple of them."""
    return list(items_of(value)) if isinstance(value.type, Tuple) else [value]

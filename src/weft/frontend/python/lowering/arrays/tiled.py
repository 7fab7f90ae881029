"""Arrays in blocks (Moll, §11.7): from indices to the address of an element.

Behind this there is plain arithmetic, shifts and masks: an element's number is that of its block, which counts blocks
row by row, times the elements of a block, and its number in the block. Rows of blocks are as many as cover the extent
and the padding in front of it.
"""

from __future__ import annotations

import ast
from math import prod
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.arrays.array_parts import add, data_of, element_type, multiply
from weft.frontend.python.lowering.arrays.arrays import (
    check_index,
    element_align,
    lower_index,
    require_writable,
    wrapped,
)
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import Tiled
from weft.ir.builder import const_int
from weft.ir.values import Value
from weft.tiled_arrays import padding_of

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_NO_WRAP = ("nuw", "nsw")


def tiled_type_of(array: Typed) -> Tiled:
    """The type of a value that is an array in blocks."""
    assert isinstance(array.type, Tiled)
    return array.type


def tiled_extents(array: Typed) -> list[Value]:
    """The extents as i64."""
    return list(array.parts[1:])


def load_tiled(low: Lowering, node: ast.Subscript, array: Typed) -> Typed:
    """Lower ``array[j, i]``."""
    type = tiled_type_of(array)
    return load_element(low, _place(low, node, array), type.dtype, element_align(type))


def store_tiled(low: Lowering, node: ast.Subscript, array: Typed, value: Typed) -> None:
    """Lower ``array[j, i] = value``."""
    type = tiled_type_of(array)
    address = tiled_target(low, node, array)
    store_element(low, value.settled(low), address, type.dtype, element_align(type))


def tiled_target(low: Lowering, node: ast.Subscript, array: Typed) -> Value:
    """The address of the element that a subscript names as the target of an assignment."""
    require_writable(tiled_type_of(array))
    return _place(low, node, array)


def _place(low: Lowering, node: ast.Subscript, array: Typed) -> Value:
    """The address of the element that a subscript names.

    Raises
    ------
    UnsupportedError
        It names more than an element.
    """
    type = tiled_type_of(array)
    parts = lower_index(low, node.slice, type)
    low.at(node)
    indices = [part for part in parts if isinstance(part, Typed)]
    if len(indices) < type.ndim:
        raise UnsupportedError(
            f"{type} has no views: blocks of memory are no rows",
            hint="index it by an integer for each dimension, in loops over them",
        )
    return tiled_address(low, array, indices)


def tiled_address(low: Lowering, array: Typed, indices: list[Typed]) -> Value:
    """The address of an element of an array in blocks, given one index for each dimension."""
    type = tiled_type_of(array)
    if len(indices) != type.ndim:
        raise TypingError(f"{type} is indexed by {type.ndim} integers, not {len(indices)}")
    padding = padding_of(type.block, type.origin)
    places, extents = list[Value](), list[Value]()
    for index, extent, before in zip(indices, tiled_extents(array), padding, strict=True):
        value, _ = wrapped(low, index, extent)
        check_index(low, value, extent)
        places.append(add(low, value, const_int(before), _NO_WRAP))
        extents.append(add(low, extent, const_int(before), _NO_WRAP))
    number, inside = _block_number(low, places, extents, type.block), _inside(low, places, type.block)
    offset = add(low, multiply(low, number, const_int(prod(type.block)), _NO_WRAP), inside, _NO_WRAP)
    return low.builder.gep(element_type(type.dtype), data_of(array), (offset,), ("inbounds",))


def _block_number(low: Lowering, places: list[Value], extents: list[Value], block: tuple[int, ...]) -> Value:
    """The number of the block that an element is in."""
    number = _shifted(low, places[0], block[0])
    for place, extent, size in zip(places[1:], extents[1:], block[1:], strict=True):
        columns = _shifted(low, add(low, extent, const_int(size - 1), _NO_WRAP), size)
        number = multiply(low, number, columns, _NO_WRAP)
        number = add(low, number, _shifted(low, place, size), _NO_WRAP)
    return number


def _inside(low: Lowering, places: list[Value], block: tuple[int, ...]) -> Value:
    """The number of an element in its block."""
    number: Value = const_int(0)
    for place, size in zip(places, block, strict=True):
        number = multiply(low, number, const_int(size), _NO_WRAP)
        if size > 1:
            number = add(low, number, low.builder.binary("and", place, const_int(size - 1)), _NO_WRAP)
    return number


def _shifted(low: Lowering, value: Value, size: int) -> Value:
    """A number that is not negative, divided by a power of two."""
    return value if size == 1 else low.builder.binary("ashr", value, const_int(size.bit_length() - 1))

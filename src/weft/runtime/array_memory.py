"""Where the bytes of a NumPy array are."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from weft.tiled_arrays import TiledArray


def byte_extent(array: np.ndarray[Any, Any]) -> int:
    """Return how many bytes lie between the lowest and the highest byte of an array, both included."""
    if array.flags.c_contiguous or not array.size:
        return array.nbytes
    spans = ((n - 1) * abs(stride) for n, stride in zip(array.shape, array.strides, strict=True))
    return sum(spans) + array.itemsize


def byte_bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the address of an array's lowest byte, and that behind its highest."""
    if not array.size:
        return data_pointer(array), data_pointer(array)
    spans = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    low = data_pointer(array) + sum(span for span in spans if span < 0)
    return low, low + sum(map(abs, spans)) + array.itemsize


LARGE = 1 << 31
"""Bytes of arrays in which 32 bits are not enough for all places."""

LONG = 1 << 30
"""Elements along a dimension of which twice as many are too many for 32 bits: ``2 * i + 1``, as in trees, may wrap."""


def has_large_array(args: Iterable[Any]) -> bool:
    """Return whether one of the arrays, also of those in tuples, spans `LARGE` bytes, or has `LONG` extents."""
    for value in args:
        if isinstance(value, TiledArray):
            value = value.memory
        if isinstance(value, np.ndarray):
            if byte_extent(value) >= LARGE:
                return True
            # Of empty arrays, and where elements lie on each other, extents are no part of the bytes.
            tells = value.size and value.flags.c_contiguous and value.itemsize > 1
            if not tells and max(value.shape, default=0) >= LONG:
                return True
        elif isinstance(value, tuple) and has_large_array(value):
            return True
    return False


def has_large_extent(args: Iterable[Any]) -> bool:
    """Return whether one of the arrays, also of those in tuples, has `LONG` elements, or as many along a dimension."""
    return any(max(array.size, *array.shape, 0) >= LONG for array in _arrays_in(args))


def have_common_bytes(args: Iterable[Any]) -> bool:
    """Return whether two of the arrays, also of those in tuples, may share bytes."""
    bounds = sorted(byte_bounds(array) for array in _arrays_in(args) if array.size)
    return any(low < behind for (_, behind), (low, _) in pairwise(bounds))


def lies_inside(array: np.ndarray[Any, Any]) -> bool:
    """Return whether there may be more of what an array is a part of, in front of it."""
    base = array.base
    return base is not None and not (type(base) is np.ndarray and data_pointer(base) == data_pointer(array))


def lie_inside(args: Iterable[Any]) -> bool:
    """Return whether one of the arrays, also of those in tuples, may have something in front of it (`lies_inside`)."""
    return any(lies_inside(array) for array in _arrays_in(args))


def meet_others(args: Sequence[Any], written: Sequence[int]) -> bool:
    """Return whether one of the arrays with these numbers may share bytes with another one."""
    bounds = [
        (n, byte_bounds(value))
        for n, value in enumerate(args)
        if isinstance(value, np.ndarray) and value.size
    ]
    return any(
        low < other_behind and other_low < behind
        for n, (low, behind) in bounds
        if n in written
        for other, (other_low, other_behind) in bounds
        if other != n
    )


def _arrays_in(args: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    for value in args:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, TiledArray):
            yield value.memory
        elif isinstance(value, tuple):
            yield from _arrays_in(value)


# The C struct behind an array is fixed by NumPy's ABI: the object header, then the data pointer. Reading it
# takes an eighth of the time of `array.ctypes.data`, which would be most of the time of packing an array.
_DATA_OFFSET = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address


def _read_data_pointer(array: np.ndarray[Any, Any]) -> int:
    return _pointer_at(id(array) + _DATA_OFFSET).value or 0


def _ask_data_pointer(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data


def _layout_is_known() -> bool:
    probe = np.arange(7)[2:]
    return _read_data_pointer(probe) == probe.ctypes.data


data_pointer = _read_data_pointer if _layout_is_known() else _ask_data_pointer

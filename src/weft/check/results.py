"""What a call gives back, as something to be compared: numbers, and arrays by their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from weft.check.compare import elements_differ
from weft.check.inputs import Content, contiguous_strides
from weft.runtime.results import Description, dtype_of_text, slots_of

Array = NDArray[Any]

Read = Callable[[int, int], Content | None]
"""What is in memory from an address on, so many bytes; None where nothing is."""

Place = Callable[[int], tuple[int, int] | None]
"""Which of a call's regions an address leads into, and how far; None for none."""


class Result(Struct, frozen=True):
    """A number, or an array.

    Parameters
    ----------
    name
        As messages name it: ``the result``, ``the result[1]``.
    data
        The number or the elements.
    state
        Which bytes of them are not defined; None when all are.
    place
        Where an array leads to: into which argument; None for memory of its own.
    """

    name: str
    data: Array
    state: Array | None
    place: tuple[int, int] | None = None


def read_results(description: Description, slots: Content, read: Read, place: Place) -> list[Result]:
    """The results in the slots of a call that has not raised."""
    offsets = iter(range(0, 8 * slots_of(description), 8))
    return list(_results("the result", description, slots, offsets, read, place))


def _results(
    name: str, description: Description, slots: Content, offsets: Iterator[int], read: Read, place: Place
) -> Iterator[Result]:
    match description[0]:
        case "none":
            return
        case "tuple":
            for index, item in enumerate(description[1]):
                yield from _results(f"{name}[{index}]", item, slots, offsets, read, place)
        case "array":
            yield _array(name, description, slots, offsets, read, place)
        case "tiled":
            yield _tiled(name, description, slots, offsets, place)
        case _:
            kind, bits = description[1:] if description[0] == "scalar" else ("i", 64)
            parts = (
                [(".real", "f", bits // 2), (".imag", "f", bits // 2)] if kind == "c" else [("", kind, bits)]
            )
            for suffix, letter, size in parts:
                dtype = np.dtype(f"{letter}{max(1, size // 8)}")
                yield Result(name + suffix, *_number(slots, next(offsets), dtype))


def _number(slots: Content, offset: int, dtype: np.dtype[Any]) -> tuple[Array, Array | None]:
    span = slice(offset, offset + dtype.itemsize)
    data = slots.data[span].view(dtype).reshape(())
    if slots.state is None:
        return data, None
    return data, slots.state[span].view(f"V{dtype.itemsize}").reshape(())


def _array(
    name: str, description: Description, slots: Content, offsets: Iterator[int], read: Read, place: Place
) -> Result:
    _, descr, ndim, contiguous, _, known = description
    dtype = dtype_of_text(descr)
    first, *others = [next(offsets) for _ in range(slots_of(description))]
    span = slice(first, first + 8 * (1 + len(others)))
    if slots.state is not None and slots.state[span].any():
        return Result(name, slots.data[span], slots.state[span])
    address, *rest = map(int, slots.data[span].view(np.int64))
    address &= (1 << 64) - 1
    shape = tuple(rest[:ndim] if known is None else known)
    if 0 in shape:
        return Result(name, np.empty(shape, dtype), None)
    strides = contiguous_strides(shape, dtype.itemsize) if contiguous else tuple(rest[-ndim:])
    low = address + sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
    size = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    content = read(low, size)
    if content is None:
        return Result(name, np.zeros(shape, dtype), np.ones(shape, f"V{dtype.itemsize}"), place(address))
    elements = np.ndarray(shape, dtype, content.data, address - low, strides)
    state = None
    if content.state is not None:
        state = np.ndarray(shape, f"V{dtype.itemsize}", content.state, address - low, strides)
    return Result(name, elements, state, place(address))


def _tiled(
    name: str, description: Description, slots: Content, offsets: Iterator[int], place: Place
) -> Result:
    """An array in blocks: which argument it is; elements of arguments are compared as these."""
    first, *others = [next(offsets) for _ in range(slots_of(description))]
    span = slice(first, first + 8 * (1 + len(others)))
    state = slots.state[span] if slots.state is not None and slots.state[span].any() else None
    if state is not None:
        return Result(name, slots.data[span], state)
    address, *shape = map(int, slots.data[span].view(np.int64))
    return Result(name, np.array(shape), None, place(address & ((1 << 64) - 1)))


def first_result_difference(
    wanted: Sequence[Result], got: Sequence[Result], slack: float | None
) -> str | None:
    """Say which result differs, None when none does."""
    for before, after in zip(wanted, got, strict=True):
        if before.data.shape != after.data.shape or before.data.dtype != after.data.dtype:
            return f"{before.name} has the shape {after.data.shape}, and had {before.data.shape}"
        if before.place != after.place:
            return f"{before.name} leads to another place in memory"
        found = elements_differ(before.name, (before.data, after.data, before.state, after.state), slack)
        if found is not None:
            return found
    return None

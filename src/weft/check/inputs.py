"""The memory that a launch's arguments give access to, and copies of it for the interpreter."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from weft.interp import Memory
from weft.runtime.arguments import (
    POINTER,
    ArrayParameter,
    Parameter,
    RecordParameter,
    TiledParameter,
    TupleParameter,
)
from weft.runtime.packing import ArgumentPacker
from weft.tiled_arrays import TiledArray, memory_shape

Bytes = NDArray[np.uint8]

_PAGE = 4096

_SLOT = re.compile(r"[^\dx]")
"""The code of a slot among formats: what is behind a number is padding."""


class Operand(Struct, frozen=True):
    """An array among the arguments.

    Parameters
    ----------
    name
        As messages name it: ``x``, ``pair[1]``.
    address, shape, strides, dtype
        Its elements.
    low, high
        The bytes it spans.
    writable
        Whether it may be written.
    """

    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    low: int
    high: int
    writable: bool

    def elements(self, data: Bytes, base: int) -> NDArray[Any]:
        """The operand's elements in `data`, a copy of the bytes from address `base` on."""
        return np.ndarray(self.shape, self.dtype, data, self.address - base, self.strides)

    def mark(self, marks: Bytes, base: int) -> None:
        """Set the bytes of the operand's elements in `marks`, one for each byte from `base` on."""
        size = self.dtype.itemsize
        np.ndarray(self.shape, f"V{size}", marks, self.address - base, self.strides)[...] = b"\1" * size


class Region(Struct, frozen=True):
    """A run of bytes that operands cover.

    Parameters
    ----------
    base
        The address of the first byte.
    data
        What it held before the launch.
    operands
        The arrays in it, which may overlap.
    writable
        Whether one of them may be written.
    """

    base: int
    data: Bytes
    operands: tuple[Operand, ...]
    writable: bool


class Content(Struct, frozen=True):
    """What a region holds after a run.

    Parameters
    ----------
    data
        The bytes.
    state
        Which of them are poison or undefined; None when none is.
    """

    data: Bytes
    state: Bytes | None = None


class LaunchInputs(Struct, frozen=True):
    """The arguments of a launch.

    Parameters
    ----------
    slots
        The values, as the packer gives them.
    formats
        A `struct` code for each.
    regions
        The memory that they point into.
    """

    slots: tuple[Any, ...]
    formats: tuple[str, ...]
    regions: tuple[Region, ...]

    @classmethod
    def of(cls, packer: ArgumentPacker, args: Sequence[Any]) -> LaunchInputs:
        """Copy what the arguments give access to."""
        operands = _all_operands(packer, args)
        return cls(tuple(packer.pack(args, checked=True)), _slot_formats(packer), tuple(_regions(operands)))

    @classmethod
    def of_slots(cls, packer: ArgumentPacker, slots: bytes) -> LaunchInputs:
        """The same, of the slots that a call was given."""
        values = struct.unpack("@" + packer.formats, slots)
        left = iter(values)
        operands = [
            o
            for name, p in zip(packer.names, packer.parameters, strict=True)
            for o in _in_slots(name, p, left)
        ]
        return cls(values, _slot_formats(packer), tuple(_regions(operands)))

    def place(self, address: int) -> tuple[int, int] | None:
        """Which of the regions an address leads into, and how far."""
        for k, region in enumerate(self.regions):
            if 0 <= address - region.base < region.data.size:
                return k, address - region.base
        return None

    def contents(self) -> list[Content]:
        """What the regions hold now."""
        return [Content(bytes_at(region.base, region.data.size)) for region in self.regions]


class Workspace:
    """Fresh copies of a launch's regions, as memory for the interpreter.

    Attributes
    ----------
    memory
        The interpreter's memory, with the copies in it.
    slots
        The launch's slots, their pointers moved to the copies.
    """

    __slots__ = ("_buffers", "_inputs", "memory", "slots")

    def __init__(self, inputs: LaunchInputs) -> None:
        self._inputs = inputs
        self.memory = Memory()
        self._buffers = [_copy_aligned_alike(region) for region in inputs.regions]
        for buffer in self._buffers:
            self.memory.map_array(buffer)
        self.slots = [
            self._moved(slot) if format == POINTER else slot
            for slot, format in zip(inputs.slots, inputs.formats, strict=True)
        ]

    def packed(self) -> bytes:
        """The slots as entry points take them, eight bytes each."""
        padded = (f"{code}{8 - struct.calcsize(code)}x" for code in self._inputs.formats)
        return struct.pack("@" + "".join(padded), *self.slots)

    def _moved(self, address: int) -> int:
        for region, buffer in zip(self._inputs.regions, self._buffers, strict=True):
            if region.base <= address < region.base + region.data.size:
                return address - region.base + buffer.ctypes.data
        return address

    def place(self, address: int) -> tuple[int, int] | None:
        """Which of the regions an address leads into, and how far."""
        for k, buffer in enumerate(self._buffers):
            offset = address - buffer.ctypes.data
            if 0 <= offset < buffer.size:
                return k, offset
        return None

    def contents(self) -> list[Content]:
        """What the copies hold now."""
        found = []
        for buffer in self._buffers:
            placed = self.memory.find(buffer.ctypes.data)
            found.append(Content(buffer.copy(), placed.state if placed else None))
        return found


def spanned_bytes(packer: ArgumentPacker, args: Sequence[Any]) -> int:
    """How many bytes the arrays among the arguments span."""
    return sum(o.high - o.low for o in _all_operands(packer, args))


def _all_operands(packer: ArgumentPacker, args: Sequence[Any]) -> list[Operand]:
    return [o for name, value in zip(packer.names, args, strict=True) for o in _operands(name, value)]


def _operands(name: str, value: Any) -> Iterator[Operand]:
    if isinstance(value, np.ndarray) and value.size:
        low, high = np.lib.array_utils.byte_bounds(value)
        address = value.__array_interface__["data"][0]
        writable = value.flags.writeable
        yield Operand(name, address, value.shape, value.strides, value.dtype, low, high, writable)
    elif isinstance(value, TiledArray):
        yield from _operands(name, value.memory)
    elif isinstance(value, np.void):
        address = value.__array_interface__["data"][0]
        yield Operand(name, address, (), (), value.dtype, address, address + value.dtype.itemsize, False)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _operands(f"{name}[{index}]", item)


def _slot_formats(packer: ArgumentPacker) -> tuple[str, ...]:
    """A `struct` code for each slot; the padding behind small ones, an item of its own, is dropped."""
    return tuple(_SLOT.findall(packer.formats))


def contiguous_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The byte strides of a C-contiguous array of elements of so many bytes."""
    return tuple(size * prod(shape[k + 1 :]) for k in range(len(shape)))


def _in_slots(name: str, parameter: Parameter, slots: Iterator[Any]) -> Iterator[Operand]:
    """The arrays that the slots of an argument lead to."""
    if isinstance(parameter, TupleParameter):
        for index, item in enumerate(parameter.items):
            yield from _in_slots(f"{name}[{index}]", item, slots)
    elif isinstance(parameter, ArrayParameter):
        address, dtype = next(slots), parameter.dtype
        shape = tuple(next(slots) for _ in range(parameter.ndim))
        if parameter.contiguous:
            strides = contiguous_strides(shape, dtype.itemsize)
        else:
            strides = tuple(next(slots) for _ in range(parameter.ndim))
        if prod(shape):
            spans = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
            low = address + sum(span for span in spans if span < 0)
            high = low + sum(map(abs, spans)) + dtype.itemsize
            yield Operand(name, address, shape, strides, dtype, low, high, parameter.writable)
    elif isinstance(parameter, TiledParameter):
        address, dtype = next(slots), parameter.dtype
        shape = memory_shape([next(slots) for _ in parameter.block], parameter.block, parameter.origin)
        if size := prod(shape) * dtype.itemsize:
            strides = contiguous_strides(shape, dtype.itemsize)
            yield Operand(name, address, shape, strides, dtype, address, address + size, parameter.writable)
    elif isinstance(parameter, RecordParameter):
        address, dtype = next(slots), parameter.dtype
        yield Operand(name, address, (), (), dtype, address, address + dtype.itemsize, False)
    else:
        for _ in _SLOT.findall(parameter.formats):
            next(slots)


def _regions(operands: Sequence[Operand]) -> Iterator[Region]:
    """The operands' memory in disjoint runs."""
    group: list[Operand] = []
    for operand in sorted(operands, key=lambda o: o.low):
        if group and operand.low >= max(o.high for o in group):
            yield region_of(group)
            group = []
        group.append(operand)
    if group:
        yield region_of(group)


def region_of(operands: Sequence[Operand]) -> Region:
    """The run of bytes that operands cover, as it is now."""
    base, end = operands[0].low, max(o.high for o in operands)
    return Region(base, bytes_at(base, end - base), tuple(operands), any(o.writable for o in operands))


def bytes_at(address: int, size: int) -> Bytes:
    """A copy of so many bytes of the process's memory."""
    return np.frombuffer(ctypes.string_at(address, size), np.uint8)


def _copy_aligned_alike(region: Region) -> Bytes:
    """A copy at the same place within a page, so that what is aligned stays so and nothing else is."""
    room = np.empty(region.data.size + _PAGE, np.uint8)
    start = (region.base - room.ctypes.data) % _PAGE
    copy = room[start : start + region.data.size]
    copy[:] = region.data
    copy.flags.writeable = region.writable
    return copy

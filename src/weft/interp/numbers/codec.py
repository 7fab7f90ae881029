"""How values lie in memory: reading and writing lane data at byte offsets of an object."""

from __future__ import annotations

from functools import cache

import numpy as np
from msgspec import Struct

from weft.interp.lanes import POISON, UNDEF, Array, Flags, dtype_of, member_types
from weft.interp.memory.memory import MemoryObject
from weft.interp.numbers.casts import from_bits, to_bits
from weft.interp.numbers.integers import width
from weft.ir.layout import DataLayout
from weft.ir.types import FloatType, IntType, PointerType, StructType, Type, VectorType


class Leaf(Struct, frozen=True, eq=False):
    """A scalar or vector in memory.

    `unit` is the dtype of one memory element and `count` how many of them follow each other (0: a scalar);
    `unit` is None when elements are not bytes wide by a power of two, and then `bits` bits of `size` bytes
    are decoded one by one. Integers that do not fill their unit are cut down by `mask`, unless they are ``i1``
    (`is_bool`).
    """

    type: Type
    size: int
    unit: np.dtype | None
    count: int
    bits: int
    is_bool: bool = False
    mask: Array | None = None

    def read(self, source: MemoryObject, offsets: Array) -> tuple[Array, Flags]:
        """The values at byte `offsets` (uint64), all in bounds."""
        if self.unit is None:
            raw = source.data[_byte_index(offsets, self.size)]
            return self._decode(raw), self._flags_of_bytes(source, offsets)
        data = _gather(source.view(self.unit), source.data, offsets, self.unit, self.count)
        flags = None
        if source.state is not None:
            flags = self._flags_of_units(source.state, offsets)
        return self._cut_down(data), flags

    def _cut_down(self, data: Array) -> Array:
        """Units with no more bits than the type has."""
        if self.is_bool:
            return (data & np.uint8(1)).view(np.bool_)
        return data if self.mask is None else data & self.mask

    def write(self, target: MemoryObject, offsets: Array, data: Array, flags: Flags) -> None:
        """Store values, one per offset; of several at one offset the last stays."""
        if target.state is not None or flags is not None:
            self._write_state(target.state_bytes(), offsets, flags)
        if self.unit is None:
            target.data[_byte_index(offsets, self.size)] = self._encode(data)
            return
        if data.dtype == np.bool_:
            data = data.view(np.uint8)
        _scatter(target.view(self.unit), target.data, offsets, self.unit, self.count, data)

    def read_defined(self, source: MemoryObject, offset: int) -> Array | None:
        """The value at one byte offset; None where it has flags, or lies otherwise than in units."""
        if self.unit is None:
            return None
        start, rest = divmod(offset, self.unit.itemsize)
        state = source.state
        if rest or (state is not None and state[offset : offset + self.size].tobytes().strip(b"\0")):
            return None
        data = source.view(self.unit)[start : start + (self.count or 1)].copy()
        if self.mask is not None or self.is_bool:
            data = self._cut_down(data)
        return data[None, :] if self.count else data

    def write_defined(self, target: MemoryObject, offset: int, data: Array) -> bool:
        """Whether a value without flags could be stored, at one byte offset."""
        if self.unit is None:
            return False
        start, rest = divmod(offset, self.unit.itemsize)
        if rest:
            return False
        if target.state is not None:
            target.state[offset : offset + self.size] = 0
        target.view(self.unit)[start : start + (self.count or 1)] = (
            data.view(np.uint8) if data.dtype == np.bool_ else data
        )
        return True

    def _flags_of_units(self, state: Array, offsets: Array) -> Flags:
        assert self.unit is not None
        if offsets.size == 1:
            start = int(offsets[0])
            if not np.count_nonzero(state[start : start + self.size]):
                return None
        word = np.dtype(f"u{self.unit.itemsize}")
        whole = state.size - state.size % word.itemsize
        found = _gather(state[:whole].view(word), state, offsets, word, self.count)
        if not np.count_nonzero(found):
            return None
        ones = int.from_bytes(b"\x01" * word.itemsize, "little")
        poison = (found & word.type(2 * ones)) != 0
        undef = (found & word.type(ones)) != 0
        return np.where(poison, POISON, undef * UNDEF).astype(np.uint8)

    def _flags_of_bytes(self, source: MemoryObject, offsets: Array) -> Flags:
        if source.state is None:
            return None
        found = np.bitwise_or.reduce(source.state[_byte_index(offsets, self.size)], axis=1)
        if not np.count_nonzero(found):
            return None
        flags = np.where(found & POISON, POISON, found).astype(np.uint8)
        return np.repeat(flags[:, None], self.count, 1) if self.count else flags

    def _write_state(self, state: Array, offsets: Array, flags: Flags) -> None:
        if self.unit is None:
            lane = np.uint8(0)
            if flags is not None:
                lane = (flags.max(axis=1) if flags.ndim == 2 else flags)[:, None]
            state[_byte_index(offsets, self.size)] = lane
            return
        if flags is None and offsets.size == 1:
            start = int(offsets[0])
            state[start : start + self.size] = 0
            return
        word = np.dtype(f"u{self.unit.itemsize}")
        ones = word.type(int.from_bytes(b"\x01" * word.itemsize, "little"))
        shape = (offsets.size, self.count) if self.count else (offsets.size,)
        pattern = (
            np.zeros(shape, word) if flags is None else np.broadcast_to(flags.astype(word) * ones, shape)
        )
        whole = state.size - state.size % word.itemsize
        _scatter(state[:whole].view(word), state, offsets, word, self.count, pattern)

    def _decode(self, raw: Array) -> Array:
        """Values from their bytes, shape (lanes, size)."""
        single = np.unpackbits(raw, axis=1, bitorder="little").astype(np.bool_)
        scalar_bits = self.bits // max(self.count, 1)
        columns = [self._number(single[:, i * scalar_bits : (i + 1) * scalar_bits])
                   for i in range(max(self.count, 1))]  # fmt: skip
        data = np.stack(columns, axis=1) if self.count else columns[0]
        return from_bits(self.type, data)

    def _number(self, bits: Array) -> Array:
        n = bits.shape[1]
        if n == 1:
            return bits[:, 0]
        dtype = dtype_of(IntType(n))
        total = np.zeros(bits.shape[0], dtype)
        for i in range(n):
            bit = bits[:, i].astype(dtype)
            total = total | (bit << (i if dtype.kind == "O" else dtype.type(i)))
        return total

    def _encode(self, data: Array) -> Array:
        """The bytes of values, shape (lanes, size)."""
        columns = to_bits(self.type, data)
        if columns.ndim == 1:
            columns = columns[:, None]
        scalar_bits = self.bits // max(self.count, 1)
        raw = width(scalar_bits).raw(columns)
        single = np.zeros((columns.shape[0], self.size * 8), np.uint8)
        for element in range(columns.shape[1]):
            for i in range(scalar_bits):
                single[:, element * scalar_bits + i] = (raw[:, element] >> i) & 1
        return np.packbits(single, axis=1, bitorder="little")


def _byte_index(offsets: Array, size: int) -> Array:
    return offsets.astype(np.int64)[:, None] + np.arange(size)


def _gather(units: Array, raw: Array, offsets: Array, unit: np.dtype, count: int) -> Array:
    if offsets.size == 1 and (only := _only_units(offsets, unit, count)) is not None:
        found = units[only].copy()
        return found.reshape(1, count) if count else found
    index = _unit_index(offsets, unit, count)
    if index is not None:
        return units[index]
    size = unit.itemsize * max(count, 1)
    data = np.ascontiguousarray(raw[_byte_index(offsets, size)]).view(unit)
    return data if count else data[:, 0]


def _scatter(units: Array, raw: Array, offsets: Array, unit: np.dtype, count: int, data: Array) -> None:
    if offsets.size == 1 and (only := _only_units(offsets, unit, count)) is not None:
        units[only] = data[0]
        return
    index = _unit_index(offsets, unit, count)
    if index is not None:
        units[index] = data
        return
    size = unit.itemsize * max(count, 1)
    columns = np.ascontiguousarray(data).view(np.uint8).reshape(offsets.size, size)
    raw[_byte_index(offsets, size)] = columns


def _only_units(offsets: Array, unit: np.dtype, count: int) -> slice | None:
    """The positions of a single access, which a slice finds sooner; None when it is no multiple of the unit."""
    start, rest = divmod(int(offsets[0]), unit.itemsize)
    return None if rest else slice(start, start + (count or 1))


def _unit_index(offsets: Array, unit: np.dtype, count: int) -> Array | None:
    """The positions in an array of `unit`; None when some offset is no multiple of the unit."""
    size = unit.itemsize
    if size > 1 and np.bitwise_or.reduce(offsets) & np.uint64(size - 1):
        return None
    index = offsets.view(np.int64)
    if size > 1:
        index = index >> (size.bit_length() - 1)
    return index[:, None] + np.arange(count) if count else index


@cache
def leaf(type: Type, layout: DataLayout) -> Leaf:
    """How a scalar or vector type lies in memory."""
    scalar = type.scalar
    count = type.count if isinstance(type, VectorType) else 0
    size = layout.store_size(type)
    bits = layout.bit_size(type)
    if isinstance(scalar, PointerType):
        unit = np.dtype(f"u{layout.pointer_size(scalar.space)}")
    elif isinstance(scalar, FloatType):
        unit = dtype_of(scalar)
    else:
        assert isinstance(scalar, IntType), f"{type} is no leaf"
        whole_bytes = scalar.bits in (8, 16, 32, 64) or (not count and (scalar.bits + 7) // 8 in (1, 2, 4, 8))
        unit = None
        if whole_bytes:
            unit = np.dtype(f"u{(scalar.bits + 7) // 8}")
    own = scalar.bits if isinstance(scalar, IntType) else 0
    mask = width(own).constant((1 << own) - 1) if unit is not None and 1 < own < 8 * unit.itemsize else None
    return Leaf(type, size, unit, count, bits, own == 1, mask)


@cache
def leaves(type: Type, layout: DataLayout) -> tuple[tuple[int, Leaf], ...]:
    """The scalars and vectors that a type consists of, each with its byte offset."""
    if not type.is_aggregate:
        return ((0, leaf(type, layout)),)
    members = member_types(type)
    if isinstance(type, StructType):
        starts = layout.struct_layout(type)[0]
    else:
        starts = tuple(i * layout.size(m) for i, m in enumerate(members))
    return tuple(
        (start + offset, inner)
        for start, member in zip(starts, members, strict=True)
        for offset, inner in leaves(member, layout)
    )

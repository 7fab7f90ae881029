"""Semantics of the instructions that take values apart and put them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.lanes import POISON, Array, Bundle, Flags, Lanes, LaneValue, full
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import VectorType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame


def decode_extractvalue(decoder: Decoder, i: Instruction) -> Compute:
    """``extractvalue``: a member of a bundle."""
    slot = decoder.slot(i.operands[0])
    indices: tuple[int, ...] = i.attrs["indices"]

    def compute(frame: Frame) -> LaneValue:
        value = frame.env[slot]
        for index in indices:
            assert isinstance(value, Bundle)
            value = value.members[index]
        return value

    return compute


def decode_insertvalue(decoder: Decoder, i: Instruction) -> Compute:
    """``insertvalue``: the bundle with one member replaced."""
    aggregate, inserted = map(decoder.slot, i.operands)
    indices: tuple[int, ...] = i.attrs["indices"]

    def replaced(value: LaneValue, path: tuple[int, ...], new: LaneValue) -> LaneValue:
        if not path:
            return new
        assert isinstance(value, Bundle)
        members = list(value.members)
        members[path[0]] = replaced(members[path[0]], path[1:], new)
        return Bundle(tuple(members))

    return lambda frame: replaced(frame.env[aggregate], indices, frame.env[inserted])


def _element_flags(value: Lanes, lanes: int, count: int) -> Flags:
    return None if value.flags is None else full(value.flags, (lanes, count))


def decode_extractelement(decoder: Decoder, i: Instruction) -> Compute:
    """``extractelement``: poison where the index is out of range."""
    vector_type = i.operands[0].type
    assert isinstance(vector_type, VectorType)
    count = vector_type.count
    vector_slot, index_slot = map(decoder.slot, i.operands)
    fixed = _fixed(i.operands[1], count)
    if fixed is not None:
        return lambda frame: column(frame.env[vector_slot], fixed)

    def compute(frame: Frame) -> LaneValue:
        vector, index = frame.env[vector_slot], frame.env[index_slot]
        position, outside = _clamped(index.data, count)
        lanes = max(vector.data.shape[0], position.shape[0], _rows(vector.flags), _rows(index.flags))
        rows = np.arange(lanes)
        data = full(vector.data, (lanes, count))[rows, position]
        flags = _element_flags(vector, lanes, count)
        if flags is not None:
            flags = flags[rows, position]
        return Lanes(data, _index_flags(flags, index.flags, outside))

    return compute


def column(value: Lanes, number: int) -> Lanes:
    """One element of a vector, as a scalar."""
    flags = value.flags
    if flags is not None:
        flags = flags[:, number] if flags.shape[1] > 1 else flags[:, 0]
    return Lanes(value.data[:, number], flags)


def _fixed(index: Value, count: int) -> int | None:
    """The number of an element that is a constant in range."""
    return index.value if isinstance(index, ConstInt) and index.value < count else None


def _clamped(index: Array, count: int) -> tuple[Array, Array]:
    outside = index >= count
    return np.where(outside, 0, index).astype(np.int64), outside


def _rows(flags: Flags) -> int:
    return 1 if flags is None else flags.shape[0]


def _index_flags(flags: Flags, index_flags: Flags, outside: Array) -> Flags:
    """Flags of a result, with those of the index and poison where the index is out of range."""
    for more in (index_flags, outside * POISON if np.count_nonzero(outside) else None):
        if more is not None:
            flags = more if flags is None else flags | more
    return flags


def decode_insertelement(decoder: Decoder, i: Instruction) -> Compute:
    """``insertelement``: all poison where the index is out of range."""
    vector_type = i.type
    assert isinstance(vector_type, VectorType)
    count = vector_type.count
    vector_slot, value_slot, index_slot = map(decoder.slot, i.operands)

    def replaced(vector: Lanes, value: Lanes, here: Array) -> Lanes:
        flags: Flags = None
        if vector.flags is not None or value.flags is not None:
            old = np.uint8(0) if vector.flags is None else vector.flags
            new = np.uint8(0) if value.flags is None else value.flags[:, None]
            flags = np.where(here, new, old)
        return Lanes(np.where(here, value.data[:, None], vector.data), flags)

    fixed = _fixed(i.operands[2], count)
    if fixed is not None:
        there = np.arange(count)[None, :] == fixed
        return lambda frame: replaced(frame.env[vector_slot], frame.env[value_slot], there)

    def compute(frame: Frame) -> LaneValue:
        vector, value, index = frame.env[vector_slot], frame.env[value_slot], frame.env[index_slot]
        position, outside = _clamped(index.data, count)
        made = replaced(vector, value, np.arange(count) == position[:, None])
        flags = made.flags
        lane = _index_flags(None, index.flags, outside)
        if lane is not None:
            flags = lane[:, None] if flags is None else flags | lane[:, None]
        return Lanes(made.data, flags)

    return compute


def decode_shufflevector(decoder: Decoder, i: Instruction) -> Compute:
    """``shufflevector``: elements of both vectors, poison where the mask says -1."""
    mask = np.array(i.attrs["mask"], np.int64)
    source_type = i.operands[0].type
    assert isinstance(source_type, VectorType)
    count = source_type.count
    a_slot, b_slot = decoder.slot(i.operands[0]), decoder.slot(i.operands[1])
    unspecified = mask < 0
    chosen = np.where(unspecified, 0, mask)
    from_b = chosen >= count
    columns = np.where(from_b, chosen - count, chosen)
    lane_flags = np.where(unspecified, POISON, np.uint8(0))[None, :]
    leaves_out, of_both = bool(unspecified.any()), bool(from_b.any())

    def pick(a: Array, b: Array) -> Array:
        return np.where(from_b, b[:, columns], a[:, columns]) if of_both else a[:, columns]

    def compute(frame: Frame) -> LaneValue:
        a, b = frame.env[a_slot], frame.env[b_slot]
        flags: Flags = None
        if a.flags is not None or (of_both and b.flags is not None):
            zero = np.zeros((1, count), np.uint8)
            fa = zero if a.flags is None else full(a.flags, (a.flags.shape[0], count))
            fb = zero if b.flags is None else full(b.flags, (b.flags.shape[0], count))
            # An element that comes from the other operand must not bring this one's flags along.
            flags = pick(fa, fb)
        if leaves_out:
            flags = lane_flags if flags is None else np.where(unspecified, POISON, flags)
        return Lanes(pick(a.data, b.data), flags)

    return compute

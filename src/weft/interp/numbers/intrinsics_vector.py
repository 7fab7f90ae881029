"""Semantics of LLVM's vector intrinsics: reductions and rearrangement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.lanes import POISON, Array, Bundle, Flags, Lanes, LaneValue, dtype_of, join_flags
from weft.interp.numbers import floats, integers
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import FloatType, IntType, VectorType

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]


def _lane_flags(flags: Flags) -> Flags:
    return flags.max(axis=1) if flags is not None and flags.ndim == 2 else flags


def _reduce(op: str) -> Decode:
    """A reduction by an integer operation, or by a float minimum or maximum."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        slot = decoder.slot(i.args[0])
        combine = _combiner(op, i)

        def compute(frame: Frame) -> LaneValue:
            vector = frame.env[slot]
            data = vector.data
            result = data[:, 0]
            for column in range(1, data.shape[1]):
                result = combine(result, data[:, column])
            return Lanes(result, _lane_flags(vector.flags))

        return compute

    return decode


def _combiner(op: str, i: Instruction) -> Callable[[Array, Array], Array]:
    scalar = i.args[0].type.scalar
    if isinstance(scalar, FloatType):
        names = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}
        return floats.for_kind(floats.EXTREMA[names[op]], scalar.kind)
    assert isinstance(scalar, IntType)
    w = integers.width(scalar.bits)
    if op in ("umax", "umin"):
        return np.maximum if op == "umax" else np.minimum
    if op in ("smax", "smin"):
        ufunc = np.maximum if op == "smax" else np.minimum
        return lambda a, b: w.unsigned(ufunc(w.signed(a), w.signed(b)))
    return integers.binary(op, scalar.bits)


def _ordered_reduce(op: str) -> Decode:
    """``fadd``/``fmul``: the start value, then the elements in order."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        start_slot, slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])
        scalar = i.type
        assert isinstance(scalar, FloatType)
        combine = floats.binary(op, scalar)

        def compute(frame: Frame) -> LaneValue:
            start, vector = frame.env[start_slot], frame.env[slot]
            result = start.data
            for column in range(vector.data.shape[1]):
                result = combine(result, vector.data[:, column])
            return Lanes(result, join_flags(start.flags, _lane_flags(vector.flags)))

        return compute

    return decode


def _count(type: object) -> int:
    assert isinstance(type, VectorType)
    return type.count


def _rearranged(make: Callable[[Instruction], Callable[..., Array]]) -> Decode:
    """An intrinsic that moves whole elements: flags move as the data do."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        move = make(i)
        vectors = [a for a in i.args if a.type.is_vector]
        slots = [decoder.slot(a) for a in vectors]
        counts = [_count(a.type) for a in vectors]

        def compute(frame: Frame) -> LaneValue:
            values = [frame.env[s] for s in slots]
            lanes = max(v.data.shape[0] for v in values)
            data = move(*(np.broadcast_to(v.data, (lanes, n)) for v, n in zip(values, counts, strict=True)))
            if all(v.flags is None for v in values):
                return Lanes(data)
            lanes = max(lanes, *(1 if v.flags is None else v.flags.shape[0] for v in values), 1)
            zero = np.zeros((1, 1), np.uint8)
            flags = [
                np.broadcast_to(zero if v.flags is None else v.flags, (lanes, n))
                for v, n in zip(values, counts, strict=True)
            ]
            return Lanes(data, move(*flags))

        return compute

    return decode


def _interleave(i: Instruction) -> Callable[..., Array]:
    return lambda *vectors: np.stack(vectors, axis=2).reshape(vectors[0].shape[0], -1)


def _splice(i: Instruction) -> Callable[..., Array]:
    offset = i.args[2]
    assert isinstance(offset, ConstInt)
    count = _count(i.type)
    start = offset.signed if offset.signed >= 0 else count + offset.signed
    return lambda a, b: np.concatenate((a, b), axis=1)[:, start : start + count]


def _insert(i: Instruction) -> Callable[..., Array]:
    position = i.args[2]
    assert isinstance(position, ConstInt)
    start, size = position.value, _count(i.args[1].type)
    return lambda whole, part: np.concatenate((whole[:, :start], part, whole[:, start + size :]), axis=1)


def _extract(i: Instruction) -> Callable[..., Array]:
    position = i.args[1]
    assert isinstance(position, ConstInt)
    start, size = position.value, _count(i.type)
    return lambda whole: whole[:, start : start + size]


def _deinterleave(decoder: Decoder, i: Instruction) -> Compute:
    slot = decoder.slot(i.args[0])

    def compute(frame: Frame) -> LaneValue:
        vector = frame.env[slot]
        parts = []
        for first in (0, 1):
            flags = vector.flags
            if flags is not None and flags.shape[1] > 1:
                flags = flags[:, first::2]
            parts.append(Lanes(vector.data[:, first::2], flags))
        return Bundle(tuple(parts))

    return compute


def _active_lane_mask(decoder: Decoder, i: Instruction) -> Compute:
    """Element e is ``start + e < end``, without wrapping."""
    count = _count(i.type)
    scalar = i.args[0].type
    assert isinstance(scalar, IntType)
    steps = np.arange(count).astype(dtype_of(scalar))

    def kernel(start: Array, end: Array) -> Array:
        return (end[:, None] > start[:, None]) & (steps < end[:, None] - start[:, None])

    first, last = decoder.slot(i.args[0]), decoder.slot(i.args[1])

    def compute(frame: Frame) -> LaneValue:
        start, end = frame.env[first], frame.env[last]
        flags = join_flags(start.flags, end.flags)
        return Lanes(kernel(start.data, end.data), None if flags is None else flags[:, None])

    return compute


def _step_vector(decoder: Decoder, i: Instruction) -> Compute:
    steps = Lanes(np.arange(_count(i.type)).astype(dtype_of(i.type))[None, :])
    return lambda frame: steps


def _compress(decoder: Decoder, i: Instruction) -> Compute:
    """``vector.compress``: the chosen elements first, then those of the pass-through."""
    value_slot, mask_slot, other_slot = (decoder.slot(a) for a in i.args)
    count = _count(i.type)

    def compute(frame: Frame) -> LaneValue:
        value, mask, other = frame.env[value_slot], frame.env[mask_slot], frame.env[other_slot]
        lanes = max(v.data.shape[0] for v in (value, mask, other))
        chosen = np.broadcast_to(mask.data, (lanes, count))
        order = np.argsort(~chosen, axis=1, kind="stable")
        filled = np.arange(count) < chosen.sum(axis=1)[:, None]

        def move(a: Array, b: Array) -> Array:
            packed = np.take_along_axis(np.broadcast_to(a, (lanes, count)), order, axis=1)
            return np.where(filled, packed, b)

        flags: Flags = None
        if value.flags is not None or other.flags is not None or mask.flags is not None:
            zero = np.zeros((1, 1), np.uint8)
            flags = move(*(zero if v.flags is None else v.flags for v in (value, other)))
            if mask.flags is not None:
                flags = flags | (((mask.flags & POISON) != 0).any(axis=1) * POISON)[:, None]
        return Lanes(move(value.data, other.data), flags)

    return compute


TABLE: dict[str, Decode] = {
    **{
        f"vector.reduce.{op}": _reduce(op)
        for op in (
            "add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin", "fmax", "fmin", "fmaximum",
            "fminimum",
        )
    },
    "vector.reduce.fadd": _ordered_reduce("fadd"),
    "vector.reduce.fmul": _ordered_reduce("fmul"),
    "vector.reverse": _rearranged(lambda i: lambda a: a[:, ::-1]),
    "vector.interleave2": _rearranged(_interleave),
    "vector.deinterleave2": _deinterleave,
    "vector.splice": _rearranged(_splice),
    "vector.insert": _rearranged(_insert),
    "vector.extract": _rearranged(_extract),
    "vector.compress": _compress,
    "experimental.vector.compress": _compress,
    "get.active.lane.mask": _active_lane_mask,
    "stepvector": _step_vector,
}  # fmt: skip
"""Per intrinsic, without ``llvm.`` and type suffixes, the function that decodes a call of it."""

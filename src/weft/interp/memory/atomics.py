"""Semantics of ``atomicrmw`` and ``cmpxchg``: the active lanes take turns, lowest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.interp.code import Compute
from weft.interp.faults import span_of
from weft.interp.lanes import POISON, Array, Bundle, Flags, Lanes, LaneValue, dtype_of, filled
from weft.interp.memory import access
from weft.interp.memory.memory import MemoryObject
from weft.interp.numbers import floats, integers
from weft.interp.numbers.codec import Leaf, leaf
from weft.ir.instruction import Instruction
from weft.ir.types import FloatType, IntType, Type

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Update = Callable[[Array, Array], Array]
"""From old memory contents and operands to new contents."""

_IN_PLACE = {"add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
             "umax": np.maximum, "umin": np.minimum, "fadd": np.add, "fsub": np.subtract}  # fmt: skip

_FLOAT_EXTREMA = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}


def update_function(rmw: str, type: Type) -> Update | None:
    """The new contents that an ``atomicrmw`` operation gives; None for an operation it does not know."""
    if rmw == "xchg":
        return lambda old, value: value
    if isinstance(type, FloatType):
        if rmw in ("fadd", "fsub"):
            return floats.binary(rmw, type)
        if rmw in _FLOAT_EXTREMA:
            return floats.for_kind(floats.EXTREMA[_FLOAT_EXTREMA[rmw]], type.kind)
        return None
    bits = type.bits if isinstance(type, IntType) else 64
    w = integers.width(bits)
    zero, one, ones = w.constant(0), w.constant(1), w.constant(w.max)
    sub = integers.binary("sub", bits)
    add = integers.binary("add", bits)
    if rmw in ("add", "sub", "and", "or", "xor"):
        return integers.binary(rmw, bits)
    table: dict[str, Update] = {
        "nand": lambda old, value: (old & value) ^ ones,
        "max": lambda old, value: np.where(w.signed(old) >= w.signed(value), old, value),
        "min": lambda old, value: np.where(w.signed(old) <= w.signed(value), old, value),
        "umax": np.maximum,
        "umin": np.minimum,
        "uinc_wrap": lambda old, value: np.where(old >= value, zero, add(old, one)),
        "udec_wrap": lambda old, value: np.where((old == 0) | (old > value), value, sub(old, one)),
        "usub_cond": lambda old, value: np.where(old >= value, sub(old, value), old),
        "usub_sat": lambda old, value: np.where(old >= value, sub(old, value), zero),
    }
    return table.get(rmw)


def turns(offsets: Array) -> list[Array]:
    """Accesses in rounds: round r has the (r+1)-th access, by lane, to each address.

    Accesses of one round go to different addresses, so a round is one vector operation.
    """
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    if starts.size == order.size:
        return [np.arange(order.size)]
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    return [order[part] for part in np.split(by_rank, ends[:-1])]


def _expanded(value: Lanes, lanes: int) -> Lanes:
    """The value with one element per lane."""
    flags = None if value.flags is None else np.broadcast_to(value.flags, (lanes,))
    return Lanes(np.broadcast_to(value.data, (lanes,)), flags)


def _taken(value: Lanes, lanes: Array | None) -> Lanes:
    if lanes is None:
        return value
    return Lanes(value.data[lanes], None if value.flags is None else value.flags[lanes])


def _scattered(values: Array, flags: Flags, lanes: Array | None, count: int) -> Lanes:
    """Results of the active lanes, back in a full vector; the other lanes are ⊤."""
    if lanes is None:
        return Lanes(values, flags)
    data = np.zeros(count, values.dtype)
    data[lanes] = values
    full = np.full(count, POISON, np.uint8)
    full[lanes] = np.uint8(0) if flags is None else flags
    return Lanes(data, full)


class _Results:
    """Old values collected from several places."""

    __slots__ = ("data", "flags")

    def __init__(self, size: int, dtype: np.dtype) -> None:
        self.data = np.zeros(size, dtype)
        self.flags = np.full(size, POISON, np.uint8)

    def put(self, which: Array, data: Array, flags: Flags) -> None:
        self.data[which] = data
        self.flags[which] = np.uint8(0) if flags is None else flags

    def found_flags(self) -> Flags:
        return self.flags if self.flags.any() else None


def decode_atomicrmw(decoder: Decoder, i: Instruction) -> Compute:
    """``atomicrmw``: the old value; memory gets what the operation makes of it."""
    type = i.type
    rmw: str = i.attrs["rmw"]
    update = None if type.is_vector else update_function(rmw, type)
    if update is None:
        raise UnsupportedError(f"the interpreter has no atomicrmw {rmw} of {type}", span_of(i))
    part = leaf(type, decoder.layout)
    pointer_slot, value_slot = map(decoder.slot, i.operands)
    size, align = part.size, i.alignment
    result_is_used = bool(i.users)
    nothing = filled(type, POISON)

    def compute(frame: Frame) -> LaneValue:
        machine = frame.machine
        pointer = _expanded(frame.env[pointer_slot], machine.lanes)
        reached = access.reach(frame, i, pointer, size, align, "atomic", frame.active)
        if reached is None:
            return nothing
        value = _taken(_expanded(frame.env[value_slot], machine.lanes), reached.lanes)
        results = _Results(reached.addresses.size, dtype_of(type))
        for target, which, offsets in reached.places:
            index = np.arange(offsets.size) if which is None else which
            if (
                not result_is_used
                and value.flags is None
                and _in_place(part, rmw, target, offsets, value.data[index])
            ):
                results.put(index, results.data[index], None)
                machine.image.memory.changes += 1
                continue
            for turn in turns(offsets):
                at, chosen = offsets[turn], index[turn]
                old, flags = part.read(target, at)
                operand = value.data[chosen]
                operand_flags = None if value.flags is None else value.flags[chosen]
                new = update(old, operand)
                joined = flags if rmw != "xchg" else None
                if operand_flags is not None:
                    joined = operand_flags if joined is None else joined | operand_flags
                if joined is not None or not np.array_equal(new, old):
                    machine.image.memory.changes += 1
                part.write(target, at, new, joined)
                results.put(chosen, old, flags)
        return _scattered(results.data, results.found_flags(), reached.lanes, machine.lanes)

    return compute


def _in_place(part: Leaf, rmw: str, target: MemoryObject, offsets: Array, values: Array) -> bool:
    """Apply an operation whose old values nobody wants; False when that takes turns."""
    ufunc = _IN_PLACE.get(rmw)
    scalar = part.type
    is_plain = (isinstance(scalar, IntType) and scalar.bits in (8, 16, 32, 64)) or (
        isinstance(scalar, FloatType) and scalar.kind in ("float", "double")
    )
    if ufunc is None or not is_plain or part.unit is None or target.state is not None:
        return False
    if np.bitwise_or.reduce(offsets) & np.uint64(part.size - 1):
        return False
    index = offsets.astype(np.int64) // part.size
    ufunc.at(target.view(part.unit), index, values)
    return True


def decode_cmpxchg(decoder: Decoder, i: Instruction) -> Compute:
    """``{old, old == expected}``; memory gets the new value where they were equal."""
    type = i.accessed_type
    part = leaf(type, decoder.layout)
    pointer_slot, expected_slot, new_slot = map(decoder.slot, i.operands)
    size, align = part.size, i.alignment
    nothing = filled(i.type, POISON)

    def compute(frame: Frame) -> LaneValue:
        machine = frame.machine
        pointer = _expanded(frame.env[pointer_slot], machine.lanes)
        reached = access.reach(frame, i, pointer, size, align, "atomic", frame.active)
        if reached is None:
            return nothing
        expected = _taken(_expanded(frame.env[expected_slot], machine.lanes), reached.lanes)
        new = _taken(_expanded(frame.env[new_slot], machine.lanes), reached.lanes)
        results = _Results(reached.addresses.size, dtype_of(type))
        equal = np.zeros(reached.addresses.size, np.bool_)
        for target, which, offsets in reached.places:
            index = np.arange(offsets.size) if which is None else which
            for turn in turns(offsets):
                chosen = index[turn]
                old, flags = part.read(target, offsets[turn])
                same = old == expected.data[chosen]
                equal[chosen] = same
                results.put(chosen, old, flags)
                if same.any():
                    at, values = offsets[turn][same], new.data[chosen][same]
                    operand_flags = None if new.flags is None else new.flags[chosen][same]
                    if not np.array_equal(old[same], values):
                        machine.image.memory.changes += 1
                    part.write(target, at, values, operand_flags)
        flags = results.found_flags()
        compared = flags
        if expected.flags is not None:
            compared = expected.flags if flags is None else flags | expected.flags
        return Bundle((
            _scattered(results.data, flags, reached.lanes, machine.lanes),
            _scattered(equal, compared, reached.lanes, machine.lanes),
        ))  # fmt: skip

    return compute

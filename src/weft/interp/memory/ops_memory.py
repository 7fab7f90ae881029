"""Semantics of ``load``, ``store``, ``alloca``, ``getelementptr`` and ``fence``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.lanes import (
    POISON,
    UNDEF,
    Array,
    Bundle,
    Lanes,
    LaneValue,
    dtype_of,
    filled,
    join_flags,
    member_types,
)
from weft.interp.memory import access
from weft.interp.numbers.casts import resize
from weft.interp.numbers.codec import Leaf, leaves
from weft.interp.numbers.integers import width
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import ArrayType, IntType, StructType, Type, VectorType

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

MAX_LOCAL_BYTES = 1 << 23
"""The largest stack object of a thread."""


def decode_load(decoder: Decoder, i: Instruction) -> Compute:
    """``load``: a gather of the active lanes; ⊤ from memory nobody has written (Moll, §4.9.1)."""
    pointer_slot = decoder.slot(i.operands[0])
    type = i.type
    size, align = decoder.layout.store_size(type), i.alignment
    parts = leaves(type, decoder.layout)
    nothing = filled(type, POISON)
    whole = None if type.is_aggregate else parts[0][1]

    def compute(frame: Frame) -> LaneValue:
        if whole is not None:
            only = access.only_place(frame, frame.env[pointer_slot], size, align)
            data = None if only is None else whole.read_defined(*only)
            if data is not None:
                return Lanes(data)
        reached = access.reach(frame, i, frame.env[pointer_slot], size, align, "load", frame.active)
        if reached is None:
            return nothing
        if not type.is_aggregate:
            value = read_leaf(parts[0][1], 0, reached)
        else:
            values = iter([read_leaf(part, offset, reached) for offset, part in parts])
            value = _assemble(type, values)
        if frame.machine.faults.reports_uninitialized:
            _report_uninitialized(frame, i, value)
        return value

    return compute


def _assemble(type: Type, values: Iterator[Lanes]) -> LaneValue:
    if type.is_aggregate:
        return Bundle(tuple(_assemble(t, values) for t in member_types(type)))
    return next(values)


def read_leaf(part: Leaf, offset: int, reached: access.Access) -> Lanes:
    """Read a scalar or vector `offset` bytes behind each address reached; ⊤ where the access was at fault."""
    step = np.uint64(offset)
    if reached.is_whole:
        place = reached.places[0]
        return Lanes(*part.read(place.target, place.offsets + step if offset else place.offsets))
    lanes = reached.addresses.size
    shape = (lanes, part.count) if part.count else (lanes,)
    data = np.zeros(shape, dtype_of(part.type))
    flags = np.full(shape, POISON, np.uint8)
    for target, which, offsets in reached.places:
        assert which is not None
        values, found = part.read(target, offsets + step)
        data[which] = values
        flags[which] = np.uint8(0) if found is None else found
    return Lanes(data, flags)


def _report_uninitialized(frame: Frame, i: Instruction, value: LaneValue) -> None:
    if isinstance(value, Bundle):
        for member in value.members:
            _report_uninitialized(frame, i, member)
        return
    if value.flags is None:
        return
    undef = (value.flags & UNDEF) != 0
    lanes = undef.any(axis=1) if undef.ndim == 2 else undef
    culprits = frame.active.split(lanes)[0]
    if culprits.count:
        machine = frame.machine
        message = "memory is read before anything was written there"
        machine.fault(FaultKind.UNINITIALIZED, i, culprits.mask(machine.lanes), message)


def decode_store(decoder: Decoder, i: Instruction) -> Compute:
    """``store``: a scatter of the active lanes; of several to one address the highest lane stays."""
    value_slot, pointer_slot = map(decoder.slot, i.operands)
    type = i.operands[0].type
    size, align = decoder.layout.store_size(type), i.alignment
    parts = leaves(type, decoder.layout)
    whole = None if type.is_aggregate else parts[0][1]

    def compute(frame: Frame) -> None:
        env = frame.env
        if whole is not None and frame.machine.lanes == 1 and env[value_slot].flags is None:
            only = access.only_place(frame, env[pointer_slot], size, align)
            memory = frame.machine.image.memory
            if (
                only is not None
                and only[0].writable
                and not memory.compares_stores
                and whole.write_defined(*only, env[value_slot].data)
            ):
                memory.changes += 1
                return
        reached = access.reach(frame, i, env[pointer_slot], size, align, "store", frame.active)
        if reached is None:
            return
        scalars = list(_scalars(env[value_slot]))
        for (offset, part), value in zip(parts, scalars, strict=True):
            write_leaf(frame, part, offset, reached, value)

    return compute


def _scalars(value: LaneValue) -> Iterator[Lanes]:
    if isinstance(value, Bundle):
        for member in value.members:
            yield from _scalars(member)
    else:
        yield value


def write_leaf(frame: Frame, part: Leaf, offset: int, reached: access.Access, value: Lanes) -> None:
    """Write a scalar or vector `offset` bytes behind each address reached, in the order of lanes."""
    data, flags = value.data, value.flags
    if reached.lanes is not None:
        if data.shape[0] > 1:
            data = data[reached.lanes]
        if flags is not None and flags.shape[0] > 1:
            flags = flags[reached.lanes]
    elif reached.addresses.shape[0] == 1 and frame.machine.lanes > 1:
        # All lanes store at one address: the last active one's value stays.
        last = [frame.active.last]
        data = data[last] if data.shape[0] > 1 else data
        flags = flags[last] if flags is not None and flags.shape[0] > 1 else flags
    memory = frame.machine.image.memory
    for target, which, offsets in reached.places:
        at = offsets + np.uint64(offset) if offset else offsets
        d, f = data, flags
        if which is not None:
            d = d[which] if d.shape[0] > 1 else d
            f = f[which] if f is not None and f.shape[0] > 1 else f
        if f is not None:
            shape = (at.size, part.count) if part.count else (at.size,)
            if f.shape != shape:
                f = np.broadcast_to(f if f.ndim == len(shape) else f[:, None], shape)
            f = f if np.count_nonzero(f) else None
        if d.shape[0] != at.size:
            d = np.broadcast_to(d, (at.size, *d.shape[1:]))
        if memory.compares_stores and np.array_equal(part.read(target, at)[0], d):
            continue
        memory.changes += 1
        part.write(target, at, d, f)


def decode_alloca(decoder: Decoder, i: Instruction) -> Compute:
    """A new object for each thread; it ends with the function call."""
    allocated: Type = i.allocated_type
    size = decoder.layout.size(allocated)
    align = i.attrs.get("align") or decoder.layout.align(allocated)
    count_slot = decoder.slot(i.operands[0])
    name = f"local variable %{i.name}" if i.name else "a local variable"

    def compute(frame: Frame) -> LaneValue:
        count = frame.env[count_slot]
        machine = frame.machine
        # Threads with different counts get the room of the largest.
        counts = count.data if count.data.shape[0] == 1 else count.data[frame.active.mask(machine.lanes)]
        total = size * int(counts.max(initial=0))
        if total > MAX_LOCAL_BYTES:
            message = f"{name} of {total} bytes is more than a thread's stack of {MAX_LOCAL_BYTES}"
            machine.fault(FaultKind.STACK, i, machine.alive, message)
            raise machine.error(message, i)
        made = machine.image.memory.allocate(total, name, align=align, parts=machine.lanes, is_private=True)
        frame.locals.append(made)
        steps = np.arange(machine.lanes, dtype=np.uint64) * np.uint64(made.stride)
        return Lanes(steps + np.uint64(made.base))

    return compute


def decode_gep(decoder: Decoder, i: Instruction) -> Compute:
    """``getelementptr``: address arithmetic modulo 2^64.

    ``inbounds`` and its like are promises to the optimizer; the interpreter holds the program to them where
    it counts, at the access.
    """
    layout = decoder.layout
    is_vector = i.type.is_vector
    constant = 0
    terms: list[tuple[int, int, np.uint64]] = []
    current: Type = i.source_type
    for position, index in enumerate(i.operands[1:]):
        if position and isinstance(current, StructType):
            assert isinstance(index, ConstInt) and current.fields is not None, "a struct index is a constant"
            constant += layout.struct_layout(current)[0][index.value]
            current = current.fields[index.value]
            continue
        if position:
            assert isinstance(current, (ArrayType, VectorType))
            current = current.element
        scale = layout.size(current)
        if isinstance(index, ConstInt):
            constant += index.signed * scale
        else:
            scalar = index.type.scalar
            assert isinstance(scalar, IntType)
            terms.append((decoder.slot(index), scalar.bits, np.uint64(scale)))
    base_slot = decoder.slot(i.operands[0])
    offset = np.array([constant % (1 << 64)], np.uint64)

    def column(a: Array) -> Array:
        return a[:, None] if is_vector and a.ndim == 1 else a

    def compute(frame: Frame) -> LaneValue:
        env = frame.env
        base = env[base_slot]
        data, flags = base.data, base.flags
        if is_vector:
            data, flags = column(data), None if flags is None else column(flags)
        if constant:
            data = data + offset
        for slot, bits, scale in terms:
            index = env[slot]
            step = index.data if bits == 64 else index_to_64(index.data, bits)
            data = data + (column(step) if is_vector else step) * scale
            if index.flags is not None:
                flags = join_flags(flags, column(index.flags))
        return Lanes(data, flags)

    return compute


def index_to_64(data: Array, bits: int) -> Array:
    """An index, sign-extended to the width of addresses."""
    if bits == 64:
        return data
    if bits > 64:
        return resize(bits, 64, data)
    return width(bits).signed(data).astype(np.int64).view(np.uint64)


def decode_fence(decoder: Decoder, i: Instruction) -> Compute:
    """Lock-step execution is sequentially consistent: nothing to do."""
    return lambda frame: None

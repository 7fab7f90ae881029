"""Semantics of LLVM's masked memory intrinsics: element by element, each for the lanes whose mask has it.

Accesses without fault that stay in one object, nearly all, are made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.lanes import Array, Flags, Lanes, LaneValue, full, is_poison
from weft.interp.memory import access
from weft.interp.memory.memory import MemoryObject
from weft.interp.memory.ops_memory import read_leaf, write_leaf
from weft.interp.numbers.codec import Leaf, leaf
from weft.interp.numbers.ops_aggregate import column
from weft.interp.threads.active import ActiveSet
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.types import I32, Type, VectorType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]

_OPERANDS = 3


def _count(type: Type) -> int:
    assert isinstance(type, VectorType)
    return type.count


def _operands(i: Instruction) -> list[Value]:
    """Pointer, mask and pass-through (or value, pointer and mask), without the alignment of older forms."""
    args = i.args
    if len(args) > _OPERANDS:
        args = [a for a in args if not (isinstance(a, ConstInt) and a.type == I32)]
    return args


def _element_align(i: Instruction, position: int, size: int) -> int:
    """What the alignment promised for argument `position` says about each element of `size` bytes."""
    attributes = i.attrs.get("arg_attrs") or ()
    for text in attributes[position] if position < len(attributes) else ():
        if text.startswith("align"):
            return min(int(text[len("align") :].strip(" ()")), size & -size)
    return 1


def _selected(frame: Frame, i: Instruction, mask: Lanes, number: int) -> ActiveSet:
    """The active lanes whose mask has the element set."""
    element = column(mask, number)
    poison = is_poison(element.flags)
    if poison is not None:
        culprits = frame.active.split(poison)[0]
        if culprits.count:
            lanes = frame.machine.lanes
            where = np.broadcast_to(culprits.mask(lanes), (lanes,))
            frame.machine.fault(FaultKind.POISON, i, where, f"element {number} of the mask is poison")
    return frame.active.split(element.data)[0]


def _element_pointer(pointer: Lanes, mask: Lanes, number: int, size: int, packed: bool) -> Lanes:
    """The address of an element: of a vector of pointers, or `size` bytes apart behind one.

    For packed access, elements that the mask leaves out take no room.
    """
    if pointer.data.ndim == 2:
        return column(pointer, number)
    if not packed:
        return Lanes(pointer.data + np.uint64(number * size), pointer.flags)
    taken = mask.data[:, :number].sum(axis=1).astype(np.uint64)
    return Lanes(pointer.data + taken * np.uint64(size), pointer.flags)


class _Whole(NamedTuple):
    """An access that is made at once.

    `elements` are those accessed, and `offsets` where, in the order of single accesses: element by element, and of each
    lane by lane.
    """

    target: MemoryObject
    elements: Array
    offsets: Array


_NOTHING = MemoryObject(0, np.zeros(0, np.uint8), "nothing")


def _whole(
    frame: Frame, pointer: Lanes, mask: Lanes, count: int, size: int, align: int, kind: str
) -> _Whole | None:
    """The whole access; None where something is at fault, is watched, or several objects are reached."""
    machine, active = frame.machine, frame.active
    if machine.hooks.on_access:
        return None
    shape = (count, machine.lanes)
    unknown = is_poison(mask.flags)
    if unknown is not None and np.count_nonzero(unknown.T & active.mask(machine.lanes)):
        return None
    elements = full(mask.data.T, shape)
    if active.bits is not None:
        elements = elements & active.bits
    addresses = pointer.data.T
    if addresses.ndim == 1:
        addresses = addresses + (np.arange(count, dtype=np.uint64) * np.uint64(size))[:, None]
    addresses = full(addresses, shape)[elements]
    if not addresses.size:
        return _Whole(_NOTHING, elements, addresses)
    poison = is_poison(pointer.flags)
    if poison is not None and np.count_nonzero(full(poison.T, shape)[elements]):
        return None
    if align > 1 and np.bitwise_or.reduce(addresses) & np.uint64(align - 1):
        return None
    target = machine.image.memory.find(int(np.minimum.reduce(addresses)))
    if target is None or int(np.maximum.reduce(addresses)) + size > target.end:
        return None
    offsets = addresses - np.uint64(target.base)
    if target.inside_part(offsets, size) is not None or (kind == "store" and not target.writable):
        return None
    return _Whole(target, elements, offsets)


def _read(packed: bool) -> Decode:
    """``masked.load``, ``masked.gather`` and, packed, ``masked.expandload``."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        pointer_slot, mask_slot, other_slot = map(decoder.slot, _operands(i))
        part, count = leaf(i.type.scalar, decoder.layout), _count(i.type)
        align = _element_align(i, 0, part.size)

        def compute(frame: Frame) -> LaneValue:
            pointer, mask, other = frame.env[pointer_slot], frame.env[mask_slot], frame.env[other_slot]
            lanes = frame.machine.lanes
            data = full(other.data, (lanes, count)).copy()
            whole = None if packed else _whole(frame, pointer, mask, count, part.size, align, "load")
            if whole is not None:
                state = None
                if whole.offsets.size:
                    values, state = part.read(whole.target, whole.offsets)
                    data.T[whole.elements] = values
                if state is None and other.flags is None:
                    return Lanes(data)
                flags = _whole_flags(other.flags, (lanes, count))
                flags.T[whole.elements] = 0 if state is None else state
                return Lanes(data, flags if np.count_nonzero(flags) else None)
            flags = _whole_flags(other.flags, (lanes, count))
            for number in range(count):
                chosen = _selected(frame, i, mask, number)
                place = _element_pointer(pointer, mask, number, part.size, packed)
                reached = access.reach(frame, i, place, part.size, align, "load", chosen)
                if reached is None:
                    continue
                found = read_leaf(part, 0, reached)
                here = np.broadcast_to(chosen.mask(lanes), (lanes,))
                data[here, number] = np.broadcast_to(found.data, (lanes,))[here]
                flags[here, number] = (
                    0 if found.flags is None else np.broadcast_to(found.flags, (lanes,))[here]
                )
            return Lanes(data, flags if np.count_nonzero(flags) else None)

        return compute

    return decode


def _whole_flags(flags: Flags, shape: tuple[int, int]) -> Array:
    """Flags to be written to."""
    return np.zeros(shape, np.uint8) if flags is None else full(flags, shape).copy()


def _write(packed: bool) -> Decode:
    """``masked.store``, ``masked.scatter`` and, packed, ``masked.compressstore``."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        value_slot, pointer_slot, mask_slot = map(decoder.slot, _operands(i))
        type = i.args[0].type
        part, count = leaf(type.scalar, decoder.layout), _count(type)
        align = _element_align(i, 1, part.size)

        def compute(frame: Frame) -> None:
            value, pointer, mask = frame.env[value_slot], frame.env[pointer_slot], frame.env[mask_slot]
            before = frame.active
            whole = None if packed else _whole(frame, pointer, mask, count, part.size, align, "store")
            if whole is not None:
                _write_whole(frame, part, whole, value, count)
                return
            for number in range(count):
                chosen = _selected(frame, i, mask, number)
                place = _element_pointer(pointer, mask, number, part.size, packed)
                reached = access.reach(frame, i, place, part.size, align, "store", chosen)
                if reached is None:
                    continue
                frame.active = chosen
                try:
                    write_leaf(frame, part, 0, reached, column(value, number))
                finally:
                    frame.active = before

        return compute

    return decode


def _write_whole(frame: Frame, part: Leaf, whole: _Whole, value: Lanes, count: int) -> None:
    if not whole.offsets.size:
        return
    shape = (count, frame.machine.lanes)
    data = full(value.data.T, shape)[whole.elements]
    memory = frame.machine.image.memory
    flags = None
    if value.flags is not None:
        flags = full(value.flags.T, shape)[whole.elements]
        flags = flags if np.count_nonzero(flags) else None
    if memory.compares_stores and np.array_equal(part.read(whole.target, whole.offsets)[0], data):
        return
    memory.changes += 1
    part.write(whole.target, whole.offsets, data, flags)


TABLE: dict[str, Decode] = {
    "masked.load": _read(packed=False),
    "masked.gather": _read(packed=False),
    "masked.expandload": _read(packed=True),
    "masked.store": _write(packed=False),
    "masked.scatter": _write(packed=False),
    "masked.compressstore": _write(packed=True),
}
"""Per intrinsic, without ``llvm.`` and type suffixes, the function that decodes a call of it."""

"""Semantics of LLVM's masked memory intrinsics: element by element, each for the lanes whose mask has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.lanes import Lanes, LaneValue, is_poison
from weft.interp.memory import access
from weft.interp.memory.ops_memory import read_leaf, write_leaf
from weft.interp.numbers.codec import leaf
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


def _column(value: Lanes, column: int) -> Lanes:
    """One element of a vector, as a scalar."""
    flags = value.flags
    if flags is not None:
        flags = flags[:, column] if flags.shape[1] > 1 else flags[:, 0]
    return Lanes(value.data[:, column], flags)


def _selected(frame: Frame, i: Instruction, mask: Lanes, column: int) -> ActiveSet:
    """The active lanes whose mask has the element set."""
    element = _column(mask, column)
    poison = is_poison(element.flags)
    if poison is not None:
        culprits = frame.active.split(poison)[0]
        if culprits.count:
            lanes = frame.machine.lanes
            where = np.broadcast_to(culprits.mask(lanes), (lanes,))
            frame.machine.fault(FaultKind.POISON, i, where, f"element {column} of the mask is poison")
    return frame.active.split(element.data)[0]


def _element_pointer(pointer: Lanes, mask: Lanes, column: int, size: int, packed: bool) -> Lanes:
    """The address of an element: of a vector of pointers, or `size` bytes apart behind one.

    For packed access, elements that the mask leaves out take no room.
    """
    if pointer.data.ndim == 2:
        return _column(pointer, column)
    if not packed:
        return Lanes(pointer.data + np.uint64(column * size), pointer.flags)
    taken = mask.data[:, :column].sum(axis=1).astype(np.uint64)
    return Lanes(pointer.data + taken * np.uint64(size), pointer.flags)


def _read(packed: bool) -> Decode:
    """``masked.load``, ``masked.gather`` and, packed, ``masked.expandload``."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        pointer_slot, mask_slot, other_slot = map(decoder.slot, _operands(i))
        part, count = leaf(i.type.scalar, decoder.layout), _count(i.type)
        align = _element_align(i, 0, part.size)

        def compute(frame: Frame) -> LaneValue:
            pointer, mask, other = frame.env[pointer_slot], frame.env[mask_slot], frame.env[other_slot]
            lanes = frame.machine.lanes
            data = np.broadcast_to(other.data, (lanes, count)).copy()
            flags = np.zeros((lanes, count), np.uint8)
            flags |= np.uint8(0) if other.flags is None else other.flags
            for column in range(count):
                chosen = _selected(frame, i, mask, column)
                place = _element_pointer(pointer, mask, column, part.size, packed)
                reached = access.reach(frame, i, place, part.size, align, "load", chosen)
                if reached is None:
                    continue
                found = read_leaf(part, 0, reached)
                here = np.broadcast_to(chosen.mask(lanes), (lanes,))
                data[here, column] = np.broadcast_to(found.data, (lanes,))[here]
                flags[here, column] = (
                    0 if found.flags is None else np.broadcast_to(found.flags, (lanes,))[here]
                )
            return Lanes(data, flags if flags.any() else None)

        return compute

    return decode


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
            for column in range(count):
                chosen = _selected(frame, i, mask, column)
                place = _element_pointer(pointer, mask, column, part.size, packed)
                reached = access.reach(frame, i, place, part.size, align, "store", chosen)
                if reached is None:
                    continue
                frame.active = chosen
                try:
                    write_leaf(frame, part, 0, reached, _column(value, column))
                finally:
                    frame.active = before

        return compute

    return decode


TABLE: dict[str, Decode] = {
    "masked.load": _read(packed=False),
    "masked.gather": _read(packed=False),
    "masked.expandload": _read(packed=True),
    "masked.store": _write(packed=False),
    "masked.scatter": _write(packed=False),
    "masked.compressstore": _write(packed=True),
}
"""Per intrinsic, without ``llvm.`` and type suffixes, the function that decodes a call of it."""

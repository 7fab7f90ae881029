"""The frame of a lane group: memory that keeps its threads' values across barriers.

A frame is laid out in slots. A slot holds a value of each lane, lane after lane (``<W x T>``), or one value for
the lane group when the value is uniform. Slots of values that are never live at the same barrier share bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.ir import Builder, ConstInt, Instruction, Value
from weft.ir.intrinsics import declare
from weft.ir.layout import DataLayout
from weft.ir.types import I1, I8, I64, Type

FRAME_ALIGN = 64


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value is kept: `offset` in bytes from the frame's start, `size` bytes for each lane.

    `uniform` slots hold one value for the lane group.
    """

    offset: int
    size: int
    uniform: bool = False

    def bytes(self, lanes: int) -> int:
        return self.size if self.uniform else self.size * lanes


def stored_type(type: Type) -> Type:
    """The type a value has in its slot: i1 is kept as a byte."""
    return I8 if type == I1 else type


def assign_slots(
    live_sets: Iterable[Iterable[Value]],
    sizes: Mapping[Value, tuple[int, int]],
    uniform: frozenset[Value],
    lanes: int,
) -> tuple[dict[Value, Slot], int]:
    """Give each value of the live sets a slot; values in one live set never overlap.

    Parameters
    ----------
    live_sets
        For each barrier, the values to keep across it.
    sizes
        (bytes, alignment) of each value for one lane.
    uniform
        Values that are the same in all lanes.
    lanes
        Lanes of the group, W.

    Returns
    -------
    slots, bytes
        The slot of each value, and the size of the frame for the lane group, a multiple of `FRAME_ALIGN`.
    """
    neighbours: dict[Value, dict[Value, None]] = {}
    for live in live_sets:
        members = list(live)
        for value in members:
            neighbours.setdefault(value, {}).update(dict.fromkeys(members))
    slots: dict[Value, Slot] = {}
    end = 0
    for value in sorted(neighbours, key=lambda v: -sizes[v][0]):
        size, align = sizes[value]
        is_uniform = value in uniform
        total = size if is_uniform else size * lanes
        alignment = align if is_uniform else min(FRAME_ALIGN, max(align, _power_of_two_part(total)))
        taken = sorted(
            (slots[n].offset, slots[n].offset + slots[n].bytes(lanes))
            for n in neighbours[value]
            if n in slots
        )
        offset = 0
        for start, stop in taken:
            if offset + total <= start:
                break
            offset = max(offset, -(-stop // alignment) * alignment)
        slots[value] = Slot(offset, size, is_uniform)
        end = max(end, offset + total)
    return slots, -(-end // FRAME_ALIGN) * FRAME_ALIGN


def _power_of_two_part(number: int) -> int:
    return number & -number if number else 1


def slot_pointer(builder: Builder, frame: Value, slot: Slot, lanes: int) -> Value:
    """The address of the thread's part of `slot`."""
    if slot.uniform or lanes == 1:
        if slot.offset == 0:
            return frame
        return builder.gep(I8, frame, (ConstInt(I64, slot.offset),), ("inbounds", "nuw"))
    assert builder.block is not None and builder.block.function is not None
    module = builder.block.function.module
    assert module is not None
    lane = builder.cast("zext", builder.call(declare(module, "weft.lane.id"), ()), I64)
    scaled = builder.binary("mul", lane, ConstInt(I64, slot.size), ("nuw", "nsw"))
    offset = builder.binary("add", scaled, ConstInt(I64, slot.offset), ("nuw", "nsw"))
    return builder.gep(I8, frame, (offset,), ("inbounds", "nuw"))


def save(builder: Builder, value: Value, frame: Value, slot: Slot, lanes: int) -> None:
    """Store `value` into its slot, on all lanes."""
    if value.type == I1:
        value = builder.cast("zext", value, I8)
    pointer = slot_pointer(builder, frame, slot, lanes)
    builder.store(value, pointer, align=_lane_align(slot))


def restore(builder: Builder, value: Value, frame: Value, slot: Slot, lanes: int) -> Instruction:
    """Load the value kept in the slot of `value`, on all lanes."""
    pointer = slot_pointer(builder, frame, slot, lanes)
    loaded = builder.load(stored_type(value.type), pointer, align=_lane_align(slot), name=value.name)
    return builder.cast("trunc", loaded, I1, name=value.name) if value.type == I1 else loaded


def _lane_align(slot: Slot) -> int:
    return _power_of_two_part(slot.size) if slot.size else 1


def value_size(layout: DataLayout, value: Value) -> tuple[int, int]:
    """(bytes, alignment) of `value` in a slot, for one lane."""
    type = stored_type(value.type)
    return layout.size(type), layout.align(type)

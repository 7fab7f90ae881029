"""The frame of a lane group: memory that keeps its threads' values across barriers (Karrenberg and Hack, §2.3).

A frame is laid out in slots. A slot holds a value of each lane, lane after lane (``<W x T>``), or one value for the
lane group, when the values of its lanes are a fixed stride apart (0 when they are the same). Slots of values that are
never live at the same barrier share bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from weft.ir import Builder, ConstInt, Value
from weft.ir.intrinsics import declare
from weft.ir.layout import DataLayout
from weft.ir.types import I1, I8, I32, I64, IntType, Type

FRAME_ALIGN = 64


class Slot(Struct, frozen=True):
    """Where a value is kept: `offset` in bytes from the frame's start, `size` bytes of one value.

    With a `stride` the slot holds the value in lane 0, and lane t has that plus ``stride * t``; with None it holds
    the value of each lane.
    """

    offset: int
    size: int
    stride: int | None = None

    def bytes(self, lanes: int) -> int:
        return self.size * lanes if self.stride is None else self.size

    def moved(self, distance: int) -> Slot:
        """The slot, `distance` bytes further behind."""
        return Slot(self.offset + distance, self.size, self.stride)


def stored_type(type: Type) -> Type:
    """The type a value has in its slot: i1 is kept as a byte."""
    return I8 if type == I1 else type


def assign_slots(
    live_sets: Iterable[Iterable[Value]],
    sizes: Mapping[Value, tuple[int, int]],
    strides: Mapping[Value, int],
    lanes: int,
) -> tuple[dict[Value, Slot], int]:
    """Give each value of the live sets a slot; values in one live set never overlap.

    Parameters
    ----------
    live_sets
        For each barrier, the values to keep across it.
    sizes
        (bytes, alignment) of each value for one lane.
    strides
        For values of which one lane's is enough, the distance between neighbouring lanes.
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
    for value in sorted(neighbours, key=lambda v: (v in strides, -sizes[v][0])):
        size, align = sizes[value]
        slot = Slot(0, size, strides.get(value))
        total = slot.bytes(lanes)
        if slot.stride is None:
            align = min(FRAME_ALIGN, max(align, _power_of_two_part(total)))
        taken = sorted(
            (slots[n].offset, slots[n].offset + slots[n].bytes(lanes))
            for n in neighbours[value]
            if n in slots
        )
        offset = 0
        for start, stop in taken:
            if offset + total <= start:
                break
            offset = max(offset, -(-stop // align) * align)
        slots[value] = slot.moved(offset)
        end = max(end, offset + total)
    return slots, -(-end // FRAME_ALIGN) * FRAME_ALIGN


def _power_of_two_part(number: int) -> int:
    return number & -number if number else 1


def slot_pointer(builder: Builder, frame: Value, slot: Slot, lanes: int) -> Value:
    """The address of the thread's part of `slot`."""
    if slot.stride is not None or lanes == 1:
        if slot.offset == 0:
            return frame
        return builder.gep(I8, frame, (ConstInt(I64, slot.offset),), ("inbounds", "nuw"))
    scaled = builder.binary("mul", _lane(builder, I64), ConstInt(I64, slot.size), ("nuw", "nsw"))
    offset = builder.binary("add", scaled, ConstInt(I64, slot.offset), ("nuw", "nsw"))
    return builder.gep(I8, frame, (offset,), ("inbounds", "nuw"))


def _lane(builder: Builder, type: IntType) -> Value:
    """The position of the thread in its lane group."""
    lane = builder.call(declare(builder.module, "weft.lane.id"), ())
    if type == I32:
        return lane
    return builder.cast("zext" if type.bits > 32 else "trunc", lane, type)


def _moved_by_lanes(builder: Builder, value: Value, stride: int) -> Value:
    """``value + stride * lane``."""
    if stride == 0:
        return value
    if isinstance(value.type, IntType):
        lane = _lane(builder, value.type)
        return builder.binary(
            "add", value, builder.binary("mul", lane, ConstInt(value.type, stride)), name=value.name
        )
    distance = builder.binary("mul", _lane(builder, I64), ConstInt(I64, stride))
    return builder.gep(I8, value, (distance,), name=value.name)


def save(builder: Builder, value: Value, frame: Value, slot: Slot, lanes: int) -> None:
    """Store `value` into its slot.

    What differs from lane to lane is stored on all lanes, active or not. Of other values one lane's is enough; it is
    that of an active one, as only these need to have the value.
    """
    if value.type == I1:
        value = builder.cast("zext", value, I8)
    if slot.stride is not None:
        value = _moved_by_lanes(builder, value, -slot.stride)
    total, builder.total = builder.total, slot.stride is None and lanes > 1
    pointer = slot_pointer(builder, frame, slot, lanes)
    builder.store(value, pointer, align=_lane_align(slot))
    builder.total = total


def restore(builder: Builder, value: Value, frame: Value, slot: Slot, lanes: int) -> Value:
    """The value kept in the slot of `value`, on all lanes."""
    pointer = slot_pointer(builder, frame, slot, lanes)
    loaded: Value = builder.load(stored_type(value.type), pointer, align=_lane_align(slot), name=value.name)
    if value.type == I1:
        loaded = builder.cast("trunc", loaded, I1, name=value.name)
    return _moved_by_lanes(builder, loaded, slot.stride or 0)


def _lane_align(slot: Slot) -> int:
    return _power_of_two_part(slot.size) if slot.size else 1


def value_size(layout: DataLayout, value: Value) -> tuple[int, int]:
    """(bytes, alignment) of `value` in a slot, for one lane."""
    type = stored_type(value.type)
    return layout.size(type), layout.align(type)

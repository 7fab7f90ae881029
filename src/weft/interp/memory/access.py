"""Checked access to memory: from pointers of all lanes to objects and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weft.interp.faults import FaultKind
from weft.interp.lanes import Array, Lanes, is_poison
from weft.interp.memory.memory import Memory, MemoryObject
from weft.interp.threads.active import ActiveSet
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.frame import Frame


class Place(NamedTuple):
    """Accesses that go to one object: which of them (None: all), and at which byte offsets."""

    target: MemoryObject
    which: Array | None
    offsets: Array


class Access(NamedTuple):
    """The memory that an instruction's active lanes reach.

    `addresses` has one element per lane of `lanes` (flat lane numbers; None: every lane, in order), or a
    single one that all share; lanes at fault are in no place.
    """

    addresses: Array
    lanes: Array | None
    places: list[Place]

    @property
    def is_whole(self) -> bool:
        """Whether a single place has all accesses."""
        return len(self.places) == 1 and self.places[0].which is None


def only_place(frame: Frame, pointer: Lanes, size: int, align: int) -> tuple[MemoryObject, int] | None:
    """The object and the offset in it that all active lanes access, without fault and unwatched.

    None where `reach` has more to say.
    """
    addresses, machine = pointer.data, frame.machine
    if addresses.size != 1 or pointer.flags is not None or not frame.active.count or machine.hooks.on_access:
        return None
    address = addresses.item()
    if align > 1 and address & (align - 1):
        return None
    target = machine.image.memory.before(address)
    if target is None:
        return None
    offset = address - target.base
    if offset + size > (target.part_size if target.stride else target.data.size):
        return None
    return target, offset


def reach(
    frame: Frame, i: Instruction, pointer: Lanes, size: int, align: int, kind: str, active: ActiveSet
) -> Access | None:
    """Find the memory that `active` lanes access through `pointer`; None when no lane does.

    Inactive lanes of a full vector get the address of an active one, so that reading is one gather.
    Stores and atomics take the active lanes alone.
    """
    machine = frame.machine
    if pointer.flags is not None:
        poison = is_poison(pointer.flags)
        if poison is not None:
            culprits, active = active.split(poison)
            if culprits.count:
                what = f"{kind} through a pointer that is poison"
                machine.fault(FaultKind.POISON, i, culprits.mask(machine.lanes), what)
    if not active.count:
        return None
    addresses = pointer.data
    lanes: Array | None = None
    is_shared = addresses.shape[0] == 1
    if not is_shared and active.bits is not None:
        if kind == "load":
            addresses = np.where(active.bits, addresses, addresses[active.first])
        else:
            lanes = np.flatnonzero(active.bits)
            addresses = addresses[lanes]
    if machine.hooks.on_access:
        _tell(frame, i, pointer, active, kind, size)
    if is_shared:
        low = high = bits = int(addresses[0])
    else:
        low, high = int(np.minimum.reduce(addresses)), int(np.maximum.reduce(addresses))
        bits = int(np.bitwise_or.reduce(addresses))
    if align > 1 and bits & (align - 1):
        _misaligned(frame, i, addresses, lanes, active, align, kind)
    if size == 0:
        return Access(addresses, lanes, [])
    memory = machine.image.memory
    target = memory.find(low)
    if target is not None and high + size <= target.end:
        offsets = addresses - np.uint64(target.base)
        if target.inside_part(offsets, size) is None and (kind == "load" or target.writable):
            return Access(addresses, lanes, [Place(target, None, offsets)])
    return Access(addresses, lanes, _places(frame, i, addresses, lanes, active, size, kind))


def _places(
    frame: Frame,
    i: Instruction,
    addresses: Array,
    lanes: Array | None,
    active: ActiveSet,
    size: int,
    kind: str,
) -> list[Place]:
    places: list[Place] = []
    for target, which in frame.machine.image.memory.partition(addresses, size):
        if not which.size:
            continue
        if target is None:
            where = _whereabouts(frame.machine.image.memory, int(addresses[which[0]]))
            message = f"{kind} of {size} bytes {where}"
            _fault(frame, i, which, addresses, lanes, active, FaultKind.OUT_OF_BOUNDS, message)
        elif kind != "load" and not target.writable:
            message = f"{kind} to {target.name}, which is read-only"
            _fault(frame, i, which, addresses, lanes, active, FaultKind.READ_ONLY, message)
        else:
            places.append(Place(target, which, addresses[which] - np.uint64(target.base)))
    return places


_NEAR = 1 << 20
"""Bytes up to which an address counts as one beyond the object before it."""


def _whereabouts(memory: Memory, address: int) -> str:
    """Where an address lies that no object holds."""
    if address == 0:
        return "at the null pointer"
    near = memory.before(address)
    if near is None or address - near.end > _NEAR:
        return f"at {address:#x}, where no object is"
    size = near.part_size if near.stride else near.data.size
    offset = address - near.base
    if near.stride and offset < near.data.size:
        offset %= near.stride
    elif near.stride:
        offset -= near.data.size - near.stride
    return f"at offset {offset} of {near.name}, which has {size}"


def _misaligned(
    frame: Frame,
    i: Instruction,
    addresses: Array,
    lanes: Array | None,
    active: ActiveSet,
    align: int,
    kind: str,
) -> None:
    which = np.flatnonzero(addresses & np.uint64(align - 1))
    message = f"{kind} at {int(addresses[which[0]]):#x}, which is no multiple of {align}"
    _fault(frame, i, which, addresses, lanes, active, FaultKind.MISALIGNED, message)


def _fault(
    frame: Frame,
    i: Instruction,
    which: Array,
    addresses: Array,
    lanes: Array | None,
    active: ActiveSet,
    kind: FaultKind,
    message: str,
) -> None:
    """Report accesses, given by their positions among `addresses`, as faults of their lanes."""
    machine = frame.machine
    culprits = active.mask(machine.lanes)
    if addresses.shape[0] > 1 or machine.lanes == 1:
        chosen = np.zeros(machine.lanes, np.bool_)
        chosen[which if lanes is None else lanes[which]] = True
        culprits = culprits & chosen
    elif lanes is not None:
        culprits = np.isin(np.arange(machine.lanes), lanes)
    machine.fault(kind, i, culprits, message)


def _tell(frame: Frame, i: Instruction, pointer: Lanes, active: ActiveSet, kind: str, size: int) -> None:
    machine = frame.machine
    shape = (machine.lanes,)
    addresses = np.broadcast_to(pointer.data, shape)
    mask = np.broadcast_to(active.mask(machine.lanes), shape)
    for listener in machine.hooks.on_access:
        listener(machine, i, addresses, mask, kind, size)

"""Copying and filling runs of bytes, lane by lane in lock step: all lanes read before any writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.interp.lanes import POISON, Array, Lanes
from weft.interp.memory import access
from weft.interp.threads.active import ActiveSet
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.frame import Frame


def copy_bytes(
    frame: Frame, i: Instruction, target: Lanes, source: Lanes, size: int, active: ActiveSet
) -> None:
    """``memcpy``/``memmove`` of one size in each active lane; undefined bytes are copied as such."""
    read = access.reach(frame, i, source, size, 1, "load", active)
    if read is None or not read.places:
        return
    rows = read.addresses.size
    data = np.zeros((rows, size), np.uint8)
    state = np.full((rows, size), POISON, np.uint8)
    for place, which, offsets in read.places:
        index = _bytes_at(offsets, size)
        chosen = slice(None) if which is None else which
        data[chosen] = place.data[index]
        state[chosen] = 0 if place.state is None else place.state[index]
    write_bytes(frame, i, target, data, state, size, active)


def fill_bytes(
    frame: Frame, i: Instruction, target: Lanes, value: Lanes, size: int, active: ActiveSet
) -> None:
    """``memset`` of one size in each active lane."""
    flags = np.zeros(1, np.uint8) if value.flags is None else value.flags
    write_bytes(frame, i, target, value.data[:, None], flags[:, None], size, active)


def write_bytes(
    frame: Frame, i: Instruction, target: Lanes, data: Array, state: Array, size: int, active: ActiveSet
) -> None:
    """Write rows of bytes, or of one byte that stands for `size` equal ones."""
    written = access.reach(frame, i, target, size, 1, "store", active)
    if written is None or not written.places:
        return
    frame.machine.image.memory.changes += 1
    rows = written.addresses.size
    data, state = (_rows_for(written, part, rows, size, active) for part in (data, state))
    has_state = bool(state.any())
    for place, which, offsets in written.places:
        index = _bytes_at(offsets, size)
        chosen = slice(None) if which is None else which
        place.data[index] = data[chosen]
        if has_state or place.state is not None:
            place.state_bytes()[index] = state[chosen]


def _rows_for(written: access.Access, part: Array, rows: int, size: int, active: ActiveSet) -> Array:
    """One row per access, from one per lane or a single one."""
    if part.shape[0] > 1:
        if written.lanes is not None:
            part = part[written.lanes]
        elif rows == 1:
            part = part[[active.last]]
    return np.broadcast_to(part, (rows, size))


def _bytes_at(offsets: Array, size: int) -> Array:
    return offsets.astype(np.int64)[:, None] + np.arange(size)

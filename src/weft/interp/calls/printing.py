"""``weft.print``: one line of text for each active thread, in the order of lanes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.print_format import format_line, slots_of
from weft.interp.code import Compute
from weft.interp.lanes import Lanes
from weft.interp.memory import access
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

_SLOT = 8


def decode_print(decoder: Decoder, i: Instruction) -> Compute:
    """``weft.print(format, slots)``, as `weft.diag.print_format` reads it."""
    format_slot, values_slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])

    def compute(frame: Frame) -> None:
        if not frame.active.count:
            return
        machine = frame.machine
        format, values = frame.env[format_slot], frame.env[values_slot]
        letters = text_at(frame, int(format.data[0 if format.data.shape[0] == 1 else frame.active.first]))
        count = len(slots_of(letters))
        lanes = np.flatnonzero(np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,)))
        rows = np.zeros((machine.lanes, count), np.uint64)
        for position in range(count):
            pointer = Lanes(values.data + np.uint64(_SLOT * position), values.flags)
            reached = access.reach(frame, i, pointer, _SLOT, _SLOT, "load", frame.active)
            raw = np.zeros(1 if reached is None else reached.addresses.size, np.uint64)
            for target, which, offsets in reached.places if reached is not None else ():
                found = target.data[offsets.astype(np.int64)[:, None] + np.arange(_SLOT)].view(np.uint64)[
                    :, 0
                ]
                raw[slice(None) if which is None else which] = found
            rows[:, position] = np.broadcast_to(raw, (machine.lanes,))
        machine.image.memory.changes += 1
        for lane in lanes:
            sys.stdout.write(format_line(letters, rows[lane].tobytes(), lambda at: text_at(frame, at)))

    return compute


def text_at(frame: Frame, address: int) -> str:
    """The C string at an address."""
    target = frame.machine.image.memory.find(address)
    if target is None:
        return ""
    data = target.data[address - target.base :]
    ends = np.flatnonzero(data == 0)
    return data[: ends[0] if ends.size else data.size].tobytes().decode(errors="replace")

"""``weft.print``: one line of text for each active thread, in the order of lanes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.lanes import Lanes
from weft.interp.memory import access
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

_SLOT = 8


def decode_print(decoder: Decoder, i: Instruction) -> Compute:
    """``weft.print(format, slots)``: one letter of the format per 8-byte slot (i, u, f, b, s).

    A capital letter is for what has no space before it.
    """
    format_slot, values_slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])

    def compute(frame: Frame) -> None:
        if not frame.active.count:
            return
        machine = frame.machine
        format, values = frame.env[format_slot], frame.env[values_slot]
        letters = _text_at(frame, int(format.data[0 if format.data.shape[0] == 1 else frame.active.first]))
        columns: list[list[str]] = []
        for position, letter in enumerate(letters):
            pointer = Lanes(values.data + np.uint64(_SLOT * position), values.flags)
            reached = access.reach(frame, i, pointer, _SLOT, _SLOT, "load", frame.active)
            raw = np.zeros(1 if reached is None else reached.addresses.size, np.uint64)
            for target, which, offsets in reached.places if reached is not None else ():
                found = target.data[offsets.astype(np.int64)[:, None] + np.arange(_SLOT)].view(np.uint64)[
                    :, 0
                ]
                raw[slice(None) if which is None else which] = found
            full = np.broadcast_to(raw, (machine.lanes,))
            lanes = np.flatnonzero(np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,)))
            space = " " if position and letter.islower() else ""
            columns.append([space + _shown(frame, letter.lower(), full[lane]) for lane in lanes])
        machine.image.memory.changes += 1
        rows = zip(*columns, strict=True) if columns else [()] * frame.active.count
        for row in rows:
            sys.stdout.write("".join(row) + "\n")

    return compute


def _shown(frame: Frame, letter: str, raw: np.uint64) -> str:
    if letter == "i":
        return str(int(raw.view(np.int64)))
    if letter == "f":
        return repr(float(raw.view(np.float64)))
    if letter == "b":
        return str(bool(raw))
    if letter == "s":
        return _text_at(frame, int(raw))
    return str(int(raw))


def _text_at(frame: Frame, address: int) -> str:
    """The C string at an address."""
    target = frame.machine.image.memory.find(address)
    if target is None:
        return ""
    data = target.data[address - target.base :]
    ends = np.flatnonzero(data == 0)
    return data[: ends[0] if ends.size else data.size].tobytes().decode(errors="replace")

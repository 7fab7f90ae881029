"""What programs print with C's ``printf``, ``puts`` and ``putchar``: for each active thread, in the order of lanes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.print_format import format_c
from weft.interp.calls.printing import text_at
from weft.interp.code import Compute
from weft.interp.lanes import Lanes
from weft.ir.instruction import Instruction
from weft.ir.types import FloatType

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame


def decode_output(decoder: Decoder, i: Instruction) -> Compute:
    """``printf(format, ...)``, ``puts(text)`` or ``putchar(c)``; the result is the number of characters."""
    slots = [decoder.slot(a) for a in i.args]
    are_floats = [isinstance(a.type, FloatType) for a in i.args]
    name = i.callee_name

    def compute(frame: Frame) -> Lanes:
        machine = frame.machine
        counts = np.zeros(machine.lanes, np.uint32)
        values: list[Lanes] = [frame.env[slot] for slot in slots]
        for lane in np.flatnonzero(np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,))):
            own = [_at(v, lane, f) for v, f in zip(values, are_floats, strict=True)]
            if name == "putchar":
                text = chr(int(own[0]) & 0xFF)
            else:
                text = text_at(frame, int(own[0]))
                if name == "puts":
                    text += "\n"
                else:
                    rest = iter(
                        [(v, 0 if f else int(v)) for v, f in zip(own[1:], are_floats[1:], strict=True)]
                    )
                    text = format_c(text, rest, lambda at: text_at(frame, at))
            counts[lane] = ord(text) if name == "putchar" else len(text)
            machine.image.memory.changes += 1
            sys.stdout.write(text)
        return Lanes(counts)

    return compute


def _at(value: Lanes, lane: np.intp, is_float: bool) -> int | float:
    number = value.data[0 if value.data.shape[0] == 1 else lane]
    return float(number) if is_float else int(number)


TABLE = dict.fromkeys(("printf", "puts", "putchar"), decode_output)

"""The clocks of C's library: seconds and nanoseconds, the same for all active lanes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import Compute
from weft.interp.lanes import Lanes
from weft.interp.memory.blockcopy import write_bytes
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame


def decode_clock(decoder: Decoder, i: Instruction) -> Compute:
    """``clock_gettime(clock, place)``: whichever clock is asked for, that of the host counts."""
    slot = decoder.slot(i.args[1])

    def compute(frame: Frame) -> Lanes:
        now = np.array([divmod(time.perf_counter_ns(), 10**9)], np.uint64).view(np.uint8)
        defined = np.zeros_like(now)
        write_bytes(frame, i, frame.env[slot], now, defined, now.size, frame.active)
        return Lanes(np.zeros(1, np.uint32))

    return compute


TABLE = {"clock_gettime": decode_clock}

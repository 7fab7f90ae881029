"""What the runtime and a kernel's entry point tell each other: the launch record, the error record."""

from __future__ import annotations

import struct
from enum import IntEnum
from itertools import accumulate

_FIELDS = ("3q", "3q", "P", "P", "q", "P")

RECORD = struct.Struct("@" + "".join(_FIELDS))
"""A launch record: i64 grid[3], i64 block[3], ptr args, ptr arenas, i64 dynamic shared bytes, ptr error record.
``args`` has one 8-byte slot for each kernel parameter, ``arenas`` one pointer for each worker."""

GRID, BLOCK, ARGS, ARENAS, DYNAMIC_BYTES, ERROR = accumulate(map(struct.calcsize, _FIELDS[:-1]), initial=0)
"""Byte offsets of its fields."""

ERROR_WORDS = 8
"""How many i64 an error record has."""

LANE_COUNTS = "weft_lane_counts"
"""What code that counts lanes adds to, i64[2]: those in use, and all. It is there once for each code that is loaded."""

CLAIMED = 24
"""Byte offset in the error record: i64, 1 from when the first group writes it, as groups may fail at the same time."""

SHARED_ALIGN = 128
"""What shared memory begins at a multiple of: the largest alignment of a type, that of vectors of 16 doubles."""

STATE_BYTES = 2 * SHARED_ALIGN
"""Bytes at the start of an arena for the votes record: the votes of reduction barriers, and who arrived at others."""

NOBODY = 0
"""Instead of the second barrier in an error record: those at the first one wait for threads that do not come."""


class ErrorCode(IntEnum):
    """What a launch returns; the error record then holds the group's linear index and the numbers of two barriers."""

    OK = 0
    BARRIER_DIVERGENCE = 1

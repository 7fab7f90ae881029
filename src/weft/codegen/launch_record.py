"""What the runtime and a kernel's entry point tell each other: the launch record, the error record."""

from __future__ import annotations

from enum import IntEnum

GRID, BLOCK, ARGS, ARENAS, DYNAMIC_BYTES, ERROR = 0, 24, 48, 56, 64, 72
"""Byte offsets in the launch record: i64 grid[3], i64 block[3], ptr args, ptr arenas, i64 dynamic shared bytes,
ptr error record (8 i64). ``args`` has one 8-byte slot for each kernel parameter; ``arenas`` one pointer for each
worker."""

CLAIMED = 24
"""Byte offset in the error record: i64, 1 from when the first group writes it, as groups may fail at the same time."""

STATE_BYTES = 64
"""Bytes at the start of an arena for the votes of reduction barriers."""


class ErrorCode(IntEnum):
    """What a launch returns; the error record then holds the group's linear index and two more numbers."""

    OK = 0
    BARRIER_DIVERGENCE = 1

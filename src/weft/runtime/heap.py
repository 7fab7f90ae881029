"""The heap of compiled functions in this process (`weft.ir.heap`), and the blocks that results lead into."""

from __future__ import annotations

import ctypes
import re
import string
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from weft.runtime.interrupts import FRAMES, interrupts
from weft.runtime.own_code import own_code
from weft.target.machine import TargetSpec
from weft.target.once import once

HEADER = struct.Struct("@PqqP")
"""What precedes a block's data by `HEADER_BYTES`: the next block, its size, whether it is kept, what to free."""

HEADER_BYTES = 64

LARGE = 4 << 20
"""Bytes from which on blocks ask for huge pages, as NumPy's arrays do: a fault for each 4 KiB takes two thirds
of the time of adding a number to a new array of 128 MB."""

_ADVICE = "declare i32 @madvise(ptr, i64, i32)", "call i32 @madvise(ptr %huge.ptr, i64 %bytes, i32 14)"
"""How Linux is asked for them (MADV_HUGEPAGE); where it has none, nothing changes."""

_ABANDON = "weft_heap_abandon"
_DEFINED = re.compile(r"^define [^@]*@(\w+)", re.MULTILINE)

_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class Block:
    """Memory that a compiled function has handed over; freed with the last array that leads into it.

    Parameters
    ----------
    begin, end
        Its bytes.
    raw
        What ``malloc`` gave.
    """

    __slots__ = ("_raw", "begin", "end")

    def __init__(self, begin: int, end: int, raw: int) -> None:
        self.begin = begin
        self.end = end
        self._raw = raw

    def __del__(self, free: Any = _free) -> None:
        free(self._raw)


def blocks_of(head: int) -> Iterator[Block]:
    """The blocks of a frame, from its first."""
    while head:
        following, size, _, raw = HEADER.unpack(ctypes.string_at(head, HEADER.size))
        yield Block(head + HEADER_BYTES, head + HEADER_BYTES + size, raw)
        head = following


def free_blocks(head: int) -> None:
    """Free the blocks of a frame, from its first."""
    for block in blocks_of(head):
        del block


class _View:
    """What NumPy makes an array of: a place in memory that belongs to `owner`."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_at(
    owner: object,
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    readonly: bool,
) -> np.ndarray[Any, Any]:
    """An array of memory that lives as long as `owner`."""
    interface = {
        "version": 3,
        "shape": shape,
        "typestr": dtype.str,
        "strides": strides,
        "data": (address, readonly),
    }
    made = np.asarray(_View(owner, interface))
    return made if made.dtype == dtype else made.view(dtype)


def heap_module() -> str:
    """The text of the module."""
    text = string.Template(Path(__file__).with_name("heap.ll").read_text())
    declared, advised = _ADVICE if sys.platform == "linux" else ("", "")
    return text.substitute(FRAMES=FRAMES, LARGE=LARGE, DECLARE_ADVISE=declared, ADVISE=advised)


@once
def heap_symbols() -> dict[str, int]:
    """The addresses of what compiled code calls."""
    text = heap_module()
    # As `weft.ir.heap` has them, which is for those who compile.
    symbols = [name for name in _DEFINED.findall(text) if name != _ABANDON]
    code = own_code("heap", text, (*symbols, _ABANDON), TargetSpec.chosen(), interrupts().shared)
    interrupts().free_frames_with(code.address(_ABANDON))
    return {symbol: code.address(symbol) for symbol in symbols}

"""``print`` in kernels: what compiled code calls, and how a line is put together.

Compiled code passes a format, one letter for each value (``i`` int64, ``u`` uint64, ``f`` float64, ``b`` bool,
``s`` address of a C string), and the values in 8-byte slots. Lines go to ``sys.stdout``, whole, in the order in
which threads print them.
"""

from __future__ import annotations

import ctypes
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from weft.target.once import once

PRINT_SYMBOL = "weft.print"

_PRINTER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_CODES = {"i": "q", "u": "Q", "f": "d", "b": "q", "s": "Q"}


def format_line(letters: str, slots: bytes, read_string: Callable[[int], str]) -> str:
    """The line that ``print`` writes for the values in `slots`; `read_string` reads a C string at an address."""
    values = struct.unpack(f"<{''.join(_CODES[c] for c in letters)}", slots)
    words: list[str] = []
    for letter, value in zip(letters, values, strict=True):
        if letter == "s":
            words.append(read_string(value))
        elif letter == "b":
            words.append(str(bool(value)))
        else:
            words.append(str(value))
    return " ".join(words)


@contextmanager
def printing() -> Iterator[None]:
    """Raise behind a launch that prints what would get lost where compiled code calls Python.

    That are errors in writing, and the user's interrupt, which is raised wherever the main thread runs Python code.
    """
    interrupts: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    deferring = callable(handler) and threading.current_thread() is threading.main_thread()
    if deferring:
        signal.signal(signal.SIGINT, lambda number, frame: interrupts.append((number, frame)))
    try:
        yield
    finally:
        if deferring:
            signal.signal(signal.SIGINT, handler)
    if callable(handler) and interrupts:
        handler(*interrupts[0])
    if _failures:
        error = _failures[0]
        _failures.clear()
        raise error


_failures: list[Exception] = []
"""Errors in writing that no launch has raised yet."""


def _print(letters: bytes, address: int | None) -> None:
    text = letters.decode()
    slots = ctypes.string_at(address, 8 * len(text)) if address else b""
    line = format_line(text, slots, lambda where: ctypes.string_at(where).decode())
    try:
        sys.stdout.write(line + "\n")
    except Exception as error:
        _failures.append(error)


@once
def _printer() -> ctypes._CFunctionType:
    return _PRINTER(_print)


@once
def print_address() -> int:
    """The address compiled code calls to print; taking it keeps the function alive."""
    return ctypes.cast(_printer(), ctypes.c_void_p).value or 0

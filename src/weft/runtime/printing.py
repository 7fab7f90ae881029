"""``print`` in kernels: what compiled code calls, and how a line is put together.

Compiled code passes a format, one letter for each value (``i`` int64, ``u`` uint64, ``f`` float64, ``b`` bool,
``s`` address of a C string; a capital one where no space is before it), and the values in 8-byte slots. Lines go to
``sys.stdout``, whole, in the order in which threads print them.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from weft.runtime.interrupts import interrupts
from weft.target.once import once
from weft.target.signals import Handler, handling

PRINT_SYMBOL = "weft.print"

_PRINTER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_CODES = {"i": "q", "u": "Q", "f": "d", "b": "q", "s": "Q"}


def format_line(letters: str, slots: bytes, read_string: Callable[[int], str]) -> str:
    """The line that ``print`` writes for the values in `slots`; `read_string` reads a C string at an address."""
    values = struct.unpack(f"<{''.join(_CODES[c] for c in letters.lower())}", slots)
    line = ""
    for number, (letter, value) in enumerate(zip(letters, values, strict=True)):
        if number and letter.islower():
            line += " "
        match letter.lower():
            case "s":
                line += read_string(value)
            case "b":
                line += str(bool(value))
            case _:
                line += str(value)
    return line


@contextmanager
def printing() -> Iterator[None]:
    """Raise behind a launch that prints what would get lost where compiled code calls Python.

    That are errors in writing, and what the user's handler of interrupts raises there. It lets the launch end.
    """
    raised: list[BaseException] = []

    def around(handler: Handler) -> Handler:
        def handle(number: int, frame: FrameType | None) -> None:
            if not _is_printing(frame):
                handler(number, frame)
                return
            try:
                handler(number, frame)
            except BaseException as error:
                raised.append(error)
                interrupts().halt()

        return handle

    with handling(around):
        yield
    if raised:
        raise raised[0]
    if _failures:
        error = _failures[0]
        _failures.clear()
        raise error


def _is_printing(frame: FrameType | None) -> bool:
    """Whether compiled code has called Python, in a frame or one around it."""
    while frame is not None and frame.f_code is not _print.__code__:
        frame = frame.f_back
    return frame is not None


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

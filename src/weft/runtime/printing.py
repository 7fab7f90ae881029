"""``print`` in kernels: what compiled code calls, and how a line is put together.

Compiled code passes a format and values in 8-byte slots, as `weft.diag.print_format` reads them. Lines go to
``sys.stdout``, whole, in the order in which threads print them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from weft.diag.print_format import format_line, slots_of
from weft.runtime.interrupts import interrupts
from weft.target.once import once
from weft.target.signals import Handler, handling

PRINT_SYMBOL = "weft.print"

_PRINTER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)


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
    slots = ctypes.string_at(address, 8 * len(slots_of(text))) if address else b""
    line = format_line(text, slots, lambda where: ctypes.string_at(where).decode(errors="replace"))
    try:
        sys.stdout.write(line)
    except Exception as error:
        _failures.append(error)


@once
def _printer() -> ctypes._CFunctionType:
    return _PRINTER(_print)


@once
def print_address() -> int:
    """The address compiled code calls to print; taking it keeps the function alive."""
    interrupts().print_with(ctypes.cast(_printer(), ctypes.c_void_p))
    return interrupts().print

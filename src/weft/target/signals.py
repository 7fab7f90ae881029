"""The user's handler of Ctrl-C inside of another one, where what it raises would get lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


@contextmanager
def handling(around: Callable[[Handler], Handler]) -> Iterator[None]:
    """Put `around` of the handler in its place, if there is one and this thread is the one that it is called in."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    outer = around(handler)
    signal.signal(signal.SIGINT, outer)
    try:
        yield
    finally:
        # Unless the handler has put another one in its place.
        if signal.getsignal(signal.SIGINT) is outer:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def raising_behind_finalizers() -> Iterator[None]:
    """Call the handler behind the context if its time came where Python drops what is raised, or amid an import.

    What is dropped is what finalizers raise. Objects of llvmlite, if interrupted while they are made, have some that
    complain. Amid an import of the compiler, a handler that compiles would meet modules that are half there.
    """
    late: list[Callable[[], object]] = []

    def around(handler: Handler) -> Handler:
        def handle(number: int, frame: FrameType | None) -> None:
            if _would_be_lost(frame):
                late.append(lambda: handler(number, frame))
            else:
                handler(number, frame)

        return handle

    try:
        with handling(around):
            yield
    finally:
        if late:
            late[0]()


_FINALIZERS = frozenset({"__del__", "cb", "_remove", "remove"})
"""Names of functions that garbage has called; ``cb`` is of the import system, ``remove`` of weak collections."""


_WEAK_REFERENCES = "weakref.py"
"""Where the functions of weak references are, finalizers among them."""

_IMPORTING = "<frozen importlib"
"""Where Python's import system is."""


def _would_be_lost(frame: FrameType | None) -> bool:
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code.co_name in _FINALIZERS or "llvmlite" in file or file.startswith(_IMPORTING):
            return True
        if file.endswith(_WEAK_REFERENCES):
            return True
        frame = frame.f_back
    return False

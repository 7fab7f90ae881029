"""Who looks on while compiled code is made and runs: profiles and logs.

Calls by machine code (`weft.runtime.dispatch`) tell nobody, so while somebody looks on all calls go through Python.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from weft.options import checking
from weft.runtime.interrupts import calls_by_machine_code


class Event(Struct, frozen=True):
    """A launch, a call, or the making or loading of code.

    Parameters
    ----------
    kind
        ``launch`` of a kernel, ``call`` of a function, ``compile``, or ``load`` from the cache.
    name
        Of the kernel or function.
    start, seconds
        When it began, by `time.perf_counter`, and how long it took.
    thread
        The Python thread.
    grid, block
        Of a launch.
    threads
        Threads of the pool that it could use.
    bytes
        What its array arguments have together.
    lanes, filled
        Lanes of a lane group of a launch, and the part of them that got a thread of the grid.
    active
        The part of the lanes of vector instructions that did the work of a thread; None where that was not counted.
    """

    kind: str
    name: str
    start: float
    seconds: float
    thread: int
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    threads: int = 1
    bytes: int = 0
    lanes: int = 1
    filled: float = 1.0
    active: float | None = None


Watcher: TypeAlias = Callable[[Event], None]

WATCHERS: list[Watcher] = []
"""Whoever looks on; what runs asks whether the list is empty."""

_counting: list[Watcher] = []
_lock = threading.Lock()


def watch(watcher: Watcher, lanes: bool = False) -> None:
    """Tell a watcher of what happens from now on; `lanes`, with code that counts them."""
    with _lock:
        WATCHERS.append(watcher)
        if lanes:
            _counting.append(watcher)
        calls_by_machine_code(False)


def unwatch(watcher: Watcher) -> None:
    """Tell it no more."""
    with _lock:
        WATCHERS.remove(watcher)
        if watcher in _counting:
            _counting.remove(watcher)
        calls_by_machine_code(not WATCHERS)


def counts_lanes() -> bool:
    """Whether somebody wants lanes to be counted; what is checked is not counted."""
    return bool(_counting) and not checking()


class LaneCount:
    """What code that counts lanes adds to: those in use, and all.

    Attributes
    ----------
    address
        Of the variable that the code is linked with.
    """

    __slots__ = ("_words", "address")

    def __init__(self) -> None:
        self._words = (ctypes.c_int64 * 2)()
        self.address = ctypes.addressof(self._words)

    def now(self) -> tuple[int, int]:
        used, all = self._words
        return used, all

    def active_since(self, before: tuple[int, int]) -> float | None:
        """The part in use of what came since; None where nothing was counted."""
        used, all = self._words
        return (used - before[0]) / (all - before[1]) if all > before[1] else None


def tell(kind: str, name: str, start: float, **more: Any) -> None:
    """Tell the watchers of what has begun at `start` and is done now."""
    event = Event(kind, name, start, time.perf_counter() - start, threading.get_ident(), **more)
    for watcher in tuple(WATCHERS):
        watcher(event)


def bytes_of(args: Sequence[Any]) -> int:
    """The bytes of arrays among arguments, each array once."""
    return sum({id(a): a.nbytes for a in args if isinstance(a, np.ndarray)}.values())


def filled_lanes(
    grid: tuple[int, int, int], block: tuple[int, int, int], lanes: int, dimension: int, goes_on: bool
) -> float:
    """The part of the lanes of a launch that get a thread.

    Parameters
    ----------
    grid, block
        Of the launch.
    lanes, dimension
        Of a lane group, and the dimension that it runs along.
    goes_on
        Whether lane groups go on from work-group to work-group.
    """
    row = block[dimension] * (grid[dimension] if goes_on else 1)
    return row / (-(-row // lanes) * lanes)

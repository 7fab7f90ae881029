"""Who looks on while compiled code is made and runs: profiles and logs.

Calls by machine code (`weft.runtime.dispatch`) tell nobody, so while somebody looks on all calls go through Python.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from weft.runtime.interrupts import calls_by_machine_code


@dataclass(frozen=True, slots=True)
class Event:
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


Watcher: TypeAlias = Callable[[Event], None]

WATCHERS: list[Watcher] = []
"""Whoever looks on; what runs asks whether the list is empty."""

_lock = threading.Lock()


def watch(watcher: Watcher) -> None:
    """Tell a watcher of what happens from now on."""
    with _lock:
        WATCHERS.append(watcher)
        calls_by_machine_code(False)


def unwatch(watcher: Watcher) -> None:
    """Tell it no more."""
    with _lock:
        WATCHERS.remove(watcher)
        calls_by_machine_code(not WATCHERS)


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

"""Streams and events of the CUDA-Python host API.

A launch returns when the kernel is done, so streams order nothing and synchronizing is free. Events read the clock, so
timing code written for a GPU measures the right thing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weft.diag.call_site import call_site
from weft.diag.errors import LaunchError

if TYPE_CHECKING:
    import asyncio

_LEGACY, _PER_THREAD = 1, 2
_HANDLES = itertools.count(16)


class Stream:
    """A stream; all launches are in order and done when they return.

    Parameters
    ----------
    handle
        Its number, by which it is named to others; 0 is the default stream.
    """

    __slots__ = ("handle",)

    external = False

    def __init__(self, handle: int | None = None) -> None:
        self.handle = next(_HANDLES) if handle is None else handle

    def __int__(self) -> int:
        return self.handle

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        yield self

    def add_callback(self, callback: Callable[[Stream, int, Any], object], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` at once, with status 0: what was launched is done."""
        callback(self, 0, arg)

    def async_done(self) -> asyncio.Future[Stream]:
        """A future of the running loop that is done."""
        import asyncio

        future = asyncio.get_running_loop().create_future()
        future.set_result(self)
        return future

    def __repr__(self) -> str:
        return f"<weft stream {self.handle:#x}>"


class ExternalStream(Stream):
    """A stream that another library made."""

    __slots__ = ()

    external = True


class Event:
    """A point in time, recorded on the host clock."""

    __slots__ = ("_time",)

    def __init__(self, timing: bool = True) -> None:
        self._time: float | None = None

    def record(self, stream: object = None) -> None:
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Return at once: what was recorded has happened."""

    def wait(self, stream: object = None) -> None:
        """Return at once."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, event: Event) -> float:
        """Milliseconds from this event to `event`.

        Raises
        ------
        LaunchError
            One of them was not recorded.
        """
        if self._time is None or event._time is None:
            raise LaunchError("an event was not recorded", hint="call record() of both events first").at(
                call_site()
            )
        return (event._time - self._time) * 1e3


_STREAM = Stream(0)


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream of launches that name none."""
    return _STREAM


def legacy_default_stream() -> Stream:
    """The default stream as CUDA once had it."""
    return Stream(_LEGACY)


def per_thread_default_stream() -> Stream:
    """The default stream of a thread."""
    return Stream(_PER_THREAD)


def external_stream(ptr: int) -> Stream:
    """The stream that another library made, by its address."""
    return ExternalStream(ptr)


def event(timing: bool = True) -> Event:
    """A new event, not yet recorded."""
    return Event(timing)


def event_elapsed_time(start: Event, end: Event) -> float:
    """Milliseconds between two recorded events."""
    return start.elapsed_time(end)

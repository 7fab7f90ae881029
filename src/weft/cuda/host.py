"""The rest of the CUDA-Python host API: device, streams, events, synchronization.

A launch returns when the kernel is done, so streams order nothing and synchronizing is free. Events read the
clock, so timing code written for a GPU measures the right thing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from weft.diag.call_site import call_site
from weft.diag.errors import LaunchError
from weft.machine.host import host


class Stream:
    """A stream; all launches are in order and done when they return."""

    __slots__ = ()

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        yield self


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


class Device:
    """The CPU, as the device kernels run on."""

    __slots__ = ()

    id = 0
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535

    @property
    def name(self) -> str:
        return host().cpu

    @property
    def compute_capability(self) -> tuple[int, int]:
        """(0, 0): this is no GPU, and no GPU generation is imitated."""
        return (0, 0)

    def reset(self) -> None:
        """There is no state to reset."""

    def __repr__(self) -> str:
        return f"<weft device 0 {self.name!r}>"


_DEVICE = Device()
_STREAM = Stream()


def is_available() -> bool:
    """True: the device is the CPU."""
    return True


def get_current_device() -> Device:
    """The device: the CPU."""
    return _DEVICE


def select_device(device_id: int) -> Device:
    """The device 0.

    Raises
    ------
    LaunchError
        Another one is asked for.
    """
    if device_id != 0:
        raise LaunchError(f"there is no device {device_id}", hint="the one device is number 0").at(
            call_site()
        )
    return _DEVICE


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream of launches that name none."""
    return _STREAM


def event(timing: bool = True) -> Event:
    """A new event, not yet recorded."""
    return Event(timing)


def event_elapsed_time(start: Event, end: Event) -> float:
    """Milliseconds between two recorded events."""
    return start.elapsed_time(end)


def synchronize() -> None:
    """Return at once: launches are done when they return."""


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing: there is nothing to clean up."""
    yield


def close() -> None:
    """There is no context to close."""

"""Barriers with a number: lane groups meet there that have so many threads together, while others go on.

A lane group has arrived when all its threads that have not returned are at the same barrier; it counts as a whole, and
so does one that only says that it has been there. It goes on when the next multiple of the barrier's threads has
arrived, or, where the barrier is for all, when all that are unfinished wait at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.ir.intrinsics import BARRIER_NUMBERS

if TYPE_CHECKING:
    from weft.interp.machine import Machine

Array = np.ndarray

EVERYBODY = np.iinfo(np.int64).max
"""Arrivals that there never are: the barrier waits for all threads of the work-group."""

_HALF = np.uint64(32)


class NumberedBarriers:
    """Who has arrived at the barriers of the work-groups of a machine, and who waits for how many.

    Attributes
    ----------
    arrived
        Threads by group and number, since the start.
    barrier, until
        For each lane the barrier at which it waits, and the arrivals that it waits for; 0 where it does not wait.
    """

    __slots__ = ("arrived", "barrier", "until")

    def __init__(self, machine: Machine) -> None:
        self.arrived = np.zeros((machine.geometry.groups, BARRIER_NUMBERS), np.int64)
        self.barrier = np.zeros(machine.lanes, np.int64)
        self.until = np.zeros(machine.lanes, np.int64)

    def count(self, machine: Machine, threads: Array, keys: Array, waits: bool) -> None:
        """Count the lane groups of `threads`, and note that these wait, if they do.

        `keys` are for each lane the barrier in the upper half and how many threads it waits for in the lower one.
        """
        width, size = machine.width, machine.geometry.group_lanes
        for first in range(0, machine.lanes, width):
            here = threads[first : first + width]
            if not here.any():
                continue
            key = int(keys[first + int(here.argmax())])
            barrier, wanted = key >> 32, key & 0xFFFFFFFF
            until = EVERYBODY
            if wanted:
                before = int(self.arrived[first // size, barrier])
                self.arrived[first // size, barrier] = before + width
                until = (before // wanted + 1) * wanted
            if waits:
                self.barrier[first : first + width][here] = barrier
                self.until[first : first + width][here] = until

    def open(self, machine: Machine) -> Array:
        """Which lanes wait no longer."""
        group = np.arange(machine.lanes) // machine.geometry.group_lanes
        ready = (self.until > 0) & (self.arrived[group, self.barrier] >= self.until)
        rows = (machine.geometry.groups, -1)
        alive = machine.alive.reshape(rows)
        barrier = self.barrier.reshape(rows)
        first = np.where(alive, barrier, -1).max(axis=1)[:, None]
        meets = ((self.until.reshape(rows) == EVERYBODY) & (barrier == first)) | ~alive
        return ready | (machine.alive & np.repeat(meets.all(axis=1), alive.shape[1]))


def packed(number: Array, threads: Array) -> Array:
    """The numbers of barriers and of threads as keys."""
    return (number.astype(np.uint64) << _HALF) | threads.astype(np.uint64)

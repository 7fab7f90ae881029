"""Who accessed which bytes of a memory object, for the race detector."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from weft.interp.memory.memory import MemoryObject

Array = np.ndarray

NONE, MANY = -1, -2
"""Stand for no thread, lane group or work-group, and for several."""

_LOG_LIMIT = 1 << 22


class Record:
    """The last access in one way (writing, or reading) to each granule of an object.

    `thread`, `warp` and `group` say by whom, with `MANY` where several may be meant, of which `one` and `other` are
    two; `time` says when.
    """

    __slots__ = ("group", "one", "other", "thread", "time", "warp")

    def __init__(self, granules: int) -> None:
        self.thread = np.full(granules, NONE, np.int32)
        self.warp = np.full(granules, NONE, np.int32)
        self.group = np.full(granules, NONE, np.int32)
        self.one = np.full(granules, NONE, np.int32)
        self.other = np.full(granules, NONE, np.int32)
        self.time = np.zeros(granules, np.int64)

    def refine(self, factor: int) -> None:
        """Split every granule into `factor` of them."""
        for name in self.__slots__:
            setattr(self, name, np.repeat(getattr(self, name), factor))


class Accesses(Struct):
    """One instruction's accesses to one object: byte offsets and threads, in the order of threads."""

    offsets: Array
    threads: Array
    size: int
    time: int

    @property
    def unit(self) -> int:
        """The largest power of two that divides all offsets and the size."""
        bits = int(np.bitwise_or.reduce(self.offsets)) | self.size
        return bits & -bits


class Visit(Struct):
    """The granules that some accesses touch, each once, and by whom."""

    index: Array
    thread: Array
    warp: Array
    group: Array
    least_thread: Array
    most_thread: Array
    time: int


class History:
    """What the race detector knows about one object.

    Reads of an object that nobody has written are only noted, and looked at when somebody writes.
    """

    __slots__ = ("_log", "_logged", "granule", "reads", "target", "writes")

    def __init__(self, target: MemoryObject, granule: int) -> None:
        self.target = target
        self.granule = granule
        self.reads = Record(-(-target.data.size // granule))
        self.writes: Record | None = None
        self._log: list[Accesses] = []
        self._logged = 0

    def log(self, accesses: Accesses) -> bool:
        """Note reads; False when the log is full."""
        self._log.append(accesses)
        self._logged += accesses.offsets.size
        return self._logged < _LOG_LIMIT

    def take_log(self) -> list[Accesses]:
        """The reads noted and not yet looked at."""
        log, self._log, self._logged = self._log, [], 0
        return log

    def start_writes(self) -> Record:
        """The record of writes, begun when there is none."""
        if self.writes is None:
            self.writes = Record(self.reads.time.size)
        return self.writes

    def visit(self, accesses: Accesses, width: int, group_lanes: int) -> Visit:
        """Sort accesses by granule; granules become finer when they have to."""
        unit = accesses.unit
        if unit < self.granule:
            self.reads.refine(self.granule // unit)
            if self.writes is not None:
                self.writes.refine(self.granule // unit)
            self.granule = unit
        index, threads = accesses.offsets // self.granule, accesses.threads
        count = accesses.size // self.granule
        if count > 1:
            index = (index[:, None] + np.arange(count)).ravel()
            threads = np.repeat(threads, count)
        if not (index[1:] > index[:-1]).all():
            order = np.argsort(index, kind="stable")
            index, threads = index[order], threads[order]
            starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
            if starts.size < index.size:
                ends = np.append(starts[1:], index.size) - 1
                return _shared(
                    index[starts], threads[starts], threads[ends], width, group_lanes, accesses.time
                )
        return Visit(
            index, threads, threads // width, threads // group_lanes, threads, threads, accesses.time
        )


def _shared(index: Array, least: Array, most: Array, width: int, group_lanes: int, time: int) -> Visit:
    """A visit whose granules are touched by the threads from `least` to `most`, whatever lies between."""

    def common(per: int) -> Array:
        first = least // per
        return np.where(first == most // per, first, MANY)

    return Visit(index, common(1), common(width), common(group_lanes), least, most, time)

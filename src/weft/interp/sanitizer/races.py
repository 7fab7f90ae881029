"""Data races: two threads, the same byte, at least one writes, and nothing orders them.

Threads of a work-group are ordered by its barriers, those of a lane group also by the synchronization of the
lane group; threads of different work-groups by barriers of the grid. Two atomic accesses never race. Where both threads
executed an atomic operation in between, the later access counts as ordered: that is how programs hand on data
("the last block to finish reads what the others wrote"), and the check prefers to miss a wrong one of these. In
the slots of spilled values (`weft.ir.intrinsics.SPILL_SLOTS`) the threads of a lane group count as one: all write the
same.

For each byte the last write and the reads since are remembered, which finds a race in every run that has one
for a pair of accesses that follow each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.interp.faults import FaultKind
from weft.interp.memory.memory import Memory, MemoryObject
from weft.interp.sanitizer.access_history import MANY, NONE, Accesses, History, Record, Visit
from weft.interp.threads.active import ActiveSet
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import GRID_BARRIER, IntrinsicKind, kind_of

if TYPE_CHECKING:
    from weft.interp.machine import Machine

Array = np.ndarray


class RaceDetector:
    """A hook that watches accesses and barriers, and reports races as faults of the machine.

    Time counts accesses; what happened before a barrier is what is older than it.
    """

    __slots__ = (
        "_barrier_time", "_grid_time", "_group_lanes", "_histories", "_instructions", "_is_atomic", "_last_atomic",
        "_sync_time", "_width",
    )  # fmt: skip

    def __init__(self, groups: int, group_lanes: int, width: int) -> None:
        lanes = groups * group_lanes
        self._group_lanes = group_lanes
        self._width = width
        self._barrier_time = np.full(groups, -1, np.int64)
        self._grid_time = -1
        self._sync_time = np.full(lanes // width, -1, np.int64)
        self._last_atomic = np.full(lanes, -1, np.int64)
        self._histories: dict[int, History] = {}
        self._instructions: list[Instruction] = []
        self._is_atomic: list[bool] = []

    def on_barrier(self, machine: Machine, instruction: Instruction, active: ActiveSet) -> None:
        """Order what comes before and behind a barrier, or a synchronization of lane groups."""
        lanes = np.flatnonzero(np.broadcast_to(active.mask(machine.lanes), (machine.lanes,)))
        threads = machine.geometry.first * self._group_lanes + lanes
        now = len(self._instructions) - 1
        self._sync_time[threads // self._width] = now
        if kind_of(instruction.callee_name) is IntrinsicKind.BARRIER:
            self._barrier_time[threads // self._group_lanes] = now
        if instruction.callee_name == GRID_BARRIER:
            self._grid_time = now

    def on_access(
        self, machine: Machine, instruction: Instruction, addresses: Array, mask: Array, kind: str, size: int
    ) -> None:
        """Compare an access with those before it, and remember it."""
        time = len(self._instructions)
        atomic = kind == "atomic" or bool(instruction.attrs.get("ordering"))
        self._instructions.append(instruction)
        self._is_atomic.append(atomic)
        lanes = np.flatnonzero(mask)
        threads = machine.geometry.first * self._group_lanes + lanes
        for target, which in _targets(machine.image.memory, addresses[lanes], size):
            if target.is_private:
                continue
            offsets = (addresses[lanes[which]] - np.uint64(target.base)).view(np.int64)
            by = threads[which]
            if target.is_of_lane_groups:
                by = by // self._width * self._width
            accesses = Accesses(offsets, by, size, time)
            history = self._histories.get(target.base)
            if history is None:
                history = self._histories[target.base] = History(target, accesses.unit)
            if kind == "load" and history.writes is None and history.log(accesses):
                continue
            for noted in history.take_log():
                self._remember_read(history, history.visit(noted, self._width, self._group_lanes))
            visit = history.visit(accesses, self._width, self._group_lanes)
            self._compare(machine, history, visit, kind, atomic)
            if kind == "load":
                self._remember_read(history, visit)
            else:
                self._remember_write(history, visit)
        if atomic:
            self._last_atomic[threads] = time

    def _compare(self, machine: Machine, history: History, visit: Visit, kind: str, atomic: bool) -> None:
        is_write = kind != "load"
        way = "write" if is_write else "read"
        if is_write and not atomic and visit.thread.min(initial=0) == MANY:
            at = int(np.flatnonzero(visit.thread == MANY)[0])
            self._report(machine, history, visit, at, way, visit.time, int(visit.most_thread[at]), "write")
            return
        if history.writes is not None and self._conflicts(
            machine, history, history.writes, visit, atomic, way, "write"
        ):
            return
        if is_write:
            self._conflicts(machine, history, history.reads, visit, atomic, way, "read")

    def _conflicts(
        self,
        machine: Machine,
        history: History,
        before: Record,
        visit: Visit,
        atomic: bool,
        way: str,
        earlier: str,
    ) -> bool:
        """Whether another thread accessed some granule before, unordered; reports the first such."""
        at = visit.index
        thread = before.thread[at]
        suspects = (thread != NONE) & ((thread != visit.thread) | (thread == MANY))
        if not suspects.any():
            return False
        warp, group, time = before.warp[at], before.group[at], before.time[at]
        same_group = (group == visit.group) & (group >= 0)
        same_warp = (warp == visit.warp) & (warp >= 0)
        since_barrier = time > self._barrier_time[np.where(same_group, group, 0)]
        since_sync = time > self._sync_time[np.where(same_warp, warp, 0)]
        suspects &= time > self._grid_time
        racing = suspects & (~same_group | (since_barrier & (~same_warp | since_sync)))
        if racing.any():
            # Both threads executed an atomic operation since the earlier access.
            handed_on = (self._last_atomic[visit.least_thread] > time) & (
                (thread < 0) | (self._last_atomic[np.maximum(thread, 0)] > time)
            )
            racing &= ~handed_on
        if atomic and racing.any():
            times = np.unique(time[racing])
            racing &= ~np.isin(time, times[[self._is_atomic[t] for t in times]])
        if not racing.any():
            return False
        n = int(racing.argmax())
        by = int(thread[n])
        if by == MANY:
            one, other = int(before.one[at[n]]), int(before.other[at[n]])
            by = one if one != visit.least_thread[n] else other
        self._report(machine, history, visit, n, way, int(time[n]), by, earlier)
        return True

    def _remember_read(self, history: History, visit: Visit) -> None:
        """Add readers to those since the last write, but for readers whom a barrier has put behind."""
        record, at = history.reads, visit.index
        group = record.group[at]
        same = (group == visit.group) & (group >= 0)
        is_stale = same & (record.time[at] <= self._barrier_time[np.where(same, group, 0)])
        fresh = (group == NONE) | is_stale
        for old, new in (
            (record.thread, visit.thread),
            (record.warp, visit.warp),
            (record.group, visit.group),
        ):
            old[at] = np.where(fresh | (old[at] == new), new, MANY)
        record.one[at] = np.where(fresh, visit.least_thread, record.one[at])
        record.other[at] = visit.most_thread
        record.time[at] = visit.time

    def _remember_write(self, history: History, visit: Visit) -> None:
        record, at = history.start_writes(), visit.index
        record.thread[at], record.warp[at], record.group[at] = visit.thread, visit.warp, visit.group
        record.one[at], record.other[at] = visit.least_thread, visit.most_thread
        record.time[at] = visit.time
        # A later access that conflicts with the reads so far conflicts with this write, too.
        history.reads.group[at] = history.reads.thread[at] = history.reads.warp[at] = NONE

    def _report(
        self,
        machine: Machine,
        history: History,
        visit: Visit,
        at: int,
        way: str,
        time: int,
        thread: int,
        earlier: str,
    ) -> None:
        """Report a race at position `at` of a visit with an access of `thread` at `time`."""
        first = machine.geometry.first * self._group_lanes
        where = np.zeros(machine.lanes, np.bool_)
        where[int(visit.least_thread[at]) - first] = True
        target, offset = history.target, int(visit.index[at]) * history.granule
        if target.stride:
            offset %= target.stride
        whom = machine.describe_lane(thread - first)
        instruction, other = self._instructions[visit.time], self._instructions[time]
        line = f" (line {other.loc.line})" if other.loc is not None and other is not instruction else ""
        message = f"{way} of byte {offset} of {target.name} races with a {earlier} by {whom}{line}"
        machine.fault(FaultKind.RACE, instruction, where, message)


def _targets(memory: Memory, addresses: Array, size: int) -> list[tuple[MemoryObject, Array | slice]]:
    """The objects that accesses go to, and which accesses; those out of bounds are in none."""
    if not size or not addresses.size:
        return []
    only = memory.find(int(addresses.min()))
    if only is not None and int(addresses.max()) + size <= only.end:
        return [(only, slice(None))]
    return [
        (target, which)
        for target, which in memory.partition(addresses, size)
        if target is not None and which.size
    ]

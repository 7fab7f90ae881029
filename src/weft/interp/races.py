"""Data races: two threads, the same byte, at least one writes, and nothing orders them.

Threads of a work-group are ordered by its barriers, those of a lane group also by the synchronization of the
lane group; threads of different work-groups by nothing. Two atomic accesses never race. Where both threads
executed an atomic operation in between, the later access counts as ordered: that is how programs hand on data
("the last block to finish reads what the others wrote"), and the check prefers to miss a wrong one of these.

For each byte the last write and the reads since are remembered, which finds a race in every run that has one
for a pair of accesses that follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.active import ActiveSet
from weft.interp.faults import FaultKind
from weft.interp.memory import MemoryObject
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import IntrinsicKind, kind_of

if TYPE_CHECKING:
    from weft.interp.machine import Machine

Array = np.ndarray

_NONE, _MANY = -1, -2


class _Record:
    """Who accessed each byte of an object last, in one way (writing or reading)."""

    __slots__ = ("atomic", "group", "group_epoch", "instruction", "thread", "time", "warp", "warp_epoch")

    def __init__(self, size: int) -> None:
        self.thread = np.full(size, _NONE, np.int64)
        self.warp = np.full(size, _NONE, np.int64)
        self.group = np.full(size, _NONE, np.int64)
        self.group_epoch = np.zeros(size, np.int32)
        self.warp_epoch = np.zeros(size, np.int32)
        self.time = np.zeros(size, np.int64)
        self.instruction = np.zeros(size, np.int32)
        self.atomic = np.zeros(size, np.bool_)


@dataclass(slots=True)
class _Visit:
    """Bytes accessed by one instruction, each once, and by whom (`_MANY` where by several)."""

    index: Array
    thread: Array
    warp: Array
    group: Array
    any_thread: Array


class RaceDetector:
    """A hook that watches accesses and barriers, and reports races as faults of the machine."""

    __slots__ = (
        "_clock",
        "_group_epoch",
        "_instructions",
        "_last_atomic",
        "_numbers",
        "_reads",
        "_warp_epoch",
        "_writes",
    )

    def __init__(self, groups: int, group_lanes: int, width: int) -> None:
        lanes = groups * group_lanes
        self._group_epoch = np.zeros(groups, np.int32)
        self._warp_epoch = np.zeros(lanes // width, np.int32)
        self._last_atomic = np.full(lanes, -1, np.int64)
        self._reads: dict[int, _Record] = {}
        self._writes: dict[int, _Record] = {}
        self._instructions: list[Instruction] = []
        self._numbers: dict[Instruction, int] = {}
        self._clock = 0

    def on_barrier(self, machine: Machine, instruction: Instruction, active: ActiveSet) -> None:
        """Order what comes before and behind a barrier, or a synchronization of lane groups."""
        lanes = machine.lanes
        here = np.broadcast_to(active.mask(lanes), (lanes,))
        geometry = machine.geometry
        first_warp = geometry.first * geometry.group_lanes // geometry.width
        warps = here.reshape(-1, geometry.width).any(axis=1)
        self._warp_epoch[first_warp : first_warp + warps.size] += warps
        if kind_of(instruction.callee_name) is IntrinsicKind.BARRIER:
            groups = here.reshape(geometry.groups, -1).any(axis=1)
            self._group_epoch[geometry.first : geometry.first + groups.size] += groups

    def on_access(
        self, machine: Machine, instruction: Instruction, addresses: Array, mask: Array, kind: str, size: int
    ) -> None:
        """Compare an access with those before it, and remember it."""
        self._clock += 1
        lanes = np.flatnonzero(mask)
        atomic = kind == "atomic" or bool(instruction.attrs.get("ordering"))
        for target, which in machine.image.memory.partition(addresses[lanes], size):
            if target is None or target.is_private or not which.size or not size:
                continue
            chosen = lanes[which]
            offsets = (addresses[chosen] - np.uint64(target.base)).astype(np.int64)
            visit = self._visit(machine, offsets, chosen, size)
            self._compare(machine, instruction, target, visit, chosen, kind, atomic)
            self._remember(machine, instruction, target, visit, kind, atomic)
        if atomic:
            self._last_atomic[machine.geometry.first * machine.geometry.group_lanes + lanes] = self._clock

    def _visit(self, machine: Machine, offsets: Array, lanes: Array, size: int) -> _Visit:
        geometry = machine.geometry
        threads = geometry.first * geometry.group_lanes + lanes
        if size > 1:
            offsets = (offsets[:, None] + np.arange(size)).ravel()
            threads = np.repeat(threads, size)
        order = np.lexsort((threads, offsets))
        offsets, threads = offsets[order], threads[order]
        starts = np.flatnonzero(np.concatenate(([True], offsets[1:] != offsets[:-1])))
        ends = np.append(starts[1:], offsets.size) - 1
        least, most = threads[starts], threads[ends]

        def common(per: int) -> Array:
            return np.where(least // per == most // per, least // per, _MANY)

        return _Visit(offsets[starts], common(1), common(geometry.width), common(geometry.group_lanes), least)

    def _compare(
        self,
        machine: Machine,
        instruction: Instruction,
        target: MemoryObject,
        visit: _Visit,
        lanes: Array,
        kind: str,
        atomic: bool,
    ) -> None:
        writes = kind != "load"
        if writes and not atomic and (visit.thread == _MANY).any():
            at = int(np.flatnonzero(visit.thread == _MANY)[0])
            self._report(
                machine, instruction, instruction, target, int(visit.index[at]), lanes, ("write", "write")
            )
            return
        before = self._writes.get(target.base)
        if before is not None and self._conflict(
            machine, instruction, before, target, visit, lanes, kind, atomic, "write"
        ):
            return
        reads = self._reads.get(target.base)
        if writes and reads is not None:
            self._conflict(machine, instruction, reads, target, visit, lanes, kind, atomic, "read")

    def _conflict(
        self,
        machine: Machine,
        instruction: Instruction,
        before: _Record,
        target: MemoryObject,
        visit: _Visit,
        lanes: Array,
        kind: str,
        atomic: bool,
        earlier: str,
    ) -> bool:
        """Whether some byte was accessed before by another thread, unordered; reports the first."""
        at = visit.index
        thread, warp, group = before.thread[at], before.warp[at], before.group[at]
        known = before.group[at] != _NONE
        other_thread = (thread != visit.thread) | (thread == _MANY) | (visit.thread == _MANY)
        same_group = (group == visit.group) & (group != _MANY)
        own_group = np.where(same_group, group, 0)
        in_epoch = before.group_epoch[at] == self._group_epoch[own_group]
        same_warp = (warp == visit.warp) & (warp != _MANY)
        own_warp = np.where(same_warp, warp, 0)
        in_warp_epoch = before.warp_epoch[at] == self._warp_epoch[own_warp]
        unordered = ~same_group | (in_epoch & (~same_warp | in_warp_epoch))
        racing = known & other_thread & unordered
        if atomic:
            racing &= ~before.atomic[at]
        if racing.any():
            racing &= ~self._handed_on(before, at, visit)
        found = np.flatnonzero(racing)
        if not found.size:
            return False
        first = int(found[0])
        other = self._instructions[int(before.instruction[at[first]])]
        culprit = int(visit.any_thread[first]) - machine.geometry.first * machine.geometry.group_lanes
        now = "read" if kind == "load" else "write"
        self._report(
            machine, instruction, other, target, int(at[first]), np.array([culprit]), (now, earlier),
            int(thread[first]),
        )  # fmt: skip
        return True

    def _handed_on(self, before: _Record, at: Array, visit: _Visit) -> Array:
        """Whether both threads executed an atomic operation since the earlier access."""
        time, thread = before.time[at], before.thread[at]
        now = self._last_atomic[visit.any_thread] > time
        then = (thread < 0) | (self._last_atomic[np.maximum(thread, 0)] > time)
        return now & then

    def _remember(
        self,
        machine: Machine,
        instruction: Instruction,
        target: MemoryObject,
        visit: _Visit,
        kind: str,
        atomic: bool,
    ) -> None:
        records = self._reads if kind == "load" else self._writes
        record = records.get(target.base)
        if record is None:
            record = records[target.base] = _Record(target.data.size)
        at = visit.index
        thread, warp, group = visit.thread, visit.warp, visit.group
        if kind == "load":
            # Reads add up until a barrier of the only group that reads makes the earlier ones irrelevant.
            old = record.group[at]
            own = np.where(group >= 0, group, 0)
            stale = (old == _NONE) | ((old == group) & (record.group_epoch[at] != self._group_epoch[own]))
            merge = ~stale
            thread = np.where(merge & (record.thread[at] != thread), _MANY, thread)
            warp = np.where(merge & (record.warp[at] != warp), _MANY, warp)
            group = np.where(merge & (old != group), _MANY, group)
            record.atomic[at] = atomic & (record.atomic[at] | stale)
        else:
            record.atomic[at] = atomic
            reads = self._reads.get(target.base)
            if reads is not None:
                # A later access that conflicts with those reads conflicts with this write, too.
                reads.group[at] = reads.thread[at] = reads.warp[at] = _NONE
        record.thread[at], record.warp[at], record.group[at] = thread, warp, group
        record.group_epoch[at] = self._group_epoch[np.where(group >= 0, group, 0)]
        record.warp_epoch[at] = self._warp_epoch[np.where(warp >= 0, warp, 0)]
        record.time[at] = self._clock
        record.instruction[at] = self._number(instruction)

    def _number(self, instruction: Instruction) -> int:
        found = self._numbers.get(instruction)
        if found is None:
            found = self._numbers[instruction] = len(self._instructions)
            self._instructions.append(instruction)
        return found

    def _report(
        self,
        machine: Machine,
        instruction: Instruction,
        other: Instruction,
        target: MemoryObject,
        offset: int,
        lanes: Array,
        ways: tuple[str, str],
        thread: int = _MANY,
    ) -> None:
        """Report a race between `lanes` here and, when known, `thread` at the `other` instruction."""
        where = np.zeros(machine.lanes, np.bool_)
        where[lanes] = True
        now, then = ways
        place = f"byte {offset % target.stride if target.stride else offset} of {target.name}"
        whom = "another thread"
        lane = thread - machine.geometry.first * machine.geometry.group_lanes
        if 0 <= lane < machine.lanes:
            whom = machine.describe_lane(lane)
        line = f" (line {other.loc.line})" if other.loc is not None and other is not instruction else ""
        message = f"{now} of {place} races with a {then} by {whom}{line}"
        machine.fault(FaultKind.RACE, instruction, where, message)

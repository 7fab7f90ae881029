"""Barriers: threads of a work-group meet (docs/design.md, "Barriers").

A lane group is at a barrier when all its threads that have not returned are there; the work-group goes on
when all its unfinished lane groups are at the same barrier. Where a whole work-group arrives at once nothing
waits. Otherwise those who are there stop, and everyone else runs on: who returns on the way no longer counts,
and whoever stops elsewhere makes it a divergent barrier; but not where barriers have a number
(`weft.interp.threads.numbered`), at which lane groups wait for some of the others. At a barrier of the grid all
work-groups meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from weft.diag.errors import UnsupportedError
from weft.interp.faults import FaultKind, span_of
from weft.interp.lanes import Lanes
from weft.interp.threads.active import ActiveSet
from weft.ir.intrinsics import GRID_BARRIER, is_numbered_barrier

if TYPE_CHECKING:
    from weft.interp.code import BlockCode, Step
    from weft.interp.frame import Frame
    from weft.interp.machine import Machine

Array = np.ndarray


class Stopped(Struct):
    """Lane groups that stand at a barrier: where they go on, and which threads they are."""

    block: BlockCode
    segment: int
    step: Step
    threads: Array
    keys: Array | None = None
    """Where barriers have a number, which one it is and for how many it waits, by lane."""


class Waiting:
    """The threads of a frame that stand at barriers."""

    __slots__ = ("_stopped",)

    def __init__(self) -> None:
        self._stopped: list[Stopped] = []

    @property
    def is_empty(self) -> bool:
        return not self._stopped

    @property
    def threads(self) -> Array:
        """The threads that stand at barriers, if some do."""
        return np.bitwise_or.reduce([entry.threads for entry in self._stopped])

    def arrive(self, frame: Frame, block: BlockCode, segment: int, step: Step) -> ActiveSet | None:
        """The active threads reach a barrier; returns those that pass it now, None when all must wait."""
        machine = frame.machine
        if is_numbered_barrier(step.instruction.callee_name):
            self._wait_for_some(frame, block, segment, step)
            return None
        if frame.active.count == np.count_nonzero(machine.alive):
            self._pass(frame, step, frame.active)
            return frame.active
        here = np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,))
        missing = machine.alive & ~here
        size = _meeting(machine, step)
        going = here & np.repeat(~missing.reshape(-1, size).any(axis=1), size)
        waiting = here & ~going
        if waiting.any():
            if frame.is_kernel:
                self._stopped.append(Stopped(block, segment, step, waiting))
            else:
                self._stop_in_callee(frame, step, waiting, missing)
                going = here
        if not going.any():
            return None
        passing = ActiveSet.of(going)
        self._pass(frame, step, passing)
        return passing

    def _wait_for_some(self, frame: Frame, block: BlockCode, segment: int, step: Step) -> None:
        if not frame.is_kernel:
            raise UnsupportedError(
                "a barrier for some threads inside a called function",
                span_of(step.instruction),
                "inline the function",
            )
        lanes = frame.machine.lanes
        here = np.broadcast_to(frame.active.mask(lanes), (lanes,)).copy()
        keys = step.compute(frame)
        assert isinstance(keys, Lanes)
        self._stopped.append(Stopped(block, segment, step, here, keys.data))

    def _stop_in_callee(self, frame: Frame, step: Step, waiting: Array, missing: Array) -> None:
        """Refuse to wait inside a called function, where the caller's other threads could not run on."""
        machine = frame.machine
        # One row per lane group: are all its unfinished threads here?
        shape = (-1, machine.width)
        partial = waiting.reshape(shape).any(axis=1) & missing.reshape(shape).any(axis=1)
        if not partial.any():
            raise UnsupportedError(
                "a barrier inside a called function, reached by one lane group of several",
                span_of(step.instruction),
                "inline the function, or call it with all lane groups together",
            )
        absent = missing & np.repeat(partial, machine.width)
        machine.fault(FaultKind.BARRIER, step.instruction, absent, _message(waiting, absent))

    def release(self, frame: Frame) -> list[tuple[BlockCode, int, ActiveSet]]:
        """Nobody can run: let all pass, after reporting work-groups whose threads stand at several barriers."""
        machine = frame.machine
        stopped, self._stopped = self._stopped, []
        if any(is_numbered_barrier(entry.step.instruction.callee_name) for entry in stopped):
            stopped = self._opened(frame, stopped)
        else:
            of_groups = [entry for entry in stopped if not _is_of_grid(entry.step)]
            if of_groups:
                # Who waits for the whole grid goes on waiting while work-groups come on.
                self._stopped = [entry for entry in stopped if _is_of_grid(entry.step)]
                stopped = of_groups
            self._check(stopped, machine, (machine.width, _meeting(machine, stopped[0].step)))
        released: list[tuple[BlockCode, int, ActiveSet]] = []
        together: dict[tuple[int, int], list[Stopped]] = {}
        for entry in stopped:
            together.setdefault((entry.block.number, entry.segment), []).append(entry)
        for entries in together.values():
            threads = ActiveSet.of(np.bitwise_or.reduce([e.threads for e in entries]) & machine.alive)
            self._pass(frame, entries[0].step, threads)
            released.append((entries[0].block, entries[0].segment, threads))
        return released

    def _opened(self, frame: Frame, stopped: list[Stopped]) -> list[Stopped]:
        """Those that go on where barriers have a number; the others wait on."""
        machine = frame.machine
        barriers = machine.numbered
        for entry in stopped:
            entry.threads = entry.threads & machine.alive
        self._check(stopped, machine, (machine.width,))
        for entry in stopped:
            new = entry.threads & (barriers.until == 0)
            keys = np.zeros(machine.lanes, np.uint64) if entry.keys is None else entry.keys
            barriers.count(machine, new, keys, waits=True)
        ready = barriers.open(machine)
        if not ready.any():
            entry = stopped[0]
            message = (
                f"{np.count_nonzero(entry.threads)} threads wait at the barrier for others that do not come"
            )
            machine.fault(FaultKind.BARRIER, entry.step.instruction, entry.threads, message)
            ready = machine.alive.copy()
        barriers.until[ready] = 0
        going = [replace(entry, threads=entry.threads & ready) for entry in stopped]
        waiting = [replace(entry, threads=entry.threads & ~ready) for entry in stopped]
        self._stopped = [entry for entry in waiting if entry.threads.any()]
        return [entry for entry in going if entry.threads.any()]

    def _check(self, stopped: list[Stopped], machine: Machine, widths: Sequence[int]) -> None:
        """Report lane groups, and rows of so many lanes, whose threads stand at several barriers."""
        barriers = {id(entry.step.instruction): n for n, entry in enumerate(stopped)}
        at_barrier = [barriers[id(e.step.instruction)] for e in stopped]
        for width in widths:
            # In lane groups the arrivals have to be one; among lane groups, the barriers.
            number_of = [n for n, _ in enumerate(stopped)] if width == machine.width else at_barrier
            arrival = np.full(machine.lanes, -1)
            for entry, number in zip(stopped, number_of, strict=True):
                arrival[entry.threads] = number
            rows = np.where(machine.alive, arrival, -1).reshape(-1, width)
            first = rows.max(axis=1)
            # Of groups that all wait for the grid none is here.
            split = ((rows != first[:, None]) & (first[:, None] >= 0) & machine.alive.reshape(-1, width)).any(
                axis=1
            )
            if split.any():
                row = int(np.flatnonzero(split)[0])
                at = min(int(n) for n in rows[row] if n >= 0)
                entry = stopped[number_of.index(at)]
                members = np.arange(machine.lanes) // width == row
                here = (arrival == at) & members
                absent = machine.alive & members & ~here
                machine.fault(FaultKind.BARRIER, entry.step.instruction, absent, _message(here, absent))
                return

    def _pass(self, frame: Frame, step: Step, threads: ActiveSet) -> None:
        machine = frame.machine
        if machine.ended.any():
            here = np.broadcast_to(threads.mask(machine.lanes), (machine.lanes,))
            size = _meeting(machine, step)
            ended = machine.ended & np.repeat(here.reshape(-1, size).any(axis=1), size)
            message = (
                f"barrier reached by {np.count_nonzero(here)} threads while {np.count_nonzero(ended)} "
                "of the work-group have finished"
            )
            machine.fault(FaultKind.BARRIER, step.instruction, ended, message)
        frame.active = threads
        frame.present = frame.participants(threads)
        value = step.compute(frame)
        if step.slot >= 0:
            frame.env[step.slot] = frame.merged(step.slot, value, threads)
        for listener in frame.machine.hooks.on_barrier:
            listener(frame.machine, step.instruction, threads)


def _is_of_grid(step: Step) -> bool:
    return step.instruction.callee_name == GRID_BARRIER


def _meeting(machine: Machine, step: Step) -> int:
    """How many lanes meet at a barrier: those of a work-group, or of the grid."""
    return machine.lanes if _is_of_grid(step) else machine.geometry.group_lanes


def _message(here: Array, absent: Array) -> str:
    return (
        f"barrier reached by {np.count_nonzero(here)} threads while {np.count_nonzero(absent)} unfinished ones "
        "of the work-group are elsewhere"
    )

"""Barriers: threads of a work-group meet (DESIGN.md, "Barriers").

A lane group stops at a barrier when all its threads that have not returned are there; the work-group goes on
when all its unfinished lane groups have stopped at the same barrier. Where a whole work-group arrives at
once, as it must when it is a single lane group, nothing ever waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.interp.active import ActiveSet
from weft.interp.faults import FaultKind, span_of

if TYPE_CHECKING:
    from weft.interp.code import BlockCode, Step
    from weft.interp.frame import Frame

Array = np.ndarray


@dataclass(slots=True)
class Stopped:
    """Lane groups that stand at a barrier: where they go on, and which threads they are."""

    block: BlockCode
    segment: int
    step: Step
    threads: Array


class Waiting:
    """The threads of a frame that stand at barriers."""

    __slots__ = ("_stopped",)

    def __init__(self) -> None:
        self._stopped: list[Stopped] = []

    @property
    def is_empty(self) -> bool:
        return not self._stopped

    def arrive(self, frame: Frame, block: BlockCode, segment: int, step: Step) -> ActiveSet | None:
        """The active threads reach a barrier; returns those that pass it now, None when all must wait."""
        machine = frame.machine
        if frame.active.count == np.count_nonzero(machine.alive):
            self._pass(frame, step, frame.active)
            return frame.active
        here = np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,))
        missing = machine.alive & ~here
        # One row per lane group: all its unfinished threads must be here.
        partial = here.reshape(-1, machine.width).any(axis=1) & missing.reshape(-1, machine.width).any(axis=1)
        if partial.any():
            absent = missing & np.repeat(partial, machine.width)
            message = (
                f"barrier reached by {int(np.count_nonzero(here & ~missing & np.repeat(partial, machine.width)))} "
                f"threads while {int(np.count_nonzero(absent))} of the same lane group are elsewhere"
            )
            machine.fault(FaultKind.BARRIER, step.instruction, absent, message)
            going = here
        else:
            size = machine.geometry.group_lanes
            going = here & np.repeat(~missing.reshape(-1, size).any(axis=1), size)
        waiting = here & ~going
        if waiting.any():
            if not frame.is_kernel:
                raise UnsupportedError(
                    "a barrier inside a called function, reached by one lane group of several",
                    span_of(step.instruction),
                    "inline the function, or call it with all lane groups together",
                )
            self._stopped.append(Stopped(block, segment, step, waiting))
        if not going.any():
            return None
        passing = ActiveSet.of(going)
        self._pass(frame, step, passing)
        return passing

    def release(self, frame: Frame) -> list[tuple[BlockCode, int, ActiveSet]]:
        """Nobody can run: let work-groups pass whose threads all stand at one barrier."""
        machine = frame.machine
        size = machine.geometry.group_lanes
        alive = machine.alive.reshape(-1, size)
        by_barrier: dict[int, list[Stopped]] = {}
        for stopped in self._stopped:
            by_barrier.setdefault(id(stopped.step.instruction), []).append(stopped)
        self._stopped = []
        released: list[tuple[BlockCode, int, ActiveSet]] = []
        for group in by_barrier.values():
            here = np.bitwise_or.reduce([s.threads for s in group])
            rows = here.reshape(-1, size)
            split = rows.any(axis=1) & (alive & ~rows).any(axis=1)
            if split.any():
                absent = machine.alive & ~here & np.repeat(split, size)
                machine.fault(
                    FaultKind.BARRIER, group[0].step.instruction, absent,
                    "barrier reached by part of a work-group while the others wait at another barrier",
                )  # fmt: skip
            threads = ActiveSet.of(here)
            self._pass(frame, group[0].step, threads)
            released.append((group[0].block, group[0].segment, threads))
        return released

    def _pass(self, frame: Frame, step: Step, threads: ActiveSet) -> None:
        frame.active = threads
        value = step.compute(frame)
        if step.slot >= 0:
            frame.env[step.slot] = frame.merged(step.slot, value, threads)
        for listener in frame.machine.hooks.on_barrier:
            listener(frame.machine, step.instruction, threads)

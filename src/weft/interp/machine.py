"""The state of one run that all its frames share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import InterpError
from weft.interp.faults import FaultHandler, FaultKind, RaiseFaults, span_of
from weft.interp.hooks import HookTable
from weft.interp.memory.memory import MemoryObject
from weft.interp.sanitizer.findings import ThreadId
from weft.interp.threads.active import ActiveSet
from weft.interp.threads.geometry import Geometry
from weft.interp.threads.numbered import NumberedBarriers

if TYPE_CHECKING:
    from weft.interp.code import Code, Environment
    from weft.interp.program import Image
    from weft.ir.instruction import Instruction

Array = np.ndarray

DEFAULT_STEP_LIMIT = 50_000_000


class Machine:
    """W lanes (or several lane groups of W) that run one program in lock step.

    Parameters
    ----------
    image
        The program, and its memory.
    geometry
        Which threads the lanes are.
    hooks
        Who is told of what happens.
    faults
        Who is told of undefined behaviour; by default it is raised.
    step_limit
        After how many steps a run ends with an error.

    Attributes
    ----------
    lanes
        Length of full lane vectors: all lane groups side by side.
    everyone
        The lanes that are threads (all but padding).
    alive
        Per lane, whether its thread has not returned from the kernel.
    ended
        Per lane, whether its thread has come to the kernel's end, where that is told.
    oblivious
        Whether passive threads get ⊤ (OBL) instead of keeping their values (FR).
    """

    __slots__ = (
        "_numbered", "alive", "depth", "ended", "everyone", "faults", "geometry", "hooks", "image", "lanes",
        "oblivious", "output", "shared", "shared_sizes", "spill_slots", "step_limit", "steps",
    )  # fmt: skip

    def __init__(
        self,
        image: Image,
        geometry: Geometry,
        *,
        oblivious: bool = False,
        hooks: Iterable[object] = (),
        faults: FaultHandler | None = None,
        step_limit: int = DEFAULT_STEP_LIMIT,
    ) -> None:
        self.image = image
        self.geometry = geometry
        self.lanes = geometry.lanes
        exists = geometry.exists()
        self.everyone = ActiveSet(None, self.lanes) if exists is None else ActiveSet.of(exists)
        self.alive = self.everyone.mask(self.lanes).copy()
        self.ended = np.zeros(self.lanes, np.bool_)
        self.oblivious = oblivious
        self.hooks = HookTable.of(hooks)
        self.faults: FaultHandler = faults or RaiseFaults()
        self.step_limit = step_limit
        self.steps = 0
        self.depth = 0
        self.shared: dict[int, MemoryObject] = {}
        self.shared_sizes: dict[int, tuple[int, int]] = {}
        self.spill_slots: int | None = None
        self.output: list[str] = []
        self._numbered: NumberedBarriers | None = None

    @property
    def numbered(self) -> NumberedBarriers:
        """The barriers with a number."""
        if self._numbered is None:
            self._numbered = NumberedBarriers(self)
        return self._numbered

    @property
    def width(self) -> int:
        """Lanes of a lane group, W."""
        return self.geometry.width

    @property
    def lane_groups(self) -> int:
        return self.lanes // self.geometry.width

    def restrict(self, active: Array) -> None:
        """Let only the given lanes be threads."""
        self.everyone = ActiveSet.of(active)
        self.alive = active.copy()

    def beside(self, geometry: Geometry, oblivious: bool = False) -> Machine:
        """A machine of other lanes in the same run: same memory, hooks and count of steps."""
        other = Machine(
            self.image,
            geometry,
            oblivious=self.oblivious or oblivious,
            faults=self.faults,
            step_limit=self.step_limit,
        )
        other.hooks, other.steps, other.output = self.hooks, self.steps, self.output
        return other

    def environment(self, code: Code) -> Environment:
        """A fresh environment for a call: constants in place, everything else unset."""
        return self.image.environment(code).copy()

    def present(self, active: ActiveSet) -> ActiveSet:
        """The threads of the lane groups with a lane in `active`: those that take part, if passively."""
        if active.bits is None or self.lane_groups == 1:
            return self.everyone
        rows = active.bits.reshape(-1, self.width).any(axis=1)
        bits = np.repeat(rows, self.width)
        return ActiveSet.of(bits & self.everyone.mask(self.lanes))

    def fault(self, kind: FaultKind, instruction: Instruction, where: Array, message: str) -> None:
        """Report undefined behaviour of the lanes that are true in `where`."""
        lanes = np.flatnonzero(np.broadcast_to(where, (self.lanes,)))
        if lanes.size:
            self.faults.fault(self, kind, instruction, lanes, message)

    def describe_lane(self, lane: int) -> str:
        """A thread as messages name it."""
        return str(ThreadId(*self.geometry.thread_of(lane)))

    def error(self, message: str, instruction: Instruction) -> InterpError:
        """An error at the position of an instruction."""
        return InterpError(message, span_of(instruction))

    def count_step(self, instruction: Instruction) -> None:
        """Count the execution of a block against the limit."""
        self.steps += 1
        if self.steps > self.step_limit:
            self.fault(
                FaultKind.SPINNING, instruction, self.alive,
                f"no end after {self.step_limit} blocks were executed",
            )  # fmt: skip
            raise self.error(f"no end after {self.step_limit} blocks were executed", instruction)

"""What happens when a program does something undefined.

The interpreter asks a `FaultHandler`; the plain one raises at the first fault, the sanitizer's collects
findings and lets execution go on (a faulty load gives poison, a faulty store is dropped).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from weft.diag.errors import BarrierDivergence, InterpError

if TYPE_CHECKING:
    import numpy as np

    from weft.interp.machine import Machine
    from weft.ir.instruction import Instruction
from weft.ir.locations import span_of


class FaultKind(StrEnum):
    """Kinds of undefined behaviour, as findings name them."""

    OUT_OF_BOUNDS = "out-of-bounds"
    MISALIGNED = "misaligned"
    READ_ONLY = "write to read-only memory"
    UNINITIALIZED = "uninitialized"
    POISON = "poison"
    DIVISION = "division"
    UNREACHABLE = "unreachable"
    ASSERTION = "assertion"
    RAISED = "exception"
    BARRIER = "barrier"
    RACE = "race"
    SPINNING = "spinning"
    STACK = "stack overflow"


class FaultHandler(Protocol):
    """Receives faults; returning from `fault` lets execution go on."""

    reports_uninitialized: bool

    def fault(
        self, machine: Machine, kind: FaultKind, instruction: Instruction, lanes: np.ndarray, message: str
    ) -> None:
        """Take note that `instruction` is at fault in the lanes listed (at least one)."""
        ...


class RaiseFaults:
    """Raises at the first fault."""

    reports_uninitialized = False

    def fault(
        self, machine: Machine, kind: FaultKind, instruction: Instruction, lanes: np.ndarray, message: str
    ) -> None:
        """Raise `InterpError`, or `BarrierDivergence` for a barrier."""
        error = BarrierDivergence if kind is FaultKind.BARRIER else InterpError
        where = machine.describe_lane(int(lanes[0]))
        raise error(f"{message} ({where})", span_of(instruction))

"""The sanitizer: a launch on the interpreter that finds what has no defined meaning.

`check_launch` is what ``cuda.jit(debug=True)`` runs. It finds out-of-bounds, misaligned and read-only accesses,
data races, barriers reached by part of a group, reads of uninitialized shared or local memory, branches on
poison, division by zero, failed assertions, and loops that wait for what cannot happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from weft.diag.errors import (
    DivisionByZeroError,
    FailedAssertionError,
    InterpError,
    OutOfRangeError,
    SanitizerError,
)
from weft.diag.source import SourceSpan
from weft.interp.execute import Argument, group_layout, launch
from weft.interp.faults import FaultKind, span_of
from weft.interp.machine import DEFAULT_STEP_LIMIT, Machine
from weft.interp.memory.memory import Memory
from weft.interp.program import Program
from weft.interp.sanitizer.findings import SHOWN_THREADS, Finding, ThreadId
from weft.interp.sanitizer.races import RaceDetector
from weft.ir.function import Module
from weft.ir.instruction import Instruction

_ERRORS: dict[FaultKind, type[SanitizerError]] = {
    FaultKind.OUT_OF_BOUNDS: OutOfRangeError,
    FaultKind.DIVISION: DivisionByZeroError,
    FaultKind.ASSERTION: FailedAssertionError,
}
"""What is raised where it is what Python would raise, too."""


class Collector:
    """A fault handler that keeps findings, one for each kind and place, and lets execution go on."""

    __slots__ = ("_by_place", "_owners", "findings")

    reports_uninitialized = True

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._by_place: dict[tuple[FaultKind, SourceSpan | Instruction], Finding] = {}
        self._owners: dict[int, Instruction] = {}

    def fault(
        self, machine: Machine, kind: FaultKind, instruction: Instruction, lanes: np.ndarray, message: str
    ) -> None:
        """Add to the finding of this kind at this place."""
        span = span_of(instruction)
        place = (kind, span or instruction)
        finding = self._by_place.get(place)
        if finding is None:
            finding = Finding(kind, message, span)
            self._by_place[place] = finding
            self._owners[id(finding)] = instruction
            self.findings.append(finding)
        elif self._owners[id(finding)] is not instruction:
            # What a check has announced happens: the access behind an index that is out of range.
            return
        finding.count += lanes.size
        for lane in lanes[: SHOWN_THREADS - len(finding.threads)]:
            finding.threads.append(ThreadId(*machine.geometry.thread_of(int(lane))))


def find(
    program: Module | Program,
    name: str,
    arguments: Sequence[Argument],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *,
    memory: Memory | None = None,
    dynamic_shared: int = 0,
    width: int | None = None,
    hooks: Iterable[object] = (),
    step_limit: int = DEFAULT_STEP_LIMIT,
) -> list[Finding]:
    """Run a kernel as `weft.interp.launch` does and return what was found; the arrays hold its results."""
    program = program if isinstance(program, Program) else Program(program)
    collector = Collector()
    groups, lanes, used_width = group_layout(program, grid, block, width)
    races = RaceDetector(groups, lanes, used_width)
    try:
        launch(
            program, name, arguments, grid, block, memory=memory, dynamic_shared=dynamic_shared, width=width,
            hooks=(*hooks, races), faults=collector, step_limit=step_limit,
        )  # fmt: skip
    except InterpError:
        # Raised where execution cannot go on; the finding that says why has been collected.
        if not collector.findings:
            raise
    return collector.findings


def check_launch(
    program: Module | Program,
    name: str,
    arguments: Sequence[Argument],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *,
    memory: Memory | None = None,
    dynamic_shared: int = 0,
    width: int | None = None,
    hooks: Iterable[object] = (),
    step_limit: int = DEFAULT_STEP_LIMIT,
) -> None:
    """Run a kernel under the sanitizer; raises `SanitizerError` when there are findings."""
    findings = find(
        program, name, arguments, grid, block, memory=memory, dynamic_shared=dynamic_shared, width=width,
        hooks=hooks, step_limit=step_limit,
    )  # fmt: skip
    if findings:
        raise error_of(findings)


def error_of(findings: Sequence[Finding]) -> SanitizerError:
    """The findings as an exception: the first in full, the others listed in the hint."""
    first, *others = findings
    who = ", ".join(map(str, first.threads))
    more = f" and {first.count - len(first.threads)} more" if first.count > len(first.threads) else ""
    hint = "also found: " + "; ".join(
        f"{f.message} at {f.span}" if f.span else f.message for f in others
    ) if others else None  # fmt: skip
    error = _ERRORS.get(first.kind, SanitizerError)(
        f"{first.kind}: {first.message} ({who}{more})", first.span, hint
    )
    error.findings = tuple(findings)
    return error

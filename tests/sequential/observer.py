"""What loops do when they run: iterations, dependences and bytes touched, on the interpreter; and whether that is what
the analysis says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft import interp
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.verdicts import Verdict
from weft.analysis.symbolic.expression import Expression, Symbol
from weft.graph.loops import loop_forest
from weft.interp.machine import Machine
from weft.interp.threads.active import ActiveSet
from weft.ir import Argument, BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType
from weft.report.loops.nests import LoopReport

STEPS = 60_000
HALF = 2048
"""Bytes of an array before and behind where its pointer leads to."""


@dataclass(slots=True)
class Run:
    """One run of a loop: its iterations, those of the loops around, and what each byte saw."""

    header: int
    around: dict[int, int]
    iterations: int = 0
    written: dict[int, set[int]] = field(default_factory=dict)
    read: dict[int, set[int]] = field(default_factory=dict)


class Observer:
    """Follows the loops of one function."""

    def __init__(
        self, function: Function, expressions: dict[Instruction, Expression], numbers: dict[str, int]
    ) -> None:
        self.view = cfg_of(function)
        self.expressions = expressions
        self.numbers = numbers
        self.wrong: list[str] = []
        self.compared = 0
        self.phis: list[tuple[Instruction, Any]] = []
        self.forest = loop_forest(self.view.cfg)
        self.stack: list[tuple[Any, Run]] = []
        self.runs: list[Run] = []

    def on_block(self, machine: Machine, block: BasicBlock, active: ActiveSet) -> None:
        self._enter(block)
        for phi, value in self.phis:
            if phi.block is block:
                self._compare(phi, value)
        self.phis.clear()

    def _enter(self, block: BasicBlock) -> None:
        number = self.view.index.get(block)
        if number is None:
            return
        while self.stack and number not in self.stack[-1][0].blocks:
            self.stack.pop()
        loop = self.forest.headed_by[number]
        if loop is None:
            return
        if self.stack and self.stack[-1][0] is loop:
            self.stack[-1][1].iterations += 1
            return
        run = Run(number, {other.header: r.iterations for other, r in self.stack})
        self.stack.append((loop, run))
        self.runs.append(run)

    def on_value(self, machine: Machine, i: Instruction, value: Any, mask: np.ndarray) -> None:
        if i.is_phi:
            # φs are told before their block.
            self.phis.append((i, value))
        else:
            self._compare(i, value)

    def _compare(self, i: Instruction, value: Any) -> None:
        expression = self.expressions.get(i)
        if expression is None or not isinstance(value, interp.Lanes) or bool(np.any(value.flags)):
            return
        here = {loop.header: run.iterations for loop, run in self.stack}

        def number(symbol: Symbol) -> int:
            if isinstance(symbol.origin, LoopContext):
                return here[symbol.origin.loop.header]
            return self.numbers[symbol.origin.name]

        bits = i.type.bits  # type: ignore[attr-defined]
        seen = int(np.broadcast_to(value.data, (1,))[0]) & ((1 << bits) - 1)
        seen -= (seen >> (bits - 1)) << bits
        self.compared += 1
        said = expression.evaluate(number)
        if said != seen:
            line = i.loc.line if i.loc else 0
            self.wrong.append(f"{i.name} in line {line} is {expression} = {said}, and is {seen}")

    def on_access(
        self, machine: Machine, i: Instruction, addresses: np.ndarray, mask: np.ndarray, kind: str, size: int
    ) -> None:
        address = int(np.broadcast_to(addresses, (1,))[0])
        for _, run in self.stack:
            into = run.read if kind == "load" else run.written
            for byte in range(address, address + size):
                into.setdefault(byte, set()).add(run.iterations)


def known_expressions(
    report: LoopReport, made: Any, numbers: dict[str, int]
) -> dict[Instruction, Expression]:
    """The integers of a function that are expressions of its arguments and of the iterations of loops."""
    scope = report.loop.scope

    def is_known(symbol: Symbol) -> bool:
        origin = symbol.origin
        if isinstance(origin, LoopContext):
            return origin.scope is scope
        return isinstance(origin, Argument) and origin.name in numbers

    found: dict[Instruction, Expression] = {}
    for instruction in scope.function.instructions():
        if isinstance(instruction.type, IntType) and instruction.type.bits > 1:
            expression = made.of(scope, instruction)
            if all(map(is_known, expression.symbols())):
                found[instruction] = expression
    return found


def observe(
    program: interp.Program,
    function: Function,
    arguments: Sequence[Any],
    expressions: dict[Instruction, Expression],
    numbers: dict[str, int],
) -> tuple[Observer, dict[str, int]] | None:
    """Run a function with numbers and arrays; None where its behaviour is undefined for them."""
    memory = interp.Memory()
    observer = Observer(function, expressions, numbers)
    passed: list[Any] = []
    bases: dict[str, int] = {}
    for argument, value in zip(function.args, arguments, strict=True):
        if isinstance(value, tuple):
            array, middle = value
            address = memory.map_array(array) + middle
            bases[argument.name] = address
            passed.append(address)
        else:
            passed.append(value)
    try:
        interp.run_function(
            program, function.name, passed, 1, memory=memory, hooks=[observer], step_limit=STEPS
        )
    except Exception as error:
        if type(error).__name__ in ("InterpError", "StepLimit") or "InterpError" in str(type(error).__mro__):
            return None
        raise
    return observer, bases


def problems(
    reports: Sequence[LoopReport],
    observer: Observer,
    bases: dict[str, int],
    numbers: dict[str, int],
    counts: dict[str, int],
) -> list[str]:
    """What the analysis says wrongly of the runs; `counts` takes how many statements were compared."""
    found: list[str] = list(dict.fromkeys(observer.wrong))
    counts["values"] = counts.get("values", 0) + observer.compared
    by_header = {r.loop.header.name: r for r in reports}
    for run in observer.runs:
        report = by_header[observer.view.blocks[run.header].name]
        where = f"{report.function} line {report.line}"
        conflict = _conflict(run, bases)
        counts[report.verdict.value] = counts.get(report.verdict.value, 0) + 1
        in_memory = any("element" in r.text for r in report.reasons)
        conditions = [a.condition for a in report.assumptions if a.condition is not None]
        held = all((_value(c, report.loop, run, observer, numbers) or 0) >= 0 for c in conditions)
        counts["conditions"] = counts.get("conditions", 0) + bool(conditions and held)
        if conflict is not None and report.verdict is not Verdict.SEQUENTIAL and not in_memory and held:
            found.append(
                f"{where}: {report.verdict.value}, but iterations {conflict[1]} and {conflict[2]} meet"
            )
        found += _sections(report, run, observer, bases, numbers, counts)
        trips = report.found.trips
        if trips is not None:
            count = _value(trips, report.loop, run, observer, numbers)
            made = report.loop.loop
            first = made.exit_edges[0][0] == made.header and made.latches != (made.header,)
            seen = run.iterations if first else run.iterations + 1
            if count is not None:
                counts["trips"] = counts.get("trips", 0) + 1
                if count != seen:
                    found.append(f"{where}: {trips} is {count} iterations, {seen} were seen")
    return found


def _conflict(run: Run, bases: dict[str, int]) -> tuple[int, int, int] | None:
    """A byte of an argument's array that iterations meet in, and two of them."""
    for byte, writes in run.written.items():
        if any(base - HALF <= byte < base + HALF for base in bases.values()):
            others = writes | run.read.get(byte, set())
            if len(others) > 1:
                return byte, min(writes), max(others)
    return None


def _sections(
    report: LoopReport,
    run: Run,
    observer: Observer,
    bases: dict[str, int],
    numbers: dict[str, int],
    counts: dict[str, int],
) -> list[str]:
    found: list[str] = []
    where = f"{report.function} line {report.line}"
    for sections, touched, what in (
        (report.parameters.inputs, run.read, "reads"),
        (report.parameters.outputs, run.written, "writes"),
    ):
        for name, base in bases.items():
            bytes = [b - base for b in touched if base - HALF <= b < base + HALF]
            if not bytes:
                continue
            section = next((s for s in sections if s.base.name == name), None)
            if section is None:
                if report.is_complete and what == "writes":
                    found.append(f"{where}: {what} {name}, which is not reported")
                continue
            low = None if section.low is None else _value(section.low, report.loop, run, observer, numbers)
            end = None if section.end is None else _value(section.end, report.loop, run, observer, numbers)
            if what == "reads" and any(a.kind.value == "load" for a in section.accesses):
                # What is written before is no input, so the section may be smaller than what is read.
                bytes = [b for b in bytes if b + base not in run.written] or bytes[:0]
                if not bytes:
                    continue
            for limit, seen, is_wrong, label in (
                (low, min(bytes), low is not None and min(bytes) < low, "begin"),
                (end, max(bytes) + 1, end is not None and max(bytes) + 1 > end, "end"),
            ):
                if limit is None:
                    counts["open"] = counts.get("open", 0) + 1
                    continue
                counts[label] = counts.get(label, 0) + 1
                counts["exact"] = counts.get("exact", 0) + (limit == seen)
                if is_wrong:
                    shown = section.low if label == "begin" else section.end
                    found.append(
                        f"{where}: {what} {name} to byte {seen}, the section's {label} is {shown} = {limit}"
                    )
    return found


class _Unknown(Exception):
    pass


def _value(
    expression: Expression, loop: LoopContext, run: Run, observer: Observer, numbers: dict[str, int]
) -> int | None:
    """The number that an expression is in a run; None where it has symbols of other values."""

    def value(symbol: Symbol) -> int:
        origin = symbol.origin
        if isinstance(origin, LoopContext):
            if origin.loop.header in run.around:
                return run.around[origin.loop.header]
            raise _Unknown
        if isinstance(origin, Argument) and origin.name in numbers:
            return numbers[origin.name]
        raise _Unknown

    try:
        return expression.evaluate(value)
    except (_Unknown, ZeroDivisionError):
        return None

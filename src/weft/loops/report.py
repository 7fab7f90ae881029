"""Reports on functions with parallel loops: each loop's body as it goes into lanes, and the code it becomes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from types import FunctionType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from weft.analysis.shapes import ArgumentShape, Signature
from weft.frontend.python.types import KernelType
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.jit_options import JitOptions
from weft.loops.build import lower
from weft.machine.host import chosen
from weft.options import Timings
from weft.passes.declared import Pass
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.passes.loops import LOOPS, PARALLEL_LOOPS
from weft.passes.runner import Runner
from weft.report.build import Program, ReportOptions, build_report
from weft.report.compiled import CompiledCode
from weft.report.debug_source import DebugSource
from weft.report.known_numbers import where_known
from weft.report.machine_code import MakeLines, machine_lines
from weft.report.report import Report, joined
from weft.target.machine import TargetSpec

_BEFORE = LOOPS.passes[: LOOPS.passes.index(PARALLEL_LOOPS) + 1]


class _Bodies(Struct):
    """A watcher that keeps the bodies of loops as they are before they go into lanes.

    Attributes
    ----------
    text
        The module then.
    found
        The body of each parallel loop, and the loop, which later passes go on with.
    main
        The function with the loops.
    """

    text: str = ""
    found: list[tuple[str, FoundLoop]] = field(default_factory=list)
    main: str = ""

    def __call__(self, done: Pass[Any], unit: Any) -> None:
        """Keep what each pass up to `PARALLEL_LOOPS` leaves."""
        if done not in _BEFORE or not isinstance(unit, LoopUnit):
            return
        self.text, self.main = write_module(unit.module), unit.name
        self.found = [(loop.mined.outlined.body.name, loop) for loop in unit.loops]


def report_on_function(
    function: FunctionType,
    types: Sequence[tuple[KernelType, ...]],
    options: Sequence[JitOptions],
    declared: Sequence[KernelType | None],
    title: str = "",
) -> Report:
    """Report on a function for each tuple of argument types.

    Parameters
    ----------
    function
        The Python function.
    types
        Types of its arguments.
    options, declared
        How it is compiled for each, and what the signature says that it returns.
    title
        What the report calls it; its name and the lines of its loops by default.
    """
    reports: list[Report] = []
    for each, asked, returned in zip(types, options, declared, strict=True):
        reports += _reports(function, each, returned, asked, title)
    return joined(reports)


def _reports(
    function: FunctionType,
    types: tuple[KernelType, ...],
    declared: KernelType | None,
    options: JitOptions,
    title: str,
) -> list[Report]:
    bodies = _Bodies()
    runner = Runner((bodies,), frozenset(options.switches.without))
    made, _, remarks = lower(function, types, declared, options, Timings(), runner)
    isa = chosen().isa
    lines: MakeLines | None = partial(machine_lines, made.text, made.pipeline, TargetSpec.chosen())
    where = where_known(list(inspect.signature(function).parameters), types, options.known)
    bodies_of_loops = {id(loop.mined.summary) for _, loop in bodies.found}
    called = [summary for summary in made.summaries if id(summary) not in bodies_of_loops]
    reports: list[Report] = []
    for name, found in bodies.found or [(bodies.main, None)]:
        width = 1 if found is None else found.mined.width
        line = 0 if found is None or found.span is None else found.span.line
        module = read_module(bodies.text)
        body = module.functions[name]
        by_line = f"{function.__name__}, the loop of line {line}" if line else function.__name__
        body.name = (title or by_line) + where
        shapes = Signature(tuple(ArgumentShape() for _ in body.args))
        summaries = [] if found is None or width == 1 else [found.mined.summary, *called]
        scalar = [f for f in made.scalar if f.name == name] if width == 1 else []
        told = (
            remarks if found is None else sorted(remarks, key=lambda remark, at=found.span: remark.span != at)
        )
        own = replace(CompiledCode.of(summaries, scalar, told, isa, lines=lines), width=width)
        program = Program(
            module, (body,), DebugSource({body.name: ""}), {body: shapes},
            compile=lambda wanted, own=own: own, assumed="the same in all iterations",
        )  # fmt: skip
        reports.append(build_report(program, ReportOptions(width=width)))
        # It is that of the whole function, which is shown once.
        lines = None
    return reports

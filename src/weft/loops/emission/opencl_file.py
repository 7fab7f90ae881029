"""Programs in OpenCL C, with comments that say what the host has to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from weft.loops.emission.opencl_c import OpenClC
from weft.loops.emission.opencl_helpers import HELPERS
from weft.loops.emission.plan import KernelPlan, Plan
from weft.loops.emission.tree import Assign, For, If, Launch, Make, Statement, launches_in

if TYPE_CHECKING:
    from weft.report.loops.nests import LoopNestReport


class OpenClFile:
    """A program in OpenCL C."""

    def __init__(self, report: LoopNestReport) -> None:
        self._report = report
        self._has_doubles = False
        self._helpers: dict[str, None] = {}
        self._has_long_atomics = False
        self._has_long_extrema = False

    def add(self, plan: Plan) -> str:
        """The text of kernels, with comments on their launches."""
        told = self._host(plan)
        texts: list[str] = []
        for kernel in plan.kernels:
            about = told if kernel is plan.kernels[0] else []
            lines = [kernel.title, *kernel.notes, *self._launched(plan.steps, kernel), *about]
            texts.append("".join(f"// {t}\n" for t in lines) + self._kernel(kernel))
        return "\n".join(texts)

    def _kernel(self, kernel: KernelPlan) -> str:
        printer = OpenClC()
        given: list[str] = []
        for a in kernel.arguments:
            kind = printer.type_of(a.type, a.reading)
            given.append(
                f"global {'' if a.is_written else 'const '}{kind} *{a.name}"
                if a.is_array
                else f"{kind} {a.name}"
            )
        lines = list(printer.body(kernel.body))
        self._has_doubles |= printer.has_doubles
        self._has_long_atomics |= printer.has_long_atomics
        self._has_long_extrema |= printer.has_long_extrema
        self._helpers.update(printer.helpers)
        return f"kernel void {kernel.name}({', '.join(given)}) {{\n" + "\n".join(lines) + "\n}\n"

    def _launched(self, steps: Iterable[Statement], kernel: KernelPlan) -> Iterator[str]:
        """How many work-items a kernel is launched with."""
        printer = OpenClC()
        for step in launches_in(steps):
            if step.kernel != kernel.name:
                continue
            local = ", ".join(map(str, step.block))
            if step.blocks is None:
                sizes = ", ".join(printer.text(t) for t in step.threads)
                yield f"Global size: {sizes}, rounded up to the local size of {local}."
            else:
                yield f"Global size: {printer.text(step.blocks, 20)} * {local}, local size {local}."

    def _host(self, plan: Plan) -> list[str]:
        """What the host copies, makes and returns."""
        printer = OpenClC()
        found: list[str] = []
        does = plan.is_whole or any(isinstance(s, For) for s in plan.steps)
        if does:
            found += ["The host does this:", *_HostPrinter().body(plan.steps)]
            found += [] if plan.returned is None else [f"  return {_HostPrinter().text(plan.returned)};"]
        elif len(plan.kernels) > 1:
            found.append(f"Launch {', then '.join(k.name for k in plan.kernels)}.")
        if not does:
            found += [
                f"{s.variable.name} is {printer.text(s.value)}." for s in plan.steps if isinstance(s, Assign)
            ]
            found += [f"Launch only if {printer.text(s.condition)}." for s in plan.steps if isinstance(s, If)]
        for section in plan.sections:
            way = " and ".join(
                w
                for w, on in (("in", section.is_read or section.is_written), ("out", section.is_written))
                if on
            )
            ends = [None if e is None else printer.text(e) for e in (section.low, section.end)]
            where = "all of it" if None in ends else f"elements [{ends[0]}, {ends[1]})"
            found.append(f"Copy {way}: {section.array.name}, {where}.")
        for buffer in plan.buffers:
            kind, length = printer.type_of(buffer.type, buffer.reading), printer.text(buffer.length)
            first = "" if buffer.start is None else f", first {printer.text(buffer.start)}"
            found.append(f"Make {buffer.name}: {kind}[{length}]{first}.")
        for result in plan.results:
            none = "" if result.nothing is None else f", {printer.text(result.nothing)} where there is none"
            found.append(f"Then {result.name} is {result.buffer}[0]{none}.")
        return [*found, *(t.replace("`", "") for t in plan.told)]

    def file(self, kernels: Iterable[str], refused: Iterable[tuple[int, str]]) -> str:
        functions = ", ".join(dict.fromkeys(loop.function for loop in self._report.loops))
        text = f"// Loops of {functions} as kernels.\n"
        for line, reason in refused:
            text += f"// Line {line} is no kernel: {reason}.\n"
        if self._has_doubles:
            text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        if self._has_long_atomics:
            text += "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        if self._has_long_extrema:
            text += "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
        text += "#pragma OPENCL FP_CONTRACT OFF\n"
        return text + "".join(f"\n{k}" for k in (*(HELPERS[h] for h in self._helpers), *kernels))


class _HostPrinter(OpenClC):
    """Writes the statements of the host."""

    def other(self, statement: Statement, space: str) -> Iterator[str]:
        """The line of a launch, or of an array that is made."""
        if isinstance(statement, Make):
            buffer = statement.buffer
            kind = self.type_of(buffer.type, buffer.reading)
            yield f"{space}global {kind} {buffer.name}[{self.text(buffer.length)}];"
            return
        if not isinstance(statement, Launch):
            yield from super().other(statement, space)
            return
        given = (a.name if a.value is None else self.text(a.value) for a in statement.arguments)
        yield f"{space}{statement.kernel}({', '.join(given)});"

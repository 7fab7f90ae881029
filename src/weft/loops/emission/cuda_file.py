"""Modules of Python with kernels, and code for the host that copies what they touch and launches them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from weft.loops.emission.cuda_host import HostPrinter
from weft.loops.emission.cuda_python import HELPERS, CudaPython
from weft.loops.emission.plan import KernelPlan, Plan, Result
from weft.loops.emission.sections import Section
from weft.loops.emission.tree import Assign, Statement

if TYPE_CHECKING:
    from weft.report.loops.nests import LoopNestReport

_COPIES = '''def _to_device(array, low, end):
    """A device array like `array` with its elements from `low` up to `end`, counted in C order."""
    copy = cuda.device_array_like(array)
    if low < end:
        copy.reshape(-1)[low:end].copy_to_device(array.reshape(-1)[low:end])
    return copy


def _to_host(copy, array, low, end):
    """Take these elements back."""
    if low < end:
        copy.reshape(-1)[low:end].copy_to_host(array.reshape(-1)[low:end])
'''
_LAUNCH = '''def _launch(kernel, threads, block, *arguments):
    """Run a kernel on so many threads at least."""
    if min(threads) > 0:
        grid = tuple((t + b - 1) // b for t, b in zip(threads, block))
        kernel[grid, block](*arguments)
'''


class CudaFile:
    """A module of Python."""

    def __init__(self, report: LoopNestReport) -> None:
        self._report = report
        self._modules: dict[str, None] = {}
        self._helpers: dict[str, None] = {}
        self._parts: dict[str, None] = {}

    def add(self, plan: Plan) -> str:
        """The text of kernels and of the function that runs them."""
        return "\n\n".join([*(self._kernel(k) for k in plan.kernels), self._launcher(plan)])

    def _kernel(self, kernel: KernelPlan) -> str:
        printer = CudaPython(kernel.grid)
        body = [s for s in kernel.body if not _is_thread(s, kernel.grid)]
        lines = [f"@cuda.jit\ndef {kernel.name}({', '.join(a.name for a in kernel.arguments)}):"]
        lines += _docstring(kernel.title, kernel.notes)
        if kernel.grid:
            lines.append(f"    {', '.join(kernel.grid.values())} = cuda.grid({len(kernel.grid)})")
        lines += printer.body(body)
        self._note(printer)
        return "\n".join(lines) + "\n"

    def _launcher(self, plan: Plan) -> str:
        printer = HostPrinter({"_copy": {s.array.name for s in plan.sections}})
        lines = [f"def run_{plan.name}({', '.join(a.name for a in plan.arguments)}):"]
        about = "Copy what the kernel touches, run it, and copy back what it has written."
        if plan.is_whole:
            about = "Copy the arrays, do what the function does with kernels, and copy back what these have written."
        lines += _docstring(about, plan.told)
        slices = [_host_slice(s, printer) for s in plan.sections]
        for section, slice in zip(plan.sections, slices, strict=True):
            array = section.array.name
            self._parts.update({} if slice is None else {_COPIES: None})
            made = f"cuda.to_device({array})" if slice is None else f"_to_device({array}, {slice})"
            lines.append(f"    {array}_copy = {made}")
        is_size = isinstance if not plan.is_whole else lambda *_: False
        before: list[Statement] = [s for s in plan.steps if is_size(s, Assign)]
        lines += printer.body(before) if before else []
        lines += [f"    {printer.made(b)}" for b in plan.buffers]
        lines += printer.body([s for s in plan.steps if s not in before])
        for section, slice in zip(plan.sections, slices, strict=True):
            array = section.array.name
            if section.is_written and slice is None:
                lines.append(f"    {array}_copy.copy_to_host({array})")
            elif section.is_written:
                lines.append(f"    _to_host({array}_copy, {array}, {slice})")
        lines += _returned(plan.results, printer)
        lines += [] if plan.returned is None else [f"    return {printer.text(plan.returned)}"]
        self._note(printer)
        if printer.has_grids:
            self._parts[_LAUNCH] = None
        return "\n".join(lines) + "\n"

    def _note(self, printer: CudaPython) -> None:
        self._modules.update(printer.modules)
        self._helpers.update(printer.helpers)

    def file(self, kernels: Iterable[str], refused: Iterable[tuple[int, str]]) -> str:
        functions = ", ".join(dict.fromkeys(loop.function for loop in self._report.loops))
        head = f'"""Loops of {functions} as kernels."""\n'
        kernels = list(kernels)
        uses_np = any("np." in k for k in kernels)
        modules = [m for m in ("math",) if m in self._modules]
        text = head + "\n" + "".join(f"import {m}\n" for m in modules)
        text += ("\n" if modules else "") + ("import numpy as np\n\n" if uses_np else "")
        text += "from weft import cuda  # numba has the same names: from numba import cuda\n"
        for line, reason in refused:
            text += f"\n# Line {line} is no kernel: {reason}."
        text += "\n" if refused else ""
        parts = [HELPERS[h] for h in self._helpers]
        parts += [p for p in (_COPIES, _LAUNCH) if p in self._parts]
        return text + "".join(f"\n\n{part}" for part in (*parts, *kernels))


def _is_thread(statement: Statement, grid: dict[str, str]) -> bool:
    """Whether a statement gives a variable the number of the thread, which the grid's line does."""
    if not isinstance(statement, Assign):
        return False
    value = statement.value
    while value.op in ("narrow", "widen"):
        value = value.args[0]
    return value.op == "thread" and grid.get(value.text) == statement.variable.name


def _docstring(first: str, more: Iterable[str]) -> list[str]:
    more = list(more)
    if not more:
        return [f'    """{first}"""']
    return [f'    """{first}', "", *(f"    {m}" for m in more), '    """']


def _returned(results: Iterable[Result], printer: HostPrinter) -> list[str]:
    values: list[str] = []
    lines: list[str] = []
    for result in results:
        text = f"{result.buffer}.copy_to_host()[0]"
        if result.nothing is not None:
            lines.append(f"    {result.name} = {text}")
            text = f"None if {result.name} == {printer.text(result.nothing)} else {result.name}"
        values.append(f"bool({text})" if result.is_truth else text)
    return [*lines, f"    return {', '.join(values)}"] if values else []


def _host_slice(section: Section, printer: HostPrinter) -> str | None:
    """The elements to copy as two arguments; None for all."""
    shape = section.array.shape
    if section.low is None or section.end is None or (shape is not None and not shape.is_contiguous):
        return None
    return f"{printer.text(section.low)}, {printer.text(section.end)}"

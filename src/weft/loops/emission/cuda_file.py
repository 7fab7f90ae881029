"""Modules of Python with kernels, and code for the host that copies what they touch and launches them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from weft.ir.types import FloatType
from weft.loops.emission.cuda_python import HELPERS, CudaPython
from weft.loops.emission.plan import Buffer, KernelPlan, Plan, Result
from weft.loops.emission.sections import Section
from weft.loops.emission.tree import Argument, Assign, Launch, Statement

if TYPE_CHECKING:
    from weft.report.loop_nests import LoopNestReport

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
        printer = _HostPrinter({"_copy": {s.array.name for s in plan.sections}})
        lines = [f"def run_{plan.name}({', '.join(a.name for a in plan.arguments)}):"]
        lines += _docstring(
            "Copy what the kernel touches, run it, and copy back what it has written.", plan.told
        )
        slices = [_host_slice(s, printer) for s in plan.sections]
        for section, slice in zip(plan.sections, slices, strict=True):
            array = section.array.name
            self._parts.update({} if slice is None else {_COPIES: None})
            made = f"cuda.to_device({array})" if slice is None else f"_to_device({array}, {slice})"
            lines.append(f"    {array}_copy = {made}")
        before: list[Statement] = [s for s in plan.steps if isinstance(s, Assign)]
        lines += printer.body(before) if before else []
        lines += [self._buffer(b, printer) for b in plan.buffers]
        lines += printer.body([s for s in plan.steps if s not in before])
        for section, slice in zip(plan.sections, slices, strict=True):
            array = section.array.name
            if section.is_written and slice is None:
                lines.append(f"    {array}_copy.copy_to_host({array})")
            elif section.is_written:
                lines.append(f"    _to_host({array}_copy, {array}, {slice})")
        lines += _returned(plan.results, printer)
        self._note(printer)
        if printer.has_grids:
            self._parts[_LAUNCH] = None
        return "\n".join(lines) + "\n"

    def _buffer(self, buffer: Buffer, printer: CudaPython) -> str:
        dtype = printer.dtype(buffer.type, buffer.reading)
        if buffer.start is not None:
            full = f"np.full({printer.text(buffer.length)}, {printer.text(buffer.start)}, {dtype})"
            return f"    {buffer.name} = cuda.to_device({full})"
        return f"    {buffer.name} = cuda.device_array({printer.text(buffer.length)}, {dtype})"

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


class _HostPrinter(CudaPython):
    """Writes the statements of the host.

    Parameters
    ----------
    copies
        Arrays that have copies, by how the names of these end.

    Attributes
    ----------
    has_grids
        Whether a kernel is launched on a number of threads.
    """

    def __init__(self, copies: dict[str, set[str]]) -> None:
        super().__init__({})
        self._copies = copies
        self.has_grids = False

    def other(self, statement: Statement, space: str) -> Iterator[str]:
        """The lines of a launch."""
        if not isinstance(statement, Launch):
            yield from super().other(statement, space)
            return
        given = ", ".join(self._passed(a) for a in statement.arguments)
        if statement.blocks is None:
            self.has_grids = True
            threads = ", ".join(self.text(t) for t in statement.threads)
            threads = f"({threads}{',' if len(statement.threads) == 1 else ''})"
            yield f"{space}_launch({statement.kernel}, {threads}, {statement.block}, {given})"
        else:
            yield f"{space}{statement.kernel}[{self.text(statement.blocks)}, {statement.block[0]}]({given})"

    def _passed(self, argument: Argument) -> str:
        if argument.is_array:
            ending = next((e for e, arrays in self._copies.items() if argument.name in arrays), "")
            return f"{argument.name}{ending}"
        name = argument.name if argument.value is None else self.text(argument.value)
        if isinstance(argument.type, FloatType) and argument.type.kind == "float":
            self.modules["np"] = None
            return f"np.float32({name})"
        return name


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


def _returned(results: Iterable[Result], printer: CudaPython) -> list[str]:
    values: list[str] = []
    lines: list[str] = []
    for result in results:
        text = f"{result.buffer}.copy_to_host()[0]"
        if result.nothing is not None:
            lines.append(f"    {result.name} = {text}")
            text = f"None if {result.name} == {printer.text(result.nothing)} else {result.name}"
        values.append(f"bool({text})" if result.is_truth else text)
    return [*lines, f"    return {', '.join(values)}"] if values else []


def _host_slice(section: Section, printer: CudaPython) -> str | None:
    """The elements to copy as two arguments; None for all."""
    shape = section.array.shape
    if section.low is None or section.end is None or (shape is not None and not shape.is_contiguous):
        return None
    return f"{printer.text(section.low)}, {printer.text(section.end)}"

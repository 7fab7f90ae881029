"""Modules of Python with kernels, and code for the host that copies what they touch and launches them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from weft.ir.types import I64, FloatType
from weft.loops.emission.cuda_python import HELPERS, CudaPython
from weft.loops.emission.kernel import ArrayParameter, KernelParts, NumberParameter
from weft.loops.emission.launches import (
    BLOCKS,
    EmittedKernel,
    Section,
    lines_of,
    parameters_of,
    parts_of,
    sections_of,
    without_zero,
)
from weft.loops.emission.nests import Nest
from weft.loops.emission.subscripts import Shape
from weft.loops.emission.tree import Assign, Statement

if TYPE_CHECKING:
    from weft.report.loop_nests import LoopNestReport

_COPIES = '''def _to_device(array, low, end):
    """A device array like `array` with its elements from `low` up to `end`, counted in C order."""
    copy = cuda.device_array_like(array)
    copy.reshape(-1)[low:end].copy_to_device(array.reshape(-1)[low:end])
    return copy


def _to_host(copy, array, low, end):
    """Take these elements back."""
    copy.reshape(-1)[low:end].copy_to_host(array.reshape(-1)[low:end])
'''


class CudaFile:
    """A module of Python."""

    def __init__(self, report: LoopNestReport) -> None:
        self._report = report
        self._modules: dict[str, None] = {"np": None}
        self._helpers: dict[str, None] = {}
        self._has_sections = False

    def kernel(self, nest: Nest, name: str, shapes: Mapping[str, Shape]) -> tuple[EmittedKernel, str]:
        parts, body = parts_of(nest, shapes)
        names, body = _thread_names(parts, body, len(nest.dimensions))
        printer = CudaPython(names)
        lines = list(printer.body(body))
        host = CudaPython({})
        at = nest.loop.header.terminator
        sections = sections_of(parts)
        extents = [host.text(parts.values.number(without_zero(e), I64, at)) for e in nest.extents]
        copied = [_host_slice(s, host) for s in sections]
        given = parameters_of(parts)
        arguments = ", ".join(p.name for p in given)
        launcher = f"run_{name.replace('_kernel', '')}"
        grid = ", ".join(names[d] for d in "xyz"[: len(names)])
        text = [f"@cuda.jit\ndef {name}({arguments}):"]
        text += _docstring(
            f"One thread for each iteration of {lines_of(nest)} of {nest.report.file.rpartition('/')[2]}.",
            [f"It is assumed that {t}." for t in nest.assumptions],
        )
        text.append(f"    {grid} = cuda.grid({len(names)})")
        text += lines
        text += ["", "", f"def {launcher}({arguments}):"]
        told = []
        for p in given:
            if isinstance(p, NumberParameter) and p.text != p.name:
                told.append(f"`{p.name}` is {p.text}.")
            if isinstance(p, ArrayParameter) and p.base.name.split(".")[0] != p.name:
                told.append(f"`{p.name}` is {p.base.name}.")
        text += _docstring("Copy what the kernel touches, run it, and copy back what it has written.", told)
        text.append(f"    threads = ({', '.join(extents)}{',' if len(extents) == 1 else ''})")
        text += ["    if min(threads) <= 0:", "        return"]
        text.append(f"    block = {BLOCKS[len(names)]}")
        text.append("    grid = tuple((t + b - 1) // b for t, b in zip(threads, block))")
        for section, slice in zip(sections, copied, strict=True):
            array = section.array.name
            if slice is None:
                text.append(f"    {array}_copy = cuda.to_device({array})")
            else:
                self._has_sections = True
                text.append(f"    {array}_copy = _to_device({array}, {slice})")
        passed = ", ".join(_passed(p) for p in given)
        text.append(f"    {name}[grid, block]({passed})")
        for section, slice in zip(sections, copied, strict=True):
            array = section.array.name
            if section.is_written and slice is None:
                text.append(f"    {array}_copy.copy_to_host({array})")
            elif section.is_written:
                text.append(f"    _to_host({array}_copy, {array}, {slice})")
        self._modules.update(printer.modules)
        self._helpers.update({**printer.helpers, **host.helpers})
        made = EmittedKernel(name, nest.report.line, tuple(p.name for p in given), launcher)
        return made, "\n".join(text) + "\n"

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
        if self._has_sections:
            parts.append(_COPIES)
        return text + "".join(f"\n\n{part}" for part in (*parts, *kernels))


def _thread_names(
    parts: KernelParts, body: list[Statement], count: int
) -> tuple[dict[str, str], list[Statement]]:
    """What threads are called by dimension: the counters of the loops, where these are no more than that."""
    names: dict[str, str] = {}
    rest: list[Statement] = []
    for position, statement in enumerate(body):
        if not isinstance(statement, Assign):
            rest += body[position:]
            break
        value = statement.value
        while value.op in ("narrow", "widen"):
            value = value.args[0]
        if value.op == "thread":
            names[value.text] = statement.variable.name
        else:
            rest.append(statement)
    for dimension in "xyz"[:count]:
        if dimension not in names:
            names[dimension] = parts.unique(f"thread_{dimension}")
    return {d: names[d] for d in "xyz"[:count]}, rest


def _docstring(first: str, more: list[str]) -> list[str]:
    if not more:
        return [f'    """{first}"""']
    return [f'    """{first}', "", *(f"    {m}" for m in more), '    """']


def _passed(parameter: ArrayParameter | NumberParameter) -> str:
    if isinstance(parameter, ArrayParameter):
        return f"{parameter.name}_copy"
    if isinstance(parameter.type, FloatType) and parameter.type.kind == "float":
        return f"np.float32({parameter.name})"
    return parameter.name


def _host_slice(section: Section, printer: CudaPython) -> str | None:
    """The elements to copy as two arguments; None for all."""
    shape = section.array.shape
    if section.low is None or section.end is None or (shape is not None and not shape.is_contiguous):
        return None
    return f"{printer.text(section.low)}, {printer.text(section.end)}"

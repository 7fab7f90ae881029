"""Programs in OpenCL C, with comments that say how to launch their kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from weft.ir.types import I64
from weft.loops.emission.kernel import ArrayParameter
from weft.loops.emission.launches import (
    BLOCKS,
    EmittedKernel,
    lines_of,
    parameters_of,
    parts_of,
    sections_of,
    without_zero,
)
from weft.loops.emission.nests import Nest
from weft.loops.emission.opencl_c import HELPERS, OpenClC
from weft.loops.emission.subscripts import Shape

if TYPE_CHECKING:
    from weft.report.loop_nests import LoopNestReport


class OpenClFile:
    """A program in OpenCL C."""

    def __init__(self, report: LoopNestReport) -> None:
        self._report = report
        self._has_doubles = False
        self._helpers: dict[str, None] = {}
        self._has_long_atomics = False

    def kernel(self, nest: Nest, name: str, shapes: Mapping[str, Shape]) -> tuple[EmittedKernel, str]:
        parts, body = parts_of(nest, {}, {n: s.is_unsigned for n, s in shapes.items()})
        printer = OpenClC()
        lines = list(printer.body(body))
        host = OpenClC()
        at = nest.loop.header.terminator
        given: list[str] = []
        extents = [host.text(parts.values.number(without_zero(e), I64, at)) for e in nest.extents]
        sections = sections_of(parts)
        local = ", ".join(map(str, BLOCKS[len(extents)]))
        told = [
            f"One work-item for each iteration of {lines_of(nest)} of {nest.report.file.rpartition('/')[2]}.",
            *(f"It is assumed that {t}." for t in nest.assumptions),
            f"Global size: {', '.join(extents)}, rounded up to the local size of {local}.",
        ]
        for section in sections:
            way = " and ".join(
                w
                for w, on in (("in", section.is_read or section.is_written), ("out", section.is_written))
                if on
            )
            ends = [None if e is None else host.text(e) for e in (section.low, section.end)]
            where = "all of it" if None in ends else f"elements [{ends[0]}, {ends[1]})"
            told.append(f"Copy {way}: {section.array.name}, {where}.")
        for p in parameters_of(parts):
            if isinstance(p, ArrayParameter):
                kind = printer.type_of(p.element, p.reading)
                given.append(f"global {'' if p.is_written else 'const '}{kind} *{p.name}")
            else:
                given.append(f"{printer.type_of(p.type, 's')} {p.name}")
                if p.text != p.name:
                    told.append(f"{p.name} is {p.text}.")
        text = "".join(f"// {t}\n" for t in told)
        text += f"kernel void {name}({', '.join(given)}) {{\n" + "\n".join(lines) + "\n}\n"
        self._has_doubles |= printer.has_doubles
        self._has_long_atomics |= printer.has_long_atomics
        self._helpers.update(printer.helpers)
        return EmittedKernel(name, nest.report.line, tuple(p.name for p in parameters_of(parts)), ""), text

    def file(self, kernels: Iterable[str], refused: Iterable[tuple[int, str]]) -> str:
        functions = ", ".join(dict.fromkeys(loop.function for loop in self._report.loops))
        text = f"// Loops of {functions} as kernels.\n"
        for line, reason in refused:
            text += f"// Line {line} is no kernel: {reason}.\n"
        if self._has_doubles:
            text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        if self._has_long_atomics:
            text += "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        text += "#pragma OPENCL FP_CONTRACT OFF\n"
        return text + "".join(f"\n{k}" for k in (*(HELPERS[h] for h in self._helpers), *kernels))

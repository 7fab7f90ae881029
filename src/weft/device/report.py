"""Reports on kernels in C dialects: the view for people, in which each access of the source is still there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np
from msgspec.structs import replace

from weft.analysis.divergence import Scope
from weft.analysis.shapes import ArgumentShape, Signature, parse_args
from weft.device.origin import Origin
from weft.diag.errors import ArgumentError
from weft.frontend.device.metadata import KernelInfo, Passing
from weft.ir import Function, Value
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.options import CompileOptions
from weft.passes.lower_kernel import lower_kernel
from weft.report.build import Program, ReportOptions, build_report
from weft.report.compiled import CompiledCode
from weft.report.debug_source import DebugSource
from weft.report.machine_code import machine_lines
from weft.report.report import Report, joined
from weft.target.machine import TargetSpec
from weft.target.passes import SROA_ONLY, optimize


class Reported(Protocol):
    """A kernel to report on."""

    origin: Origin

    @property
    def options(self) -> CompileOptions:
        """How it is compiled."""
        ...


def report_on_kernels(
    kernels: Sequence[Reported], *, args: str = "", width: int | None = None, scope: str = "lanes"
) -> Report:
    """Report on kernels; `weft.opencl.Kernel.report` says the rest."""
    shapes = parse_args(args) if args else None
    return report_under(kernels, ReportOptions(Scope(scope), width), shapes)


def report_under(
    kernels: Sequence[Reported], options: ReportOptions, shapes: Signature | None = None
) -> Report:
    """Report on kernels under assumptions.

    Parameters
    ----------
    kernels
        The kernels.
    options
        Under which assumptions.
    shapes
        Shapes of their parameters; of a vector, that of each element.
    """
    reports = []
    for kernel in kernels:
        program = _program(kernel, shapes)
        warps = options.with_warps(kernel.origin.info.sub_group_size)
        reports.append(build_report(program, warps if asks_for_lanes(program.module) else options))
    return joined(reports)


def _program(kernel: Reported, shapes: Signature | None) -> Program:
    origin = kernel.origin
    info = origin.info
    text = write_module(origin.module(small=True), plain=True)
    module = read_module(optimize(text, SROA_ONLY, TargetSpec.chosen().machine))
    main = module.functions[origin.symbol]
    main.name = info.name
    parameters = ", ".join(f"{a.type_name} {a.name}" for a in info.arguments)
    given = {} if shapes is None else {main: _spread(info, shapes)}
    source = DebugSource({main.name: f"({parameters})"})
    return Program(module, (main,), source, given, _element_bytes(info, main), partial(_compile, kernel))


def _compile(kernel: Reported, wanted: ReportOptions) -> CompiledCode:
    options = replace(kernel.options, width=wanted.width or kernel.options.width)
    module = kernel.origin.module(options.small_arrays)
    made = lower_kernel(module, kernel.origin.symbol, options, wanted.spec)
    lines = partial(machine_lines, made.text, made.pipeline, wanted.spec)
    return CompiledCode.of(made.summaries, made.scalar, made.remarks, wanted.machine, made.dimension, lines)


def _slots(info: KernelInfo) -> list[int]:
    """How many parameters of the function each of the kernel's becomes."""
    return [a.lanes if a.passing is Passing.VALUE else 1 for a in info.arguments]


def _spread(info: KernelInfo, shapes: Signature) -> Signature:
    if len(shapes.arguments) > len(info.arguments):
        raise ArgumentError(
            f"{info.name} has {len(info.arguments)} arguments, and shapes were given for"
            f" {len(shapes.arguments)} ({shapes})"
        )
    found: list[ArgumentShape] = []
    for number, (argument, count) in enumerate(zip(info.arguments, _slots(info), strict=True)):
        offset = argument.passing is Passing.LOCAL
        found += [ArgumentShape() if offset else shapes.argument(number)] * count
    return Signature(tuple(found), shapes.result)


def _element_bytes(info: KernelInfo, main: Function) -> dict[Value, int]:
    """How many bytes the elements have that parameters lead to."""
    sizes: dict[Value, int] = {}
    first = 0
    for argument, count in zip(info.arguments, _slots(info), strict=True):
        if argument.passing is Passing.BUFFER and argument.element:
            # A vector of three takes the room of four.
            lanes = 4 if argument.lanes == 3 else argument.lanes
            sizes[main.args[first]] = np.dtype(argument.element).itemsize * lanes
        first += count
    return sizes

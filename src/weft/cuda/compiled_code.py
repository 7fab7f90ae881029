"""The code of Python kernels, for reports to look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from weft.cuda.build import lower
from weft.frontend.python.compile import FrontendResult
from weft.frontend.python.types import KernelType
from weft.options import CompileOptions, Timings
from weft.report.build import ReportOptions
from weft.report.compiled import CompiledCode
from weft.report.kernels import CompileKernel
from weft.report.machine_code import machine_lines


def compiled_by(options_of: Callable[[Any, tuple[KernelType, ...]], CompileOptions]) -> CompileKernel:
    """What compiles kernels for reports, under the options that `options_of` gives for a Python function and types."""

    def compile(kernel: FrontendResult, wanted: ReportOptions) -> CompiledCode:
        function = kernel.functions[0]
        types = tuple(p.type for p in kernel.params)
        options = options_of(function, types)
        options = replace(options, width=wanted.width or options.width)
        made, remarks = lower(function, types, options, Timings(), wanted.spec)
        lines = partial(machine_lines, made.text, made.pipeline, wanted.spec)
        return CompiledCode.of(made.summaries, made.scalar, remarks, wanted.machine, made.dimension, lines)

    return compile

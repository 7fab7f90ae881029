"""The code of Python kernels, for reports to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from weft.cuda.build import lower
from weft.frontend.python.compile import FrontendResult
from weft.options import CompileOptions, Timings
from weft.report.build import ReportOptions
from weft.report.compiled import CompiledCode
from weft.report.kernels import CompileKernel


def compiled_by(options_of: Callable[[Any], CompileOptions]) -> CompileKernel:
    """What compiles kernels for reports, each under the options that `options_of` gives for its Python function."""

    def compile(kernel: FrontendResult, wanted: ReportOptions) -> CompiledCode:
        function = kernel.functions[0]
        options = options_of(function)
        options = replace(options, width=wanted.width or options.width)
        types = tuple(p.type for p in kernel.params)
        made, remarks = lower(function, types, options, Timings(), wanted.spec)
        return CompiledCode.of(made.summaries, made.scalar, remarks, wanted.machine, made.dimension)

    return compile

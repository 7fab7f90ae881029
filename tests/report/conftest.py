"""Reports under fixed assumptions, whatever the machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.analysis.divergence import Scope
from weft.analysis.shapes import parse_args
from weft.cuda.compiled_code import compiled_by
from weft.frontend.python.compile import compile_python
from weft.frontend.python.signatures import parse_signature
from weft.loops.compiled_code import code_of_text
from weft.machine.targets import AVX512
from weft.options import CompileOptions
from weft.report.build import ReportOptions, build_report
from weft.report.kernels import report_on_kernels
from weft.report.llvm_programs import text_program
from weft.report.report import Report


@pytest.fixture
def report_on_text() -> Callable[..., Report]:
    """Report on LLVM text."""

    def report(
        text: str,
        args: str = "",
        scope: str = "lanes",
        names: tuple[str, ...] = (),
        compiled: bool = True,
    ) -> Report:
        shapes = parse_args(args) if args else None
        options = ReportOptions(Scope(scope), 16, isa=AVX512)
        compile = code_of_text("program.ll", lines_of_text=True) if compiled else None
        return build_report(text_program(text, "program.ll", names, shapes, compile=compile), options)

    return report


@pytest.fixture
def report_on_kernel() -> Callable[..., Report]:
    """Report on a Python function as a kernel."""

    def report(function, types: str, args: str = "", scope: str = "lanes") -> Report:
        result = compile_python(function, parse_signature(types).args)
        options = ReportOptions(Scope(scope), 16, isa=AVX512)
        shapes = parse_args(args) if args else None
        return report_on_kernels(
            [result], options, shapes, compiled_by(lambda function, types: CompileOptions())
        )

    return report


@pytest.fixture
def steady() -> Callable[[object], str]:
    """The text of a report without folders of files, and without cycles, which change with the code."""

    def text(report: object) -> str:
        told = str(report).replace(f"{Path(__file__).parent}/", "")
        told = re.sub(r"\d+%", lambda match: " " * len(match[0]), told)
        told = re.sub(r"(?<=\. )[ \d,]{9}(?=  line)", "        #", told)
        return re.sub(r"takes [\d,]+ in all", "takes # in all", told)

    return text

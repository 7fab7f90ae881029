"""The code of functions in C and LLVM IR, and of functions with parallel loops, for reports to look at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from weft.analysis.divergence import is_kernel
from weft.analysis.shapes import ArgumentShape, Signature
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.order.width import one_register
from weft.diag.remarks import Remark
from weft.ir import Function, Module
from weft.options import CompileOptions
from weft.passes.adopt import adopt
from weft.passes.foreign import FOREIGN_FUNCTIONS
from weft.passes.foreign_unit import ForeignFunctionUnit
from weft.passes.lower_kernel import lower_kernel
from weft.passes.machine_text import machine_text
from weft.passes.runner import Runner
from weft.report.build import ReportOptions
from weft.report.compiled import CompiledCode
from weft.report.llvm_programs import CompileText
from weft.report.machine_code import Lines, MakeLines, joined_lines, machine_lines
from weft.report.text_source import TextSource
from weft.target.machine import TargetSpec
from weft.target.passes import WHOLE
from weft.transform.boscc.insertion import Boscc, BosccMode


def code_of_text(file: str, lines_of_text: bool) -> CompileText:
    """What compiles functions of LLVM's text for reports: kernels as such, others as functions of their lanes.

    Parameters
    ----------
    file
        What the text is called.
    lines_of_text
        Whether places are lines of the text, and not those of its debug information.
    """

    def compile(
        text: str,
        functions: Sequence[Function],
        uniform: Sequence[str],
        shapes: Signature | None,
        wanted: ReportOptions,
    ) -> CompiledCode:
        summaries: list[VectorizationSummary] = []
        scalar: list[Function] = []
        remarks: list[Remark] = []
        lines: list[MakeLines] = []
        for function in functions:
            module = adopt(text, file, uniform=uniform)
            if lines_of_text:
                TextSource(text, file).give_places(module)
            if is_kernel(function):
                made = lower_kernel(module, function.name, CompileOptions(width=wanted.width), wanted.spec)
                summaries += made.summaries
                scalar += made.scalar
                remarks += made.remarks
                lines.append(partial(machine_lines, made.text, made.pipeline, wanted.spec))
            else:
                unit = _whole_function(module, function, shapes, wanted)
                summaries += unit.called.values()
                remarks += unit.remarks
                lines.append(partial(_function_lines, module, wanted.spec))
        return CompiledCode.of(summaries, scalar, remarks, wanted.machine, lines=joined_lines(lines))

    return compile


def _function_lines(module: Module, spec: TargetSpec) -> Lines:
    return machine_lines(machine_text(module, spec.isa), WHOLE, spec)


def _whole_function(
    module: Module, function: Function, shapes: Signature | None, wanted: ReportOptions
) -> ForeignFunctionUnit:
    isa = wanted.machine
    width = wanted.width or one_register(isa)
    reason = "a register of 32-bit values" if wanted.width is None else "as asked for"
    # As the analysis has it: a function that is no kernel may be called with anything.
    signature = shapes or Signature(tuple(ArgumentShape("T") for _ in function.args))
    unit = ForeignFunctionUnit(
        module, function.name, wanted.spec, isa, width, Boscc(BosccMode.AUTO, isa), Runner(),
        wanted=function.name, signature=signature, subject=function.name, reason=reason,
    )  # fmt: skip
    unit.runner.run(FOREIGN_FUNCTIONS, unit)
    return unit

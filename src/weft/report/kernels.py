"""Reports on Python kernels: the view for people, in which each access of the source is still there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from weft.analysis.divergence import Scope
from weft.analysis.shapes import ArgumentShape, Signature, parse_args
from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python.compile import FrontendResult, ParamSpec, compile_python
from weft.frontend.python.components import Component
from weft.frontend.python.types import Array, KernelType, Scalar, Tuple
from weft.ir import Function, Value
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.report.build import Program, ReportOptions, build_report
from weft.report.compiled import CompiledCode
from weft.report.debug_source import DebugSource
from weft.report.known_numbers import where_known
from weft.report.report import Report, joined
from weft.target.machine import TargetSpec
from weft.target.passes import SROA_ONLY, optimize

CompileKernel: TypeAlias = Callable[[FrontendResult, ReportOptions], CompiledCode]
"""Compiles a kernel that the front end has made under the options of a report."""

WARP_LANES = 32


def report_on_function(
    function: Callable[..., Any],
    signatures: Sequence[tuple[KernelType, ...]],
    *,
    args: str = "",
    width: int | None = None,
    scope: str = "lanes",
    compile: CompileKernel | None = None,
    known: Sequence[tuple[int, int | float]] = (),
) -> Report:
    """Report on a Python function as a kernel, for each tuple of argument types; `Kernel.report` says the rest.

    Parameters
    ----------
    known
        Numbers of a launch that what it is compiled to is made for, by the slots of arguments.

    Raises
    ------
    SignatureError
        There are no argument types.
    """
    if not signatures:
        raise SignatureError(
            f"{function.__name__} has not been compiled for any argument types yet",
            hint='launch it first, or give a signature: kernel.report("void(float32[:], int32)")',
        )
    results = [compile_python(function, types) for types in signatures]
    shapes = parse_args(args) if args else None
    return report_on_kernels(results, ReportOptions(Scope(scope), width), shapes, compile, known)


def report_on_kernels(
    kernels: Sequence[FrontendResult],
    options: ReportOptions,
    shapes: Signature | None = None,
    compile: CompileKernel | None = None,
    known: Sequence[tuple[int, int | float]] = (),
) -> Report:
    """Report on kernels that the front end has just compiled.

    Parameters
    ----------
    kernels
        One result for each kernel and signature.
    options
        Under which assumptions.
    shapes
        Shapes of the Python arguments; of an array it is that of its data pointer, of a tuple that of each item.
    compile
        Compiles them; without it costs are those of the kernels as they were written.
    known
        Numbers of a launch that what they are compiled to is made for, by the slots of arguments.
    """
    reports = [
        build_report(kernel_program(kernel, shapes, compile, known), _lane_groups(options, kernel))
        for kernel in kernels
    ]
    return joined(reports)


def _lane_groups(options: ReportOptions, kernel: FrontendResult) -> ReportOptions:
    """Kernels with warp operations have lane groups of 32 threads with consecutive numbers."""
    return options.with_warps(WARP_LANES) if kernel.uses_horizontal else options


def kernel_program(
    kernel: FrontendResult,
    shapes: Signature | None = None,
    compile: CompileKernel | None = None,
    known: Sequence[tuple[int, int | float]] = (),
) -> Program:
    """A kernel after promotion of variables to registers, with the functions it calls."""
    text = optimize(write_module(kernel.module, plain=True), SROA_ONLY, TargetSpec.chosen().machine)
    module = read_module(text)
    main = module.functions[kernel.kernel.name]
    others = tuple(f for f in module.definitions() if f is not main)
    parameters = ", ".join(f"{p.name}: {p.type}" for p in kernel.params)
    where = where_known([p.name for p in kernel.params], [p.type for p in kernel.params], known)
    source = DebugSource({main.name: f"({parameters}){where}"})
    given = {} if shapes is None else {main: spread_shapes(kernel, shapes)}
    compiled = None if compile is None else partial(compile, kernel)
    return Program(module, (main, *others), source, given, _element_bytes(kernel, main), compiled)


def spread_shapes(kernel: FrontendResult, shapes: Signature) -> Signature:
    """Shapes of the IR parameters that Python arguments of the given shapes become.

    Raises
    ------
    ArgumentError
        There are more shapes than arguments.
    """
    if len(shapes.arguments) > len(kernel.params):
        raise ArgumentError(
            f"{kernel.kernel.name} has {len(kernel.params)} arguments, and shapes were given for"
            f" {len(shapes.arguments)} ({shapes})"
        )
    found: list[ArgumentShape] = []
    for index, parameter in enumerate(kernel.params):
        for component in parameter.components:
            describes = component.role in ("extent", "stride")
            found.append(ArgumentShape() if describes else shapes.argument(index))
    return Signature(tuple(found), shapes.result)


def _element_bytes(kernel: FrontendResult, main: Function) -> dict[Value, int]:
    sizes: dict[Value, int] = {}
    for parameter in kernel.params:
        for offset, component in enumerate(parameter.components):
            size = _element_size(parameter, component)
            if size:
                sizes[main.args[parameter.first + offset]] = size
    return sizes


def _element_size(parameter: ParamSpec, component: Component) -> int:
    type: KernelType = parameter.type
    for index in component.path:
        assert isinstance(type, Tuple)
        type = type.items[index]
    if component.role != "data" or not isinstance(type, Array) or not isinstance(type.dtype, Scalar):
        return 0
    return type.dtype.size

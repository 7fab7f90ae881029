"""Reports on files of every language that weft reads."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from weft.analysis.shapes import Signature
from weft.aot.importing import import_file
from weft.cli.programs import compile_kernels, functions_of, kernels_of, types_of_text, unknown_types
from weft.cuda.c.module import Module
from weft.cuda.compiled_code import compiled_by
from weft.cuda.kernel import Kernel
from weft.cuda.ptx.module import Module as PtxModule
from weft.device.report import report_under
from weft.frontend.clang import SUFFIXES
from weft.loops.compiled_code import code_of_text
from weft.opencl.program import Program
from weft.report.build import ReportOptions, build_report
from weft.report.c_programs import c_program
from weft.report.kernels import report_on_kernels
from weft.report.llvm_programs import bitcode_program, text_program
from weft.report.report import Report, joined
from weft.target.reading import decode_text

READ = (".py", ".cu", ".ptx", ".cl", ".ll", ".bc", *SUFFIXES)
"""Suffixes of files that there are reports on."""


class UsageError(Exception):
    """The command line asks for something that there is not."""


def report_on_file(
    name: str,
    settings: ReportOptions,
    functions: Sequence[str] = (),
    shapes: Signature | None = None,
    types: str | None = None,
    uniform: Sequence[str] = (),
    clang: Sequence[str] = (),
) -> Report:
    """Report on a file.

    Parameters
    ----------
    name
        The file, as the user calls it.
    settings
        Under which assumptions.
    functions
        Its functions to report on; all where there are none.
    shapes
        Shapes of the arguments.
    types
        Argument types of one kernel in Python.
    uniform
        Functions without a body that are uniform for uniform arguments.
    clang
        Options for clang.

    Raises
    ------
    UsageError
        There is no such file, or it has nothing to report on.
    WeftError
        It cannot be read or compiled.
    """
    file = Path(name)
    if not file.is_file():
        raise UsageError(f"there is no file {name}")
    if file.suffix == ".py":
        if uniform:
            raise UsageError("--uniform is for functions without a body, which C and LLVM IR have")
        return _python_report(file, settings, functions, shapes, types)
    if types is not None:
        raise UsageError("--types is for .py files; C and LLVM IR have their types")
    if file.suffix == ".ll":
        text = decode_text(file.read_bytes())
        compile = code_of_text(name, lines_of_text=True)
        return build_report(text_program(text, name, functions, shapes, uniform, compile), settings)
    if file.suffix == ".bc":
        compile = code_of_text(name, lines_of_text=True)
        return build_report(
            bitcode_program(file.read_bytes(), name, functions, shapes, uniform, compile), settings
        )
    if file.suffix in SUFFIXES:
        compile = code_of_text(name, lines_of_text=False)
        return build_report(c_program(file, functions, shapes, clang, uniform, compile), settings)
    if file.suffix == ".cl":
        program = Program(file, shlex.join(clang))
        names = functions or program.kernel_names
        _require(names, f"{file} defines no kernel")
        return report_under([program.kernel(name) for name in names], settings, shapes)
    if file.suffix == ".cu":
        module = Module(file, clang)
        # Of templates, the instances that the file makes, or that are named.
        kernels = [module.kernel(name) for name in functions] if functions else module.kernels()
        _require(kernels, f"{file} defines no kernel; name instances of templates: --function 'add<float>'")
        return report_under(kernels, settings, shapes)
    if file.suffix == ".ptx":
        # In the lines that ``.loc`` names, or its own.
        lifted = PtxModule(file)
        names = functions or lifted.kernel_names
        _require(names, f"{file} defines no kernel")
        return report_under([lifted[name] for name in names], settings, shapes)
    raise UsageError(f"{name}: weft analyze reads .py, .cu, .ptx, .cl, .ll, .bc, C and C++ files")


def _require(found: Sequence[object], message: str) -> None:
    if not found:
        raise UsageError(message)


def _python_report(
    file: Path, settings: ReportOptions, wanted: Sequence[str], shapes: Signature | None, types: str | None
) -> Report:
    """A report on kernels, and on functions under `weft.jit`: for `types`, or what they were declared for."""
    module = import_file(file)
    functions = functions_of(module, wanted)
    names = [name for name in wanted if name not in functions]
    no_kernels = not (names or any(isinstance(v, Kernel) for v in vars(module).values()))
    if types is not None and no_kernels and functions:
        if len(functions) > 1:
            raise UsageError(
                f"--types is for one function; choose it with --function: {', '.join(functions)}"
            )
        return next(iter(functions.values())).report(types_of_text(types))
    reports = [function.report() for function in functions.values() if function.overloads and types is None]
    if reports and no_kernels:
        return joined(reports)
    if no_kernels and functions:
        raise unknown_types(next(iter(functions.values())), "--function")
    kernels = kernels_of(module, names)
    if types is not None and len(kernels) > 1:
        raise UsageError(f"--types is for one kernel; choose it with --function: {', '.join(kernels)}")
    options = {kernel.py_func: kernel.options for kernel in kernels.values()}
    compile = compiled_by(lambda function, types: options[function])
    made = compile_kernels(kernels, types)
    return joined([report_on_kernels(made, settings, shapes, compile), *reports])

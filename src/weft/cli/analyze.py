"""``weft analyze``: what is uniform, strided and varying in a kernel, where lanes diverge, what it costs and why."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.analysis.divergence import Scope
from weft.analysis.shapes import DOMAINS, Signature, parse_args
from weft.cli.programs import compile_kernels, functions_of, import_file, kernels_of
from weft.cuda.c.module import Module
from weft.cuda.compiled_code import compiled_by
from weft.cuda.kernel import Kernel
from weft.cuda.ptx.module import Module as PtxModule
from weft.device.report import report_under
from weft.diag.errors import WeftError
from weft.frontend.clang import SUFFIXES
from weft.loops.compiled_code import code_of_text
from weft.opencl.program import Program
from weft.report.build import ReportOptions, build_report
from weft.report.c_programs import c_program
from weft.report.kernels import report_on_kernels
from weft.report.llvm_programs import bitcode_program, text_program
from weft.report.report import Report, joined
from weft.target.reading import decode_text

_ANALYZE = "weft analyze"


class UsageError(Exception):
    """The command line asks for something that there is not."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "analyze",
        help="uniform and varying values, divergent branches and loops, memory accesses",
        description=__doc__,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a .py file with kernels, CUDA C++ (.cu), OpenCL C (.cl), LLVM text (.ll), bitcode (.bc), C or C++",
    )
    parser.add_argument(
        "--function", metavar="NAME", action="append", default=[], help="only this function (repeatable)"
    )
    parser.add_argument(
        "--args",
        metavar="SHAPES",
        type=_shapes,
        help="shapes of the arguments joined by _: U uniform, C contiguous, T varying, S<k> stride k, C and S with n"
        " where lanes' numbers do not wrap around, each with a<n> for an alignment; r<shape> for the result; missing"
        " ones are uniform",
    )
    parser.add_argument(
        "--types", metavar="SIG", help='argument types of a .py kernel, "void(float32[::1], int32)"'
    )
    parser.add_argument(
        "--width", metavar="W", type=_width, help="lanes of a lane group; by default those of a register"
    )
    parser.add_argument(
        "--scope",
        choices=("lanes", "group"),
        default="lanes",
        help="uniform in a lane group, or in a work-group",
    )
    parser.add_argument(
        "--lattice",
        choices=sorted(DOMAINS),
        default="product",
        help="the shape lattice; all of them by default",
    )
    parser.add_argument(
        "--uniform",
        metavar="NAME",
        action="append",
        default=[],
        help="a function without a body that gives all lanes the same result for the same arguments (repeatable)",
    )
    parser.add_argument(
        "--clang",
        metavar="OPTION",
        action="append",
        default=[],
        help="for C: an option for clang; for OpenCL C and CUDA C++: a build option",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--html", metavar="OUT", help="write an HTML page")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Analyse the file and print what was found; 1 if a barrier is certainly divergent, 2 for wrong usage."""
    try:
        report = _report(options)
    except UsageError as error:
        print(f"{_ANALYZE}: {error}", file=sys.stderr)
        return 2
    if options.html:
        try:
            # Names in LLVM IR, and of files, may have bytes that are no UTF-8.
            page = report.to_html(f"{options.file} - weft").encode("utf-8", errors="backslashreplace")
            Path(options.html).write_bytes(page)
        except OSError as error:
            print(f"{_ANALYZE}: {options.html} cannot be written: {error.strerror}", file=sys.stderr)
            return 2
    if options.json:
        print(report.to_json())
    elif not options.html:
        report.write(sys.stdout)
    return 1 if report.has_errors else 0


def _report(options: argparse.Namespace) -> Report:
    file = Path(options.file)
    settings = ReportOptions(Scope(options.scope), options.width, options.lattice)
    if not file.is_file():
        raise UsageError(f"there is no file {options.file}")
    if file.suffix == ".py":
        if options.uniform:
            raise UsageError("--uniform is for functions without a body, which C and LLVM IR have")
        module = import_file(file)
        functions = functions_of(module, options.function) if options.types is None else {}
        names = [name for name in options.function if name not in functions]
        if functions and not (names or any(isinstance(v, Kernel) for v in vars(module).values())):
            return joined([function.report() for function in functions.values()])
        kernels = kernels_of(module, names)
        if options.types is not None and len(kernels) > 1:
            raise UsageError(f"--types is for one kernel; choose it with --function: {', '.join(kernels)}")
        compile = compiled_by({k.py_func: k.options for k in kernels.values()}.__getitem__)
        made = compile_kernels(kernels, options.types)
        report = report_on_kernels(made, settings, options.args, compile)
        return joined([report, *(function.report() for function in functions.values())])
    if options.types is not None:
        raise UsageError("--types is for .py files; C and LLVM IR have their types")
    if file.suffix == ".ll":
        text = decode_text(file.read_bytes())
        program = text_program(
            text, options.file, options.function, options.args, options.uniform,
            code_of_text(options.file, lines_of_text=True),
        )  # fmt: skip
        return build_report(program, settings)
    if file.suffix == ".bc":
        data = file.read_bytes()
        program = bitcode_program(
            data, options.file, options.function, options.args, options.uniform,
            code_of_text(options.file, lines_of_text=True),
        )  # fmt: skip
        return build_report(program, settings)
    if file.suffix in SUFFIXES:
        program = c_program(
            file, options.function, options.args, options.clang, options.uniform,
            code_of_text(options.file, lines_of_text=False),
        )  # fmt: skip
        return build_report(program, settings)
    if file.suffix == ".cl":
        return _opencl_report(file, settings, options)
    if file.suffix == ".cu":
        return _cuda_report(file, settings, options)
    if file.suffix == ".ptx":
        return _ptx_report(file, settings, options)
    raise UsageError(f"{options.file}: weft analyze reads .py, .cu, .ptx, .cl, .ll, .bc, C and C++ files")


def _opencl_report(file: Path, settings: ReportOptions, options: argparse.Namespace) -> Report:
    """A report on kernels in OpenCL C."""
    program = Program(file, shlex.join(options.clang))
    names = options.function or program.kernel_names
    if not names:
        raise UsageError(f"{file} defines no kernel")
    return report_under([program.kernel(name) for name in names], settings, options.args)


def _cuda_report(file: Path, settings: ReportOptions, options: argparse.Namespace) -> Report:
    """A report on kernels in CUDA C++; of templates, on the instances that the file makes, or that are named."""
    module = Module(file, options.clang)
    kernels = [module.kernel(name) for name in options.function] if options.function else module.kernels()
    if not kernels:
        raise UsageError(f"{file} defines no kernel; name instances of templates: --function 'add<float>'")
    return report_under(kernels, settings, options.args)


def _ptx_report(file: Path, settings: ReportOptions, options: argparse.Namespace) -> Report:
    """A report on kernels in PTX, in the lines that ``.loc`` names or its own."""
    module = PtxModule(file)
    names = options.function or module.kernel_names
    if not names:
        raise UsageError(f"{file} defines no kernel")
    return report_under([module[name] for name in names], settings, options.args)


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except WeftError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _shapes(text: str) -> Signature:
    return _parsed(parse_args, text)


def _width(text: str) -> int:
    try:
        width = int(text)
    except ValueError:
        width = 0
    if not 1 <= width <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lanes from 1 to 1024")
    return width

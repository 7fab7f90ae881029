"""``weft analyze``: what is uniform, strided and varying in a kernel, where lanes diverge, what it costs and why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.analysis.divergence import Scope
from weft.analysis.shapes import DOMAINS, Signature, parse_args
from weft.cli.reports import UsageError, report_on_file
from weft.diag.errors import WeftError
from weft.report.build import ReportOptions
from weft.report.report import Report

_ANALYZE = "weft analyze"


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
        "--types",
        metavar="SIG",
        help='argument types of a kernel or function of a .py file, "void(float32[::1], int32)"',
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
    parser.add_argument(
        "--before",
        metavar="FILE",
        help="with --html: an earlier version of the program, which stands beside it",
    )
    parser.add_argument(
        "--machine-code",
        action="store_true",
        help="with --html: each line opens to the instructions that it has become",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Analyse the file and print what was found; 1 if a barrier is certainly divergent, 2 for wrong usage."""
    try:
        report = _report(options, options.file)
        before = None if options.before is None or not options.html else _report(options, options.before)
    except UsageError as error:
        print(f"{_ANALYZE}: {error}", file=sys.stderr)
        return 2
    if options.html:
        try:
            # Names in LLVM IR, and of files, may have bytes that are no UTF-8.
            title, code = f"{options.file} - weft", options.machine_code
            page = report.to_html(title, before=before, machine_code=code)
            Path(options.html).write_bytes(page.encode("utf-8", errors="backslashreplace"))
        except OSError as error:
            print(f"{_ANALYZE}: {options.html} cannot be written: {error.strerror}", file=sys.stderr)
            return 2
    if options.json:
        print(report.to_json())
    elif not options.html:
        report.write(sys.stdout)
    return 1 if report.has_errors else 0


def _report(options: argparse.Namespace, file: str) -> Report:
    settings = ReportOptions(Scope(options.scope), options.width, options.lattice)
    return report_on_file(
        file, settings, options.function, options.args, options.types, options.uniform, options.clang
    )


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

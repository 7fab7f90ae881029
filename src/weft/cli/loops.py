"""``weft loops``: which sequential loops may run in parallel, and which memory they touch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

from weft.cli.programs import import_file
from weft.diag.errors import SignatureError
from weft.diag.source import SourceSpan
from weft.frontend.clang import SUFFIXES
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.types import KernelType, Signature
from weft.loops.analysis import analyze_file, analyze_python
from weft.report.loop_nests import LoopNestReport


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "loops",
        help="which sequential loops may run in parallel, and which memory they touch",
        description=__doc__,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="C, C++, Python (.py), or LLVM IR (.ll, .bc)")
    parser.add_argument(
        "--function", metavar="NAME", action="append", default=[], help="only this function (repeatable)"
    )
    parser.add_argument(
        "--types", metavar="SIG", help='argument types of a .py function, "void(float32[::1], int64)"'
    )
    parser.add_argument("--clang", metavar="OPTION", action="append", default=[], help="an option for clang")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Analyse the file and print what was found; 2 for wrong usage."""
    file: Path = options.file
    if not file.is_file():
        print(f"weft loops: there is no file {file}", file=sys.stderr)
        return 2
    if file.suffix == ".py":
        report = _python_report(file, options.function, options.types)
    elif file.suffix in (".ll", ".bc") or file.suffix in SUFFIXES:
        if options.types is not None:
            print("weft loops: --types is for .py files; C and LLVM IR have their types", file=sys.stderr)
            return 2
        report = analyze_file(file, options.function, options.clang)
    else:
        print(f"weft loops: {file}: it reads .py, .ll, .bc, C and C++ files", file=sys.stderr)
        return 2
    if options.json:
        print(report.to_json())
    else:
        report.write(sys.stdout)
    return 0


def _python_report(file: Path, names: list[str], types: str | None) -> LoopNestReport:
    """The loops of functions for the types that are given, or that they were declared with."""
    module = import_file(file)
    functions: dict[str, tuple[FunctionType, list[tuple[KernelType, ...]]]] = {}
    for name, value in vars(module).items():
        plain = getattr(value, "py_func", value)
        if isinstance(plain, FunctionType) and plain.__code__.co_filename == str(file):
            declared = [s if isinstance(s, tuple) else s.args for s in getattr(value, "signatures", ())]
            functions[name] = plain, declared
    for name in names:
        if name not in functions:
            raise SignatureError(
                f"{file} defines no function {name!r}", hint=f"it defines {', '.join(functions) or 'none'}"
            )
    chosen = {name: functions[name] for name in names} if names else functions
    if types is not None:
        parsed = parse_signature(types)
        given = parsed.args if isinstance(parsed, Signature) else tuple(parsed)
        if len(chosen) != 1:
            raise SignatureError(
                "--types is for one function", hint=f"choose it with --function: {', '.join(chosen)}"
            )
        chosen = {name: (plain, [given]) for name, (plain, _) in chosen.items()}
    typed = {name: entry for name, entry in chosen.items() if entry[1]}
    if not typed or (names and len(typed) < len(chosen)):
        name = next((n for n in chosen if n not in typed), None)
        if name is None:
            raise SignatureError(f"{file} defines no function")
        code = chosen[name][0].__code__
        raise SignatureError(
            f"the argument types of {name} are not known",
            SourceSpan(code.co_filename, code.co_firstlineno),
            hint=f'give them: --function {name} --types "void(float64[::1], int64)", or declare them with @weft.jit',
        )
    reports = [analyze_python(plain, t) for plain, declared in typed.values() for t in declared]
    return LoopNestReport(tuple(loop for report in reports for loop in report.loops))

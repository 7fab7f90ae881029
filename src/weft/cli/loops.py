"""``weft loops``: which sequential loops may run in parallel, and which memory they touch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from weft.aot.importing import import_file
from weft.diag.errors import SignatureError
from weft.diag.source import SourceSpan
from weft.frontend.clang import SUFFIXES
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.types import KernelType, Signature
from weft.loops.analysis import analyze_file, analyze_python
from weft.loops.emission.source import emit_report
from weft.loops.emission.subscripts import Shape
from weft.loops.emitting import LANGUAGES, shapes_of
from weft.loops.profiled_run import take_calls
from weft.machine.gpu_devices import device
from weft.report.loops.costs import LoopSettings
from weft.report.loops.nests import LoopNestReport


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
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_value,
        dest="values",
        help="put a number in the place of a parameter (repeatable)",
    )
    parser.add_argument(
        "--rounds",
        metavar="LINE=COUNT",
        action="append",
        default=[],
        type=_rounds,
        help="the loop in this line runs so often: parameters are found from it, and put in their place (repeatable)",
    )
    parser.add_argument(
        "--profile",
        metavar="SCRIPT",
        type=Path,
        help="run the program on the interpreter and report what was seen, too: a .py script that calls functions of a"
        " .py file, a C, C++ or LLVM file with main, or FILE itself",
    )
    parser.add_argument(
        "--instantiate",
        action="store_true",
        help="with --profile: put what the run tells of parameters in their place",
    )
    parser.add_argument("--gpu", metavar="NAME", default="h200", help="the GPU of estimates (default h200)")
    parser.add_argument(
        "--emit",
        metavar="OUT",
        type=Path,
        help="write the loops that may run in parallel as kernels: a .py file in CUDA-Python, a .cl file in OpenCL C",
    )
    parser.add_argument(
        "--fastmath",
        action="store_true",
        help="kernels of --emit may form float sums and products in another order",
    )
    parser.add_argument("--html", metavar="OUT", help="write an HTML page")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Analyse the file and print what was found; 2 for wrong usage."""
    file: Path = options.file
    if not file.is_file():
        print(f"weft loops: there is no file {file}", file=sys.stderr)
        return 2
    if options.profile is not None and not options.profile.is_file():
        print(f"weft loops: there is no file {options.profile}", file=sys.stderr)
        return 2
    if options.instantiate and options.profile is None:
        print("weft loops: --instantiate needs a run, --profile SCRIPT", file=sys.stderr)
        return 2
    if options.emit is not None and options.emit.suffix not in LANGUAGES:
        print(f"weft loops: --emit {options.emit}: it writes .py and .cl files", file=sys.stderr)
        return 2
    shapes: dict[str, dict[str, Shape]] = {}
    settings = LoopSettings(
        dict(options.values), {}, dict(options.rounds), options.instantiate, device(options.gpu).name
    )
    if file.suffix == ".py":

        def analyse(order: bool) -> LoopNestReport:
            return _python_report(
                file, options.function, options.types, settings, options.profile, shapes, order
            )

    elif file.suffix in (".ll", ".bc") or file.suffix in SUFFIXES:
        if options.types is not None:
            print("weft loops: --types is for .py files; C and LLVM IR have their types", file=sys.stderr)
            return 2
        if options.profile is not None and options.profile.suffix not in (".ll", ".bc", *SUFFIXES):
            print(
                f"weft loops: {options.profile}: a C, C++ or LLVM file with main is needed", file=sys.stderr
            )
            return 2

        def analyse(order: bool) -> LoopNestReport:
            return analyze_file(file, options.function, options.clang, settings, options.profile, order=order)

    else:
        print(f"weft loops: {file}: it reads .py, .ll, .bc, C and C++ files", file=sys.stderr)
        return 2
    is_read = options.json or options.html or options.emit is None
    # Kernels are of loops in the best order, the report is of the loops as they are written.
    report = analyse(False) if is_read else None
    if (
        report is not None
        and options.html
        and not _write(options.html, report.to_html(f"{file} - weft loops"))
    ):
        return 2
    if options.emit is not None:
        text = str(
            emit_report(analyse(True), LANGUAGES[options.emit.suffix], shapes, fastmath=options.fastmath)
        )
        if not _write(options.emit, text):
            return 2
    if report is not None and options.json:
        print(report.to_json())
    elif report is not None and not options.html:
        report.write(sys.stdout)
    return 0


def _write(path: str | Path, text: str) -> bool:
    """Write a file; False after a message where that cannot be done."""
    try:
        Path(path).write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        print(f"weft loops: {path} cannot be written: {error.strerror}", file=sys.stderr)
        return False
    return True


def _value(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    try:
        if name and equals:
            return name.strip(), int(number, 0)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not NAME=INTEGER")


def _rounds(text: str) -> tuple[int, int]:
    line, count = _value(text)
    if not line.isdecimal() or count < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not LINE=COUNT")
    return int(line), count


def _python_report(
    file: Path,
    names: list[str],
    types: str | None,
    settings: LoopSettings,
    script: Path | None,
    shapes: dict[str, dict[str, Shape]],
    order: bool,
) -> LoopNestReport:
    """The loops of functions for the types that are given, or that they were declared with.

    Parameters
    ----------
    shapes
        Gets the arrays of each function.
    order
        Whether loops change places first.
    """
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
    if script is not None:
        if types is not None:
            raise SignatureError("--types and --profile both say what types arguments have")
        return _profiled_report(
            file, module, {n: plain for n, (plain, _) in chosen.items()}, settings, script, shapes
        )
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
    for plain, declared in typed.values():
        shapes[plain.__name__] = shapes_of(plain, declared[0])
    reports = [
        analyze_python(plain, t, settings, order=order)
        for plain, declared in typed.values()
        for t in declared
    ]
    return _joined(reports)


def _profiled_report(
    file: Path,
    module: ModuleType,
    functions: dict[str, FunctionType],
    settings: LoopSettings,
    script: Path,
    shapes: dict[str, dict[str, Shape]],
) -> LoopNestReport:
    """The loops of functions for the types that a script calls them with."""
    calls = take_calls(script, file, module, functions)
    if not calls:
        raise SignatureError(
            f"{script} calls no function of {file}",
            hint=f"it would have to call {', '.join(functions) or 'one'}",
        )
    shapes.update({c.function.__name__: shapes_of(c.function, c.types) for c in calls})
    return _joined([analyze_python(c.function, c.types, settings, c) for c in calls])


def _joined(reports: list[LoopNestReport]) -> LoopNestReport:
    return LoopNestReport(
        tuple(loop for report in reports for loop in report.loops),
        tuple(value for report in reports for value in report.instantiated),
    )

"""``weft.loops.analyze`` and what ``weft loops`` reads: sequential loops of Python, C, C++ and LLVM IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from msgspec.structs import replace

from weft.analysis.sequential.instantiation import parameters_by_rounds
from weft.diag.errors import ArgumentError, CompileError, SettingError
from weft.frontend.clang import compile_c
from weft.frontend.python.compile import compile_python
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import KernelType
from weft.frontend.python.wording import python_function
from weft.ir import Function, Module
from weft.ir.metadata import DebugLoc
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.loops.handed_elements import hand_on_elements
from weft.loops.observations import Observations
from weft.loops.observer import LoopObserver
from weft.loops.profiled_run import Calls, run_c_program, run_calls
from weft.passes.nests.loop_order import Change, order_loops
from weft.report.llvm_programs import chosen_functions
from weft.report.loops.costs import LoopSettings
from weft.report.loops.counters import loops_around
from weft.report.loops.nests import FoundValue, LoopNestReport, LoopReport, report_on_loops
from weft.report.text_source import TextSource
from weft.target.linking import LinkError, link_texts
from weft.target.llvm import disassemble
from weft.target.machine import TargetSpec
from weft.target.passes import SEQUENTIAL, optimize
from weft.target.reading import decode_text, read_foreign
from weft.transform.loops.decided_choices import decide_choices
from weft.transform.loops.hoist_invariants import hoist_bounds


def analyze(function: Any, *example_arguments: Any) -> LoopNestReport:
    """Say which loops of a Python function may run in parallel, and which memory they touch.

    Nothing is run: the arguments tell the types only. Loops over `range` and over `weft.prange` are looked at alike.

    Parameters
    ----------
    function
        A function, or what `weft.jit` made of one.
    *example_arguments
        Numbers and arrays as it would be called with.

    Returns
    -------
    The report; ``print(report)`` shows it, ``report.to_data()`` has it as dictionaries and lists.

    Raises
    ------
    WeftError
        The function is outside of the language, or islpy is not installed (``pip install 'weft[loops]'``).

    See Also
    --------
    docs/sequential_loops.md; Juravle, Automatic program analysis for data parallel kernels, ch. 4.
    """
    plain = getattr(function, "py_func", function)
    plain = python_function(plain, "pass")
    return analyze_python(plain, tuple(typeof(a) for a in example_arguments))


def analyze_python(
    function: FunctionType,
    types: tuple[KernelType, ...],
    settings: LoopSettings | None = None,
    calls: Calls | None = None,
    *,
    order: bool = False,
) -> LoopNestReport:
    """Analyse a Python function for types of its arguments, and run `calls` of it on the interpreter.

    With `order` loops change places first where that pays (`weft.passes.nests.loop_order`).
    """
    code = function.__code__
    if len(types) != code.co_argcount:
        raise ArgumentError(
            f"{function.__name__} takes {code.co_argcount} arguments, not {len(types)}",
            hint="give one example, or type, of each",
        )
    made = compile_python(function, types, device=True)
    text = optimize(write_module(made.module, plain=True), SEQUENTIAL, TargetSpec.chosen().machine)
    module = read_module(text)
    kernel = module.functions[made.kernel.name]
    observer, numbers = (None, {}) if calls is None else run_calls(module, kernel.name, made, calls)
    return _report(module, [kernel], code.co_filename, settings, observer, numbers, order)


def analyze_file(
    file: Path,
    names: Sequence[str] = (),
    clang_options: Sequence[str] = (),
    settings: LoopSettings | None = None,
    profile: Path | None = None,
    *,
    order: bool = False,
) -> LoopNestReport:
    """Analyse the loops of a C, C++ or LLVM file.

    Parameters
    ----------
    file
        C and C++ are compiled without optimization; LLVM IR is taken as it is.
    names
        The functions; all that the file defines where empty.
    clang_options
        More options for clang.
    settings
        Values of parameters, and what the report is for.
    profile
        A C, C++ or LLVM file with ``main``, or the file itself: it is run on the interpreter, and the report has what
        was seen, too.
    order
        Whether loops change places first where that pays.

    Raises
    ------
    WeftError
        The file is refused, or has no such function, or islpy is not installed.
    """
    module = _read(file, clang_options)
    if profile is not None and profile.resolve() != file.resolve():
        own = [f.name for f in module.definitions()]
        names = [f.name for f in chosen_functions(module, names, str(file))]
        driver = _read(profile, clang_options)
        try:
            text = link_texts([write_module(m, plain=True) for m in (module, driver)])
        except LinkError as error:
            raise CompileError(f"{file} and {profile} cannot be linked: {error}") from None
        module = read_module(text, filename=str(file))
        functions = [module.functions[n] for n in names if n in own]
    else:
        functions = chosen_functions(module, names, str(file))
    observer = None if profile is None else run_c_program(module, str(profile))
    return _report(module, functions, str(file), settings, observer, {}, order)


def _report(
    module: Module,
    functions: Sequence[Function],
    file: str,
    settings: LoopSettings | None,
    observer: LoopObserver | None,
    numbers: Mapping[str, int],
    order: bool,
) -> LoopNestReport:
    """The report, and once more with the values of parameters that follow from numbers of iterations.

    Parameters
    ----------
    numbers
        Parameters of the function that a run knows.
    """
    settings = settings or LoopSettings()
    for function in functions:
        decide_choices(function)
        hoist_bounds(function)
    changes = [c for f in functions for c in order_loops(module, f, (), (), hoist=False)] if order else []
    observe = None if observer is None else Observations(observer).of
    report = report_on_loops(module, functions, file, settings, observe)
    if order and hand_on_elements(functions, report):
        report = report_on_loops(module, functions, file, settings, observe)
    _check_values(report, settings)
    if not settings.rounds and not settings.instantiate:
        return _resting_on(report, changes)
    found = list(_found_values(report, settings, numbers))
    known: dict[str, dict[str, int]] = {}
    for value in found:
        if len(value.values) == 1:
            known.setdefault(value.function, {})[value.name] = value.values[0]
    again = report_on_loops(module, functions, file, replace(settings, functions=known), observe)
    return replace(_resting_on(again, changes), instantiated=tuple(found))


def _resting_on(report: LoopNestReport, changes: Sequence[Change]) -> LoopNestReport:
    """A report whose loops also rest on what allowed loops in them, or around them, to change places."""
    loops: list[LoopReport] = []
    for loop in report.loops:
        tops = {around.header for around in loops_around(loop.loop)}
        assumed = dict.fromkeys(
            (*loop.assumptions, *(a for c in changes if c.top in tops for a in c.assumptions))
        )
        loops.append(replace(loop, assumptions=tuple(assumed)))
    return replace(report, loops=tuple(loops))


def _check_values(report: LoopNestReport, settings: LoopSettings) -> None:
    """That each name that has a value is one of the program, and each line with rounds has a loop."""
    names = {n for loop in report.loops for n in loop.reconstruction.program.names}
    for name in settings.values:
        if report.loops and name not in names:
            raise SettingError(
                f"no loop has a parameter {name!r}", hint=f"they have {', '.join(sorted(names)) or 'none'}"
            )
    lines = {loop.line for loop in report.loops if loop.iterations is not None}
    for line in settings.rounds:
        if line not in lines:
            raise SettingError(
                f"there is no loop in line {line} whose number of iterations is known",
                hint=f"there are some in lines {', '.join(map(str, sorted(lines))) or 'none'}",
            )


def _found_values(
    report: LoopNestReport, settings: LoopSettings, numbers: Mapping[str, int]
) -> Iterator[FoundValue]:
    by_function: dict[str, list[tuple[LoopReport, int]]] = {}
    for loop in report.loops:
        seen = None if loop.observed is None or not settings.instantiate else loop.observed.counts
        rounds = settings.rounds.get(loop.line)
        if rounds is None and seen is not None and len(seen) == 1:
            rounds = next(iter(seen))
        if rounds is not None and loop.found.trips is not None:
            by_function.setdefault(loop.function, []).append((loop, rounds))
    for name, value in numbers.items():
        if report.loops and name in report.loops[0].reconstruction.program.names and settings.instantiate:
            yield FoundValue(report.loops[0].function, name, (value,), "as it was passed")
    for function, loops in by_function.items():
        trips = [(loop.found.trips, rounds) for loop, rounds in loops if loop.found.trips is not None]
        lines = ", ".join(f"{rounds} iterations of line {loop.line}" for loop, rounds in loops if rounds)
        for symbol, values in parameters_by_rounds(trips).items():
            if symbol.name not in numbers:
                yield FoundValue(function, symbol.name, values, lines)


def _read(file: Path, clang_options: Sequence[str]) -> Module:
    if file.suffix in (".ll", ".bc"):
        return _read_llvm(file)
    spec = TargetSpec.chosen()
    text = optimize(compile_c(file, spec.triple, clang_options), SEQUENTIAL, spec.machine)
    return read_module(text, filename=str(file))


def _read_llvm(file: Path) -> Module:
    """A module as it is, its lines those of debug information, or else of the text."""
    text = disassemble(file.read_bytes()) if file.suffix == ".bc" else decode_text(file.read_bytes())
    module, text = read_foreign(text, str(file))
    source = TextSource(text, str(file))
    for function in module.definitions():
        if function.subprogram is not None:
            continue
        for instruction in function.instructions():
            place = source.place(instruction)
            if place is not None:
                instruction.loc = DebugLoc(place.line, 0, None)
    return module

"""``weft.loops.analyze`` and what ``weft loops`` reads: sequential loops of Python, C, C++ and LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.clang import compile_c
from weft.frontend.python.compile import compile_python
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import KernelType
from weft.ir import Module
from weft.ir.metadata import DebugLoc
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.report.llvm_programs import chosen_functions
from weft.report.loop_nests import LoopNestReport, report_on_loops
from weft.report.text_source import TextSource
from weft.target.llvm import disassemble
from weft.target.machine import TargetSpec
from weft.target.passes import SEQUENTIAL, optimize
from weft.target.reading import decode_text, read_foreign


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
    if not isinstance(plain, FunctionType):
        raise SignatureError(f"{function!r} is no Python function", hint="pass a function written with def")
    return analyze_python(plain, tuple(typeof(a) for a in example_arguments))


def analyze_python(function: FunctionType, types: tuple[KernelType, ...]) -> LoopNestReport:
    """Analyse a Python function for types of its arguments."""
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
    return report_on_loops(module, [kernel], code.co_filename)


def analyze_file(file: Path, names: Sequence[str] = (), clang_options: Sequence[str] = ()) -> LoopNestReport:
    """Analyse the loops of a C, C++ or LLVM file.

    Parameters
    ----------
    file
        C and C++ are compiled without optimization; LLVM IR is taken as it is.
    names
        The functions; all that the file defines where empty.
    clang_options
        More options for clang.

    Raises
    ------
    WeftError
        The file is refused, or has no such function, or islpy is not installed.
    """
    if file.suffix in (".ll", ".bc"):
        module = _read_llvm(file)
    else:
        spec = TargetSpec.chosen()
        text = optimize(compile_c(file, spec.triple, clang_options), SEQUENTIAL, spec.machine)
        module = read_module(text, filename=str(file))
    functions = chosen_functions(module, names, str(file))
    return report_on_loops(module, functions, str(file))


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

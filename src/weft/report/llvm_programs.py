"""Reports on LLVM IR as other compilers write it: the program is analysed as it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from weft.analysis.shapes import Signature
from weft.analysis.uniform_functions import vouch_for
from weft.diag.errors import ArgumentError
from weft.frontend.lane_operations import adopt_lane_operations
from weft.ir import Function, Module
from weft.ir.verifier import verify
from weft.report.build import Program, ReportOptions
from weft.report.compiled import CompiledCode
from weft.report.text_source import TextSource
from weft.target.llvm import disassemble
from weft.target.reading import declaration_in, read_foreign

CompileText: TypeAlias = Callable[
    [str, Sequence[Function], Sequence[str], Signature | None, ReportOptions], CompiledCode
]
"""Compiles functions of LLVM's text: the text, the functions, those that are vouched for, and shapes of arguments."""


def bitcode_program(
    data: bytes,
    file: str,
    names: Sequence[str] = (),
    shapes: Signature | None = None,
    uniform: Sequence[str] = (),
    compile: CompileText | None = None,
) -> Program:
    """A module in LLVM's bitcode; lines are those of its disassembly.

    Raises
    ------
    CompileError
        It is no bitcode that this version of LLVM reads.
    """
    return text_program(disassemble(data), file, names, shapes, uniform, compile)


def text_program(
    text: str,
    file: str,
    names: Sequence[str] = (),
    shapes: Signature | None = None,
    uniform: Sequence[str] = (),
    compile: CompileText | None = None,
) -> Program:
    """A module in LLVM's text.

    Parameters
    ----------
    text, file
        The text, and what it is called.
    names
        The functions to report on; all definitions where empty.
    shapes
        Shapes of the arguments of each of them.
    uniform
        Functions without a body that are uniform for uniform arguments.
    compile
        Compiles them; without it costs are those of the functions as they were written.

    Raises
    ------
    IRSyntaxError, CompileError
        It is no LLVM IR, or holds what weft does not read.
    ArgumentError
        It does not define a function of `names`, or has none of `uniform`.
    """
    module, text = read_foreign(text, file)
    source = TextSource(text, file)
    source.give_places(module)
    vouch_for(module, uniform)
    adopt_lane_operations(module, lambda name: declaration_in(text, file, name))
    verify(module)
    functions = chosen_functions(module, names, file)
    given = {} if shapes is None else dict.fromkeys(functions, shapes)
    compiled = None if compile is None else partial(compile, text, functions, uniform, shapes)
    return Program(module, functions, source, given, compile=compiled)


def chosen_functions(module: Module, names: Sequence[str], file: str) -> tuple[Function, ...]:
    """The definitions with the names; all of them where no names are given.

    Raises
    ------
    ArgumentError
        There is no such definition.
    """
    definitions = {function.name: function for function in module.definitions()}
    if not definitions:
        raise ArgumentError(f"{file} defines no function")
    for name in names:
        if name not in definitions:
            raise ArgumentError(
                f"{file} defines no function {name!r}", hint=f"it defines {', '.join(definitions)}"
            )
    return tuple(definitions[name] for name in names) if names else tuple(definitions.values())

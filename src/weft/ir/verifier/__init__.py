"""The verifier: what a well-formed P-LLVM program is, as checks.

``verify`` finds every broken rule before it raises. The rules are LLVM's (one definition, dominance, agreement
of φs and predecessors, operand types) and those of Moll §4.10, definition 11, as far as they are static.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.diag.errors import VerifyError
from weft.diag.source import SourceSpan
from weft.ir.function import Function, Module
from weft.ir.verifier.dialect import check_dialect
from weft.ir.verifier.dominance import check_dominance
from weft.ir.verifier.module import check_module
from weft.ir.verifier.operands import check_operands
from weft.ir.verifier.problem import Problem
from weft.ir.verifier.structure import check_structure

__all__ = ["Problem", "problems_of", "verify", "verify_structure", "verify_within"]


def problems_of(function: Function) -> list[Problem]:
    """Every rule that a definition breaks; types and dominance are looked at once the structure is sound."""
    return list(check_structure(function)) or _problems_within(function)


def _problems_within(function: Function) -> list[Problem]:
    return [*check_operands(function), *check_dominance(function), *check_dialect(function)]


def verify(unit: Function | Module) -> None:
    """Check a definition, or a module with all its definitions.

    Raises
    ------
    VerifyError
        With every problem found, each with the instruction as it is printed; the span is that of the first
        problem whose instruction has a debug location.
    """
    if isinstance(unit, Module):
        problems = list(check_module(unit))
        for function in unit.definitions():
            problems += problems_of(function)
    else:
        problems = problems_of(unit)
    _raise(problems)


def verify_structure(module: Module) -> None:
    """Check that a module can be written: its tables, and the blocks, φs and use lists of all definitions.

    Raises
    ------
    VerifyError
        As `verify`.
    """
    problems = list(check_module(module))
    for function in module.definitions():
        problems += check_structure(function)
    _raise(problems)


def verify_within(functions: Iterable[Function]) -> None:
    """Check types, dominance and the dialect's rules in definitions whose structure is sound.

    All of these show in a function's text: one that has been found right need not be looked at again while it is
    written in the same way.

    Raises
    ------
    VerifyError
        As `verify`.
    """
    _raise([problem for function in functions for problem in _problems_within(function)])


def _raise(problems: list[Problem]) -> None:
    if not problems:
        return
    count = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
    lines = [f"the program is not well-formed ({count})", *[f"  {p}" for p in problems]]
    raise VerifyError("\n".join(lines), _span(problems))


def _span(problems: list[Problem]) -> SourceSpan | None:
    for problem in problems:
        loc = problem.instruction.loc if problem.instruction is not None else None
        if loc is not None and loc.filename is not None:
            return SourceSpan(loc.filename, loc.line, loc.column)
    return None

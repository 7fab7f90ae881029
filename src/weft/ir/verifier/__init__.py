"""The verifier: what a well-formed P-LLVM program is, as checks.

``verify`` finds every broken rule before it raises. The rules are LLVM's (one definition, dominance, agreement
of φs and predecessors, operand types) and those of Moll §4.10, definition 11, as far as they are static.
"""

from __future__ import annotations

from weft.diag.errors import VerifyError
from weft.diag.source import SourceSpan
from weft.ir.function import Function, Module
from weft.ir.verifier.dialect import check_dialect
from weft.ir.verifier.dominance import check_dominance
from weft.ir.verifier.module import check_module
from weft.ir.verifier.operands import check_operands
from weft.ir.verifier.problem import Problem
from weft.ir.verifier.structure import check_structure

__all__ = ["Problem", "problems_of", "verify"]


def problems_of(function: Function) -> list[Problem]:
    """Every rule that a definition breaks; types and dominance are looked at once the structure is sound."""
    problems = list(check_structure(function))
    if not problems:
        problems += check_operands(function)
        problems += check_dominance(function)
        problems += check_dialect(function)
    return problems


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

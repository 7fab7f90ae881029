"""Calls: as many arguments and results as the callee has."""

from __future__ import annotations

from weft.ptx.check.declared import Declared, kind_of
from weft.ptx.names import Names
from weft.ptx.syntax import Alias, CallPrototype, CallTargets, Function, Group, Instruction, Operand, Symbol


def call_problem(call: Instruction, names: Names[Declared]) -> str | None:
    """Say what is wrong between a call and its callee, or None."""
    operands = list(call.operands)
    results: tuple[Operand, ...] = ()
    if isinstance(operands[0], Group):
        results = operands.pop(0).elements  # pyright: ignore[reportAttributeAccessIssue]
    callee, *rest = operands
    passed: tuple[Operand, ...] = ()
    if rest and isinstance(rest[0], Group):
        passed = rest[0].elements
    meant = callee if isinstance(callee, Symbol) else rest[-1] if rest else None
    if not isinstance(meant, Symbol):
        return "an indirect call ends with the name of a prototype or of a list of functions"
    declared = names.find(meant.name)
    if isinstance(declared, Alias):
        declared = names.find(declared.aliasee)
    if isinstance(declared, CallTargets):
        declared = names.find(declared.targets[0])
    if not isinstance(declared, Function | CallPrototype):
        what = "not declared" if declared is None else f"a {kind_of(declared)}"
        return f"'{meant.name}' is {what}, and a function or prototype is needed"
    return _count("argument", len(passed), len(declared.parameters), meant.name) or _count(
        "result", len(results), len(declared.returns), meant.name
    )


def _count(what: str, given: int, wanted: int, name: str) -> str | None:
    if given == wanted:
        return None
    return f"'{name}' has {wanted} {what}{'' if wanted == 1 else 's'}, and this call {given}"

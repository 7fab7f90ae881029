"""What holds between the parts of a module."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.function import Function, GlobalAlias, GlobalVariable, Module
from weft.ir.verifier.problem import Problem


def check_module(module: Module) -> Iterator[Problem]:
    """Names are those of the tables, and what is referred to is in the module."""
    tables = (module.globals, module.aliases, module.functions)
    names: set[str] = set()
    for table in tables:
        for name, symbol in table.items():
            if name != symbol.name:
                yield Problem(f"it stands in the module as @{name}", symbol.name)
            if name in names:
                yield Problem("two symbols have this name", name)
            names.add(name)
    for variable in module.globals.values():
        initializer = variable.initializer
        if initializer is not None and initializer.type != variable.value_type:
            message = f"the initializer has type {initializer.type}, not {variable.value_type}"
            yield Problem(message, variable.name)
    for function in module.functions.values():
        if function.module is not module:
            yield Problem("the function does not know its module", function.name)
        yield from _check_references(module, function)


def _check_references(module: Module, function: Function) -> Iterator[Problem]:
    for instruction in function.instructions():
        for operand in instruction.operands:
            if isinstance(operand, Function):
                inside = module.functions.get(operand.name) is operand
            elif isinstance(operand, GlobalVariable):
                inside = module.globals.get(operand.name) is operand
            elif isinstance(operand, GlobalAlias):
                inside = module.aliases.get(operand.name) is operand
            else:
                continue
            if not inside:
                yield Problem(f"@{operand.name} is not in the module", function.name, instruction)

"""Functions whose address a program takes: what an indirect call of it may lead to, as far as the program shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.ir import ConstAggregate, ConstExpr, ConstSplat, Function, Module, Value


def address_taken(module: Module) -> list[Function]:
    """The functions that are used for something else than being called, in the order in which `module` has them."""
    found = set(_functions_in(_constants_of(module)))
    return [function for function in module.functions.values() if function in found]


def _constants_of(module: Module) -> Iterator[Value]:
    for variable in module.globals.values():
        if variable.initializer is not None:
            yield variable.initializer
    for alias in module.aliases.values():
        if alias.aliasee is not None:
            yield alias.aliasee
    for function in module.definitions():
        for instruction in function.instructions():
            yield from instruction.args if instruction.op == "call" else instruction.operands


def _functions_in(values: Iterable[Value]) -> Iterator[Function]:
    """The functions among `values`, and inside of them."""
    for value in values:
        if isinstance(value, Function):
            yield value
        elif isinstance(value, ConstAggregate):
            yield from _functions_in(value.elements)
        elif isinstance(value, ConstExpr):
            yield from _functions_in(value.operands)
        elif isinstance(value, ConstSplat):
            yield from _functions_in((value.element,))

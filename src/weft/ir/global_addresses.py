"""Addresses computed in a function in the place of global variables, those inside of constants included."""

from __future__ import annotations

from collections.abc import Callable, Collection

from weft.ir.builder import Builder
from weft.ir.constants import ConstAggregate, ConstExpr, ConstSplat
from weft.ir.function import Function, GlobalVariable
from weft.ir.values import Value

Address = Callable[[Builder, GlobalVariable], Value]
"""Builds what stands for a variable."""


def mentions(value: Value, variables: Collection[GlobalVariable]) -> bool:
    """Whether a constant is, or holds, the address of one of the variables."""
    if isinstance(value, ConstExpr):
        return any(mentions(v, variables) for v in value.operands)
    if isinstance(value, ConstAggregate):
        return any(mentions(v, variables) for v in value.elements)
    if isinstance(value, ConstSplat):
        return mentions(value.element, variables)
    return isinstance(value, GlobalVariable) and value in variables


def replace_globals(function: Function, variables: Collection[GlobalVariable], address: Address) -> None:
    """Let `function` take what `address` builds, in its entry and once, for the address of each of the variables.

    Debug records that mention one go.
    """
    if not variables:
        return
    computed = _Computed(function, variables, address)
    for instruction in list(function.instructions()):
        instruction.debug_records = [
            r for r in instruction.debug_records if not any(mentions(v, variables) for v in r.values)
        ]
        for number, operand in enumerate(instruction.operands):
            if mentions(operand, variables):
                instruction.set_operand(number, computed.of(operand))


class _Computed:
    """The addresses of a function's own, built as they are needed."""

    def __init__(self, function: Function, variables: Collection[GlobalVariable], address: Address) -> None:
        self.variables = variables
        self.address = address
        self.builder = Builder.after_phis(function.entry)
        self.known: dict[Value, Value] = {}

    def of(self, value: Value) -> Value:
        """A constant, computed from what stands for the variables."""
        known = self.known.get(value)
        if known is None:
            known = self.known[value] = self._build(value)
        return known

    def _build(self, value: Value) -> Value:
        if isinstance(value, GlobalVariable) and value in self.variables:
            return self.address(self.builder, value)
        if isinstance(value, ConstExpr) and mentions(value, self.variables):
            operands = [self.of(v) for v in value.operands]
            return self.builder.build(
                value.op, value.type, operands, flags=value.flags, attrs=dict(value.attrs)
            )
        return value

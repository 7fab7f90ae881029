"""Global variables with a shape: each lane has its own, some bytes behind that of the lane before.

Precondition: lane ids mean something in the functions of the module, all of which may be called by vector code.
Postcondition: each takes ``@g`` plus stride times its lane id for the address of ``@g``. In a function for one lane,
which is lane 0, that is ``@g`` itself: for one lane the program is preserved under FR and OBL, for others this is what
the shape means.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.ir import (
    Builder,
    ConstAggregate,
    ConstExpr,
    ConstInt,
    ConstSplat,
    Function,
    GlobalVariable,
    Module,
    Value,
)
from weft.ir.intrinsics import CONVERGENT, INTRINSICS
from weft.ir.types import I8, I64


def shift_globals(module: Module, strides: Mapping[GlobalVariable, int]) -> None:
    """Let lane l find each of the variables l times its stride, in bytes, behind where it is."""
    for function in list(module.definitions()):
        _Shifted(module, function, strides).replace()


def is_in_initializer(module: Module, variable: GlobalVariable) -> bool:
    """Whether the value of another global variable holds the address, which then is the same for all lanes."""
    return any(
        g.initializer is not None and _mentions(g.initializer, {variable}) for g in module.globals.values()
    )


def _mentions(value: Value, variables: set[GlobalVariable]) -> bool:
    if isinstance(value, ConstExpr):
        return any(_mentions(v, variables) for v in value.operands)
    if isinstance(value, ConstAggregate):
        return any(_mentions(v, variables) for v in value.elements)
    if isinstance(value, ConstSplat):
        return _mentions(value.element, variables)
    return isinstance(value, GlobalVariable) and value in variables


class _Shifted:
    """The addresses of a function's own, computed in its entry as they are needed."""

    def __init__(self, module: Module, function: Function, strides: Mapping[GlobalVariable, int]) -> None:
        self.module = module
        self.function = function
        self.strides = strides
        self.builder = Builder.after_phis(function.entry)
        self.known: dict[Value, Value] = {}
        self.lane: Value | None = None

    def replace(self) -> None:
        """Put the shifted addresses in the place of the variables."""
        variables = set(self.strides)
        for instruction in list(self.function.instructions()):
            for number, operand in enumerate(instruction.operands):
                if _mentions(operand, variables):
                    instruction.set_operand(number, self.of(operand))

    def of(self, value: Value) -> Value:
        """A constant, computed from the shifted addresses."""
        known = self.known.get(value)
        if known is None:
            known = self.known[value] = self._computed(value)
        return known

    def _computed(self, value: Value) -> Value:
        if isinstance(value, GlobalVariable) and value in self.strides:
            distance = self.builder.binary("mul", self._lane(), ConstInt(I64, self.strides[value]))
            return self.builder.gep(I8, value, (distance,))
        if isinstance(value, ConstExpr) and _mentions(value, set(self.strides)):
            operands = [self.of(v) for v in value.operands]
            return self.builder.build(
                value.op, value.type, operands, flags=value.flags, attrs=dict(value.attrs)
            )
        return value

    def _lane(self) -> Value:
        if self.lane is None:
            row = INTRINSICS["weft.lane.id"]
            lane = self.builder.call(self.module.declare(row.name, row.signature, CONVERGENT), ())
            self.lane = self.builder.cast("zext", lane, I64)
        return self.lane

"""Rematerialization: computing a value again instead of keeping it.

A value can be computed again anywhere in the function when it is a short chain of cheap instructions over
parameters and constants: work-item ids, sizes, addresses of parameters and stack objects, and what is derived
from them. Such values cost a barrier nothing (Karrenberg and Hack §2.3 save only live values; these need not be).
"""

from __future__ import annotations

from weft.ir import Argument, Builder, Constant, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.ir.opcodes import OPCODES

MAX_CHAIN = 12
_CHEAP_FORMS = {"binary", "unary", "cast", "compare", "select", "gep", "extractvalue"}
_EXPENSIVE = {"fdiv", "frem", "udiv", "sdiv", "urem", "srem", "freeze"}


class Rematerializer:
    """Decides once per value whether, and computes again where asked."""

    __slots__ = ("_cost",)

    def __init__(self) -> None:
        self._cost: dict[Value, int] = {}

    def can(self, value: Value) -> bool:
        """Whether `value` is worth computing again instead of keeping it."""
        return self._chain_length(value) <= MAX_CHAIN

    def _chain_length(self, value: Value) -> int:
        """Instructions to compute `value` again; above `MAX_CHAIN` when it cannot be done."""
        if isinstance(value, (Argument, Constant)):
            return 0
        if not isinstance(value, Instruction):
            return MAX_CHAIN + 1
        known = self._cost.get(value)
        if known is not None:
            return known
        cost = MAX_CHAIN + 1
        if _is_cheap(value) and is_speculatable(value) and value.guard is None:
            cost = 1
            for operand in value.operands:
                cost += self._chain_length(operand)
                if cost > MAX_CHAIN:
                    break
        self._cost[value] = cost
        return cost

    def compute(self, builder: Builder, value: Value, known: dict[Value, Value]) -> Value:
        """Build the chain of `value` at the builder; `known` maps arguments and finished values, and grows.

        What was computed under a mask becomes total: it need not have a meaning on all threads that are here.
        """
        if isinstance(value, Constant):
            return value
        done = known.get(value)
        if done is not None:
            return done
        assert isinstance(value, Instruction)
        copy = value.clone()
        assert value.block is not None
        copy.total = value.total or value.block.predicate is not None
        for i, operand in enumerate(value.operands):
            copy.set_operand(i, self.compute(builder, operand, known))
        known[value] = builder.insert(copy)
        return copy


def _is_cheap(value: Instruction) -> bool:
    """Whether one more such instruction costs no more than keeping its result.

    A freeze picks one arbitrary value, which a second evaluation need not repeat.
    """
    if value.op == "call":
        return value.callee_name in ("weft.lane.id", "weft.lane.coordinate")
    return OPCODES[value.op].form in _CHEAP_FORMS and value.op not in _EXPENSIVE

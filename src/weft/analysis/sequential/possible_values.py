"""Sets of expressions (Juravle, §8.4): what a value may be that depends on the way to it.

The lattice of the thesis is the sets of expressions, ordered by inclusion. A φ or a ``select`` may be any of its
operands, and a value that depends on itself other than by counting is expanded once (Figure 8.10: ``sum`` is 0 or
``sum + α``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.sequential.scope import Scope
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.ir import Instruction, Value
from weft.ir.types import IntType

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction

_MAX_POSSIBLE = 6
"""Larger sets of expressions are one symbol."""


def possible_set(
    made: Reconstruction, scope: Scope, value: Value, signed: bool, active: frozenset[Value]
) -> dict[Expression, None] | None:
    """The expressions that a value may have; None where they are too many. Values in `active` are not taken apart."""
    own = made.of(scope, value, signed)
    if not isinstance(value, Instruction) or value in active or len(active) > _MAX_POSSIBLE:
        return {own: None}
    if value.op in ("phi", "select") and own == as_expression(made.symbol(scope, value, signed)):
        operands = value.operands[1:] if value.op == "select" else value.operands
        return _union(made, scope, operands, signed, active | {value})
    if value.op == "getelementptr" and not value.type.is_vector:
        bases = possible_set(made, scope, value.operands[0], True, active | {value})
        base = made.of(scope, value.operands[0])
        return None if bases is None else {b + (own - base): None for b in bases}
    if value.op in ("add", "sub", "sext", "freeze", "zext") and isinstance(value.type, IntType):
        return _combined(made, scope, value, own, signed, active | {value})
    return {own: None}


def _combined(
    made: Reconstruction,
    scope: Scope,
    value: Instruction,
    own: Expression,
    signed: bool,
    active: frozenset[Value],
) -> dict[Expression, None] | None:
    """The set of a sum whose operands have sets."""
    readings = [made.of(scope, v, signed) for v in value.operands]
    found = {own: None}
    for operand, reading in zip(value.operands, readings, strict=True):
        sets = possible_set(made, scope, operand, signed, active)
        if sets is None:
            return None
        if len(sets) == 1:
            continue
        slope = -1 if value.op == "sub" and operand is value.operands[1] else 1
        if value.op in ("sext", "zext") and own != reading:
            return {own: None}
        found = {e + (s - reading) * slope: None for e in found for s in sets}
    return found if len(found) <= _MAX_POSSIBLE else None


def _union(
    made: Reconstruction, scope: Scope, values: list[Value], signed: bool, active: frozenset[Value]
) -> dict[Expression, None] | None:
    found: dict[Expression, None] = {}
    for value in values:
        one = possible_set(made, scope, value, signed, active)
        if one is None or len(found) + len(one) > _MAX_POSSIBLE:
            return None
        found.update(one)
    return found

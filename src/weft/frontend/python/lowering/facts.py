"""What a condition says about lower bounds of variables.

Indices that are known not to be negative need no wrapping, so ``if i > 0: ... x[i - 1]`` costs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.frontend.python.scope import assigned_in
from weft.frontend.python.types import Scalar

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

Facts = dict[str, int]


def facts_if(low: Lowering, test: ast.expr, holds: bool) -> Facts:
    """Lower bounds of local variables where `test` is true (`holds`) or false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return facts_if(low, test.operand, not holds)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if holds else ast.Or):
        return _merge([facts_if(low, value, holds) for value in test.values])
    if isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
        sides = [test.left, *test.comparators]
        return _merge(
            [
                _of_comparison(low, a, op, b, holds)
                for a, op, b in zip(sides, test.ops, sides[1:], strict=False)
            ]
        )
    return {}


def facts_for(low: Lowering, test: ast.expr, holds: bool, code: Sequence[ast.AST]) -> Facts:
    """Those facts that stay true throughout `code`: about variables that it does not assign."""
    facts = facts_if(low, test, holds)
    return {name: bound for name, bound in facts.items() if not any(name in assigned_in(s) for s in code)}


def _merge(parts: list[Facts]) -> Facts:
    result: Facts = {}
    for part in parts:
        for name, bound in part.items():
            result[name] = max(bound, result.get(name, bound))
    return result


def _of_comparison(low: Lowering, a: ast.expr, op: ast.cmpop, b: ast.expr, holds: bool) -> Facts:
    """Facts from ``a op b`` or its negation; a comparison with NaN does not concern integers."""
    greater = (ast.Gt, ast.GtE) if holds else (ast.Lt, ast.LtE)
    less = (ast.Lt, ast.LtE) if holds else (ast.Gt, ast.GtE)
    strict = isinstance(op, (ast.Gt, ast.Lt)) == holds
    if isinstance(op, less):
        a, b = b, a
    elif not isinstance(op, greater):
        if isinstance(op, ast.Eq if holds else ast.NotEq):
            return _merge([_bound(low, a, b, 0), _bound(low, b, a, 0)])
        return {}
    return _bound(low, a, b, int(strict))


def _bound(low: Lowering, variable: ast.expr, least: ast.expr, offset: int) -> Facts:
    """The fact that `variable` is at least `least` plus `offset`."""
    if not isinstance(variable, ast.Name) or not _is_integer(low, variable.id):
        return {}
    bound = _lower_bound(low, least)
    return {} if bound is None else {variable.id: bound + offset}


def _lower_bound(low: Lowering, node: ast.expr) -> int | None:
    """A lower bound of an integer expression that can be told without lowering it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = node.operand
        return -value.value if isinstance(value, ast.Constant) and isinstance(value.value, int) else None
    if isinstance(node, ast.Name) and _is_integer(low, node.id):
        bound = low.variables.bound_value(node.id)
        if bound is not None:
            return bound.least
        info = low.variables.info(node.id)
        bounds = [low.facts.get(node.id), info.low if info is not None and info.sure else None]
        return max((bound for bound in bounds if bound is not None), default=None)
    return None


def _is_integer(low: Lowering, name: str) -> bool:
    """Whether a local variable holds integers, as far as that is known."""
    if not low.scope.is_local(name):
        return False
    source = low.variables.bound_value(name) or low.variables.info(name)
    return source is not None and isinstance(source.type, Scalar) and source.type.is_integer

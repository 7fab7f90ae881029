"""Conditions as control flow: the branches of ``if`` and ``while`` on ``and``, ``or`` and ``not``.

Operands that are cheap and cannot fail are computed without a branch.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.context import NotYetTyped
from weft.frontend.python.lowering.facts import facts_for
from weft.frontend.python.lowering.numbers.comparisons import (
    both,
    condition,
    either,
    known_truth,
    truth,
)
from weft.frontend.python.types import Array, Tiled
from weft.ir.block import BasicBlock
from weft.ir.constants import TRUE
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_CHEAP_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_CHEAP_BY_LITERALS = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
_MAX_CHEAP_NODES = 16


def jump(low: Lowering, test: ast.expr, then: BasicBlock, otherwise: BasicBlock) -> None:
    """Branch on a condition; short circuits become control flow."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        jump(low, test.operand, otherwise, then)
        return
    if isinstance(test, ast.BoolOp):
        _jump_chain(low, test, then, otherwise)
        return
    _jump_on(low, test, _condition_value(low, test), then, otherwise)


def _jump_on(low: Lowering, test: ast.expr, value: Value, then: BasicBlock, otherwise: BasicBlock) -> None:
    low.at(test)
    known = known_truth(value)
    if known is None:
        low.branch_if(value, then, otherwise)
    else:
        low.branch(then if known else otherwise)


def _jump_chain(low: Lowering, test: ast.BoolOp, then: BasicBlock, otherwise: BasicBlock) -> None:
    is_and = isinstance(test.op, ast.And)
    before = low.facts
    groups = _groups(low, test.values)
    for position, group in enumerate(groups):
        following = low.new_block("and.rhs" if is_and else "or.rhs")
        targets = (following, otherwise) if is_and else (then, following)
        if position == len(groups) - 1:
            targets = (then, otherwise)
        if len(group) == 1:
            jump(low, group[0], *targets)
        else:
            _jump_on(low, group[0], _all_computed(low, is_and, group), *targets)
        low.start(following)
        if low.is_dead:
            break
        rest = [operand for later in groups[position + 1 :] for operand in later]
        for operand in group:
            low.facts = {**low.facts, **facts_for(low, operand, is_and, rest)}
    low.facts = before


def _groups(low: Lowering, operands: list[ast.expr]) -> list[list[ast.expr]]:
    """The operands in order, neighbours together that are cheap enough to be computed all."""
    groups: list[list[ast.expr]] = []
    mergeable = False
    for operand in operands:
        cheap = is_cheap(low, operand)
        if cheap and mergeable:
            groups[-1].append(operand)
        else:
            groups.append([operand])
        mergeable = cheap
    return groups


def _all_computed(low: Lowering, is_and: bool, operands: list[ast.expr]) -> Value:
    """``and`` or ``or`` of operands without a branch."""
    try:
        result = _truth_of(low, operands[0])
        for operand in operands[1:]:
            value = _truth_of(low, operand)
            low.at(operand)
            result = both(low, result, value) if is_and else either(low, result, value)
    except NotYetTyped as waiting:
        return _unknown(low, waiting)
    return condition(low, result)


def _condition_value(low: Lowering, test: ast.expr) -> Value:
    """The condition as an i1; a type not yet known makes it unknown, so that the code under it is walked."""
    try:
        return condition(low, _truth_of(low, test))
    except NotYetTyped as waiting:
        return _unknown(low, waiting)


def _truth_of(low: Lowering, test: ast.expr) -> Typed:
    """An expression as a bool."""
    value = low.expr(test)
    try:
        return truth(low, value)
    except TypingError as error:
        raise error.at(low.span(test)) from None


def _unknown(low: Lowering, waiting: NotYetTyped) -> Value:
    low.waiting = low.waiting or waiting
    return low.entry_builder.unary("freeze", TRUE)


def is_cheap(low: Lowering, node: ast.expr) -> bool:
    """Whether an expression can as well be computed when it is not needed: short, no memory access, no call."""
    count = 0
    for child in ast.walk(node):
        count += 1
        if isinstance(child, ast.BinOp) and not isinstance(child.op, _CHEAP_OPERATORS):
            divisor = child.right
            if not (isinstance(child.op, _CHEAP_BY_LITERALS) and isinstance(divisor, ast.Constant)):
                return False
        if isinstance(child, (ast.Call, ast.NamedExpr, ast.IfExp)):
            return False
        if isinstance(child, ast.Subscript) and not _is_extent(low, child):
            return False
        if isinstance(child, ast.Attribute) and not _is_constant_attribute(low, child):
            return False
    return count <= _MAX_CHEAP_NODES


def _is_extent(low: Lowering, node: ast.Subscript) -> bool:
    """Whether a subscript reads an extent of a parameter: ``x.shape[1]``."""
    owner = node.value
    is_shape = (
        isinstance(owner, ast.Attribute) and owner.attr == "shape" and _is_constant_attribute(low, owner)
    )
    return is_shape and isinstance(node.slice, ast.Constant)


def _is_constant_attribute(low: Lowering, node: ast.Attribute) -> bool:
    """Whether an attribute is one of a module, or a size of a parameter: no field of a record in memory."""
    base = node.value
    while isinstance(base, ast.Attribute):
        base = base.value
    if not isinstance(base, ast.Name):
        return False
    if not low.scope.is_local(base.id):
        return True
    bound = low.variables.bound_value(base.id)
    return bound is not None and isinstance(bound.type, (Array, Tiled))

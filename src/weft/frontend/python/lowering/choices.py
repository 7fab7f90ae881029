"""Comparison chains, conditional expressions, and ``and`` and ``or`` as values.

As in Python, ``a and b`` is a or b itself, and what does not decide is not evaluated unless it is cheap.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.components import components
from weft.frontend.python.lowering.arrays.elementwise import combine, is_array, operands
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.context import NotYetTyped, expression
from weft.frontend.python.lowering.facts import facts_for
from weft.frontend.python.lowering.joins import Info, info_of, join_infos
from weft.frontend.python.lowering.numbers.arithmetic import invert, negate
from weft.frontend.python.lowering.numbers.casts import convert
from weft.frontend.python.lowering.numbers.comparisons import (
    both,
    compare,
    condition,
    either,
    negation,
    truth,
)
from weft.frontend.python.lowering.numbers.conditions import is_cheap, jump
from weft.frontend.python.types import Scalar, boolean
from weft.ir.block import BasicBlock
from weft.ir.types import I1
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@expression(ast.Compare)
def _lower_compare(low: Lowering, node: ast.Compare) -> Typed:
    if len(node.ops) == 1:
        left, right = operands(low, low.operand(node.left), node.comparators[0])
        low.at(node)
        op = node.ops[0]
        if (is_array(left) or is_array(right)) and not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return combine(low, lambda low, x, y: compare(low, op, x, y), left, right)
        return compare(low, op, left.settled(low), right.settled(low))
    left = low.expr(node.left)
    result = literal(True)
    ends: list[tuple[BasicBlock, Value]] = []
    end = low.new_block("compare.end")
    for position, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if position and not is_cheap(low, comparator) and not result.is_literal:
            # Python evaluates the rest of a chain only while the comparisons before are true.
            following = low.new_block("compare.rhs")
            block = low.builder.block
            assert block is not None
            ends.append((block, result.value))
            low.branch_if(result.value, following, end)
            low.start(following)
            result = literal(True)
        right = low.expr(comparator)
        low.at(node)
        result = both(low, result, compare(low, op, left, right))
        left = right
    if not ends:
        return result
    last = low.builder.block
    assert last is not None
    ends.append((last, condition(low, result)))
    low.branch(end)
    low.start(end)
    phi = low.builder.phi(I1)
    for block, value in ends:
        phi.add_incoming(value, block)
    return Typed(literal(True).type, (phi,))


@expression(ast.UnaryOp)
def _lower_unary(low: Lowering, node: ast.UnaryOp) -> Typed:
    value = low.operand(node.operand)
    low.at(node)
    if is_array(value) and not isinstance(node.op, ast.Not):
        return combine(low, lambda low, x: _unary(low, node.op, x), value)
    return _unary(low, node.op, value.settled(low))


def _unary(low: Lowering, op: ast.unaryop, value: Typed) -> Typed:
    if isinstance(op, ast.Not):
        return negation(low, truth(low, value))
    if isinstance(op, ast.USub):
        return negate(low, value)
    if isinstance(op, ast.Invert):
        return invert(low, value)
    if not isinstance(value.type, Scalar):
        raise TypingError(f"there is no operation +{value.type}")
    return value


@expression(ast.IfExp)
def _lower_choice(low: Lowering, node: ast.IfExp) -> Typed:
    if is_cheap(low, node.body) and is_cheap(low, node.orelse):
        test = truth(low, low.expr(node.test))
        if test.is_literal:
            return low.expr(node.body if test.literal else node.orelse)
        then, otherwise = low.expr(node.body), low.expr(node.orelse)
        low.at(node)
        return select(low, test.value, then, otherwise)
    blocks = low.new_block("choice.then"), low.new_block("choice.else")
    jump(low, node.test, *blocks)
    values: list[tuple[Typed, BasicBlock]] = []
    arms = ((node.body, True), (node.orelse, False))
    for block, (arm, holds) in zip(blocks, arms, strict=True):
        low.start(block)
        if not low.is_dead:
            try:
                with low.knowing(facts_for(low, node.test, holds, [arm])):
                    value = low.expr(arm)
            except NotYetTyped as waiting:
                # The other arm may tell the type, as in a recursive function.
                low.waiting = low.waiting or waiting
                continue
            assert low.builder.block is not None
            values.append((value, low.builder.block))
    low.at(node)
    if not values:
        assert low.waiting is not None
        raise low.waiting
    return merge(low, values, "choice.end")


def select(low: Lowering, test: Value, then: Typed, otherwise: Typed) -> Typed:
    """The one value or the other, both computed."""
    info = _joined([then, otherwise])
    pairs = zip(convert(low, then, info.type), convert(low, otherwise, info.type), strict=True)
    parts = tuple(a if a is b else low.builder.select(test, a, b) for a, b in pairs)
    return Typed(info.type, parts, low=info.low, sure=info.sure)


def _joined(values: list[Typed]) -> Info:
    info = info_of(values[0])
    for value in values[1:]:
        info = join_infos(info, info_of(value))[0]
    return info


def merge(low: Lowering, values: list[tuple[Typed, BasicBlock]], name: str) -> Typed:
    """The value of whichever block was left, each at its end; goes on in a new block."""
    info = _joined([value for value, _ in values])
    end = low.new_block(name)
    incoming: list[tuple[tuple[Value, ...], BasicBlock]] = []
    for value, block in values:
        low.builder.at_end(block)
        incoming.append((convert(low, value, info.type), block))
        low.branch(end)
    low.start(end)
    if len(incoming) == 1:
        return Typed(info.type, incoming[0][0], low=info.low, sure=info.sure)
    phis = []
    for index, component in enumerate(components(info.type)):
        phi = low.builder.phi(component.type)
        for parts, block in incoming:
            phi.add_incoming(parts[index], block)
        phis.append(phi)
    return Typed(info.type, tuple(phis), low=info.low, sure=info.sure)


@expression(ast.BoolOp)
def _lower_bool_op(low: Lowering, node: ast.BoolOp) -> Typed:
    """``a and b`` as a value: the first operand that decides, else the last."""
    is_and = isinstance(node.op, ast.And)
    value = low.expr(node.values[0])
    before = low.facts
    for position, operand in enumerate(node.values[1:], 1):
        low.at(node)
        test = truth(low, value)
        if test.is_literal:
            if bool(test.literal) != is_and:
                break
            value = low.expr(operand)
            continue
        previous, rest = node.values[position - 1], node.values[position:]
        low.facts = {**low.facts, **facts_for(low, previous, is_and, rest)}
        value = _and_or(low, is_and, value, test.value, operand)
    low.facts = before
    return value


def _and_or(low: Lowering, is_and: bool, first: Typed, test: Value, operand: ast.expr) -> Typed:
    if is_cheap(low, operand):
        second = low.expr(operand)
        if first.type is boolean and second.type is boolean:
            return both(low, first, second) if is_and else either(low, first, second)
        return select(low, test, *((second, first) if is_and else (first, second)))
    start = low.builder.block
    following, end = low.new_block("and.rhs" if is_and else "or.rhs"), low.new_block("bool.end")
    assert start is not None
    # The first operand is converted to the common type before the branch, whose type is known after the second.
    low.function.blocks.append(following)
    low.builder.at_end(following)
    second = low.expr(operand)
    last = low.builder.block
    assert last is not None
    info = _joined([first, second])
    second_parts = convert(low, second, info.type)
    low.branch(end)
    low.builder.at_end(start)
    first_parts = convert(low, first, info.type)
    low.branch_if(test, *((following, end) if is_and else (end, following)))
    low.start(end)
    phis = []
    for component, a, b in zip(components(info.type), first_parts, second_parts, strict=True):
        phi = low.builder.phi(component.type)
        phi.add_incoming(a, start)
        phi.add_incoming(b, last)
        phis.append(phi)
    return Typed(info.type, tuple(phis), low=info.low, sure=info.sure)

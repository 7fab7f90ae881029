"""Names, literals, operators, tuples and subscripts of tuples."""

from __future__ import annotations

import ast
import builtins
import enum
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError, UnsupportedError, WeftError
from weft.frontend.python.lowering.arrays.arrays import load_item
from weft.frontend.python.lowering.arrays.elementwise import Lazy, combine, is_array, operands
from weft.frontend.python.lowering.arrays.fused import element_of
from weft.frontend.python.lowering.arrays.heap import without_temporaries
from weft.frontend.python.lowering.arrays.products import product
from weft.frontend.python.lowering.arrays.records import field_name, record_field
from weft.frontend.python.lowering.arrays.tiled import load_tiled
from weft.frontend.python.lowering.calls.enumerations import member_of
from weft.frontend.python.lowering.calls.tuple_items import item_at
from weft.frontend.python.lowering.calls.typed import NONE, TupleValue, Typed, items_of, literal, static
from weft.frontend.python.lowering.context import NotYetTyped, expression, unsupported
from weft.frontend.python.lowering.globals_ import MISSING, captured, value_of
from weft.frontend.python.lowering.numbers.arithmetic import SYMBOLS, binary
from weft.frontend.python.read_lists import as_tuple, read_lists
from weft.frontend.python.types import Array, Computed, Record, Tiled, Tuple

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@expression(ast.Constant)
def _lower_constant(low: Lowering, node: ast.Constant) -> Typed:
    value = node.value
    if value is None:
        return NONE
    if isinstance(value, (bool, int, float, complex)):
        return literal(value)
    if isinstance(value, (str, bytes)) or value is Ellipsis:
        return static(value)
    raise UnsupportedError(f"a {type(value).__name__} literal is not supported in kernels")


@expression(ast.Name)
def _lower_name(low: Lowering, node: ast.Name) -> Typed:
    if low.scope.is_local(node.id):
        low.at(node)
        return low.variables.load(low, node.id)
    value = captured(low.source.function, node.id)
    if value is MISSING:
        value = getattr(builtins, node.id, MISSING)
    if value is MISSING:
        raise TypingError(f"name '{node.id}' is not defined", hint=_similar(low, node.id))
    return value_of(low, value)


def _similar(low: Lowering, name: str) -> str | None:
    import difflib

    names = [*low.scope.params, *low.scope.bindings, *low.source.function.__globals__]
    found = difflib.get_close_matches(name, names, 1)
    return f"did you mean '{found[0]}'?" if found else None


@expression(ast.BinOp)
def _lower_binary(low: Lowering, node: ast.BinOp) -> Typed:
    # Sums of hundreds of terms lean to the left: Python's stack is not deep enough to go down there by calls.
    chain = [node]
    while isinstance(left := chain[-1].left, ast.BinOp):
        chain.append(left)
    value = low.operand(left)
    for part in reversed(chain):
        try:
            value = _with_right(low, value, part)
        except (WeftError, NotYetTyped) as problem:
            low.place(problem, part)
            raise
    return value


def _with_right(low: Lowering, left: Typed, node: ast.BinOp) -> Typed:
    """Lower an operation whose left side is."""
    a, b = operands(low, left, node.right)
    low.at(node)
    symbol = SYMBOLS[type(node.op)]
    if symbol == "@":
        if not (isinstance(a, Lazy) or isinstance(b, Lazy)):
            return product(low, a, b)
        return without_temporaries(low, lambda: product(low, a.settled(low), b.settled(low)))
    if is_array(a) or is_array(b):
        return combine(low, lambda low, x, y: binary(low, symbol, x, y), a, b)
    return binary(low, symbol, a, b)


@expression(ast.Tuple)
def _lower_tuple(low: Lowering, node: ast.Tuple) -> Typed:
    items: list[Typed] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            value = low.expr(element.value)
            if not isinstance(value.type, Tuple):
                raise TypingError(f"only a tuple can be starred, not {value.type}")
            items += items_of(value)
        else:
            items.append(low.expr(element))
    return TupleValue(tuple(items))


@expression(ast.List)
def _lower_list(low: Lowering, node: ast.List) -> Typed:
    if node not in read_lists(low.source.node):
        raise unsupported(node)
    return low.expr(as_tuple(node))


@expression(ast.NamedExpr)
def _lower_walrus(low: Lowering, node: ast.NamedExpr) -> Typed:
    value = low.expr(node.value)
    low.at(node)
    low.variables.store(low, node.target.id, value, low.span(node.target))
    return value


@expression(ast.Subscript)
def _lower_subscript(low: Lowering, node: ast.Subscript) -> Typed:
    value = low.expr(node.value)
    if isinstance(value.type, Array):
        return load_item(low, node, value)
    if isinstance(value.type, Tiled):
        return load_tiled(low, node, value)
    if isinstance(value.type, Computed):
        return element_of(low, value, low.expr(node.slice))
    if isinstance(value.type, Tuple):
        return _tuple_item(low, node, value)
    if isinstance(value.type, Record):
        key = field_name(value, low.expr(node.slice))
        low.at(node)
        return record_field(low, value, key)
    known = value.static
    if isinstance(known, type) and issubclass(known, enum.Enum):
        return member_of(known, low.expr(node.slice).static)
    if known is np.mgrid or known is np.ogrid:
        name = "mgrid" if known is np.mgrid else "ogrid"
        raise UnsupportedError(
            f"np.{name} is not supported in kernels",
            hint="count in loops over range, or pass it as an argument",
        )
    raise TypingError(f"{value.type} cannot be indexed")


def _tuple_item(low: Lowering, node: ast.Subscript, value: Typed) -> Typed:
    items = items_of(value)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else low.expr(part).int_literal
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return TupleValue(items[slice(*bounds)])
    chosen = low.expr(node.slice)
    low.at(node)
    index = chosen.int_literal
    if index is None:
        return item_at(low, items, chosen)
    if not -len(items) <= index < len(items):
        raise TypingError(f"index {index} is out of range for a tuple of {len(items)}")
    return items[index]

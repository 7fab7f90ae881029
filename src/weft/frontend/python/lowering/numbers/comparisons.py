"""Comparisons, truth values, and the choice between two values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.enumerations import Member, same_member
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal, scalar_type
from weft.frontend.python.lowering.numbers import complexes, times
from weft.frontend.python.lowering.numbers.casts import number, to_real, truth_value
from weft.frontend.python.lowering.ranges import Range
from weft.frontend.python.types import (
    Array,
    Enumeration,
    NoneType,
    Scalar,
    Static,
    Text,
    Time,
    Tuple,
    boolean,
    int64,
    pycomplex,
    pyint,
    uint64,
)
from weft.frontend.python.typing_rules import fits, promote
from weft.ir.builder import const_int
from weft.ir.constants import FALSE, TRUE, Constant
from weft.ir.types import I1
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_FOLD: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_INT = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_FLOAT = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(low: Lowering, op: ast.cmpop, a: Typed, b: Typed) -> Typed:
    """Lower one comparison of a chain."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        member = same_member(low, a, b)
        if member is not None:
            return member if isinstance(op, ast.Is) else negation(low, member)
        if isinstance(a, Member) and isinstance(b, Member):
            return literal((a.member is b.member) == isinstance(op, ast.Is))
        left, right = scalar_type(a), scalar_type(b)
        if left is not None and right is not None and left.kind in "biu" and right.kind in "biu":
            # Python has one object of each truth value, and as numba does, one of each integer is taken for given.
            same = relation(low, "==", a, b) if (left is boolean) == (right is boolean) else literal(False)
            return same if isinstance(op, ast.Is) else negation(low, same)
        return literal(_is_same(a, b) == isinstance(op, ast.Is))
    if isinstance(op, (ast.In, ast.NotIn)):
        return _contains(low, a, b, negated=isinstance(op, ast.NotIn))
    return relation(low, _SYMBOLS[type(op)], a, b)


def _is_same(a: Typed, b: Typed) -> bool:
    a_none, b_none = isinstance(a.type, NoneType), isinstance(b.type, NoneType)
    if a_none or b_none:
        return a_none and b_none
    if isinstance(a.type, Static) and isinstance(b.type, Static):
        return a.type.value is b.type.value
    raise TypingError(f"'is' cannot compare {a.type} and {b.type}", hint="compare numbers with ==")


def _contains(low: Lowering, item: Typed, container: Typed, negated: bool) -> Typed:
    if not isinstance(container.type, Tuple):
        raise TypingError(f"'in' needs a tuple, not {container.type}", hint="write a loop over the elements")
    found = literal(False)
    for candidate in items_of(container):
        found = either(low, found, relation(low, "==", item, candidate))
    return negation(low, found) if negated else found


def either(low: Lowering, a: Typed, b: Typed) -> Typed:
    """``a or b`` of two bools, both computed."""
    if a.is_literal or b.is_literal:
        known, other = (a, b) if a.is_literal else (b, a)
        return known if known.literal else other
    return Typed(boolean, (low.builder.select(a.value, TRUE, b.value),))


def both(low: Lowering, a: Typed, b: Typed) -> Typed:
    """``a and b`` of two bools, both computed; a select, so that poison in `b` does not leak past a false `a`."""
    if a.is_literal or b.is_literal:
        known, other = (a, b) if a.is_literal else (b, a)
        return other if known.literal else known
    return Typed(boolean, (low.builder.select(a.value, b.value, FALSE),))


def negation(low: Lowering, value: Typed) -> Typed:
    """``not value`` of a bool."""
    if value.is_literal:
        return literal(not value.literal)
    return Typed(boolean, (low.builder.binary("xor", value.value, TRUE),))


def relation(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """Lower ``== != < <= > >=``."""
    if isinstance(a.type, Tuple) and isinstance(b.type, Tuple) and symbol in ("==", "!="):
        return _tuples(low, symbol, a, b)
    member = same_member(low, a, b) if symbol in ("==", "!=") else None
    if member is not None:
        return member if symbol == "==" else negation(low, member)
    if isinstance(a.type, Static) and isinstance(b.type, Static):
        return literal(bool(_FOLD[symbol](a.type.value, b.type.value)))
    if isinstance(a.type, Text) or isinstance(b.type, Text):
        from weft.frontend.python.lowering.arrays.texts import same_text

        return same_text(low, symbol, a, b)
    left, right = scalar_type(a), scalar_type(b)
    if isinstance(left, Time) or isinstance(right, Time):
        return times.relation(low, symbol, a, b)
    if left is None or right is None:
        raise TypingError(f"there is no comparison {a.type} {symbol} {b.type}")
    if a.is_literal and b.is_literal:
        try:
            return literal(_FOLD[symbol](a.literal, b.literal))
        except TypeError:
            raise TypingError(f"there is no comparison {a.type} {symbol} {b.type}") from None
    if left.kind == "c" or right.kind == "c":
        if symbol not in ("==", "!="):
            raise TypingError(f"there is no order of complex numbers: {a.type} {symbol} {b.type}")
        type = promote(left, right) if left is not boolean or right is not boolean else pycomplex
        equal = Typed(boolean, (complexes.equal(low, a, b, type),))
        return equal if symbol == "==" else negation(low, equal)
    return Typed(boolean, (_real(low, symbol, a, b, left, right),))


def _real(low: Lowering, symbol: str, a: Typed, b: Typed, left: Scalar, right: Scalar) -> Value:
    if _is_out_of_range(b, right, left):
        # Not refused as in arithmetic: the answer is clear.
        return TRUE if _FOLD[symbol](0, b.literal) else FALSE
    if _is_out_of_range(a, left, right):
        return TRUE if _FOLD[symbol](a.literal, 0) else FALSE
    if left is boolean and right is boolean:
        type = boolean if symbol in ("==", "!=") else pyint
    else:
        type = _common_type(a, b, left, right)
    if type is None:
        return _mixed_signs(low, symbol, a, b, left)
    x, y = to_real(low, a, type), to_real(low, b, type)
    if type.kind == "f":
        return low.builder.fcmp(_FLOAT[symbol], x, y, low.unit.options.fastmath)
    sign = "" if symbol in ("==", "!=") else "u" if type.kind == "u" else "s"
    return low.builder.icmp(sign + _INT[symbol], x, y)


def _is_out_of_range(value: Typed, type: Scalar, partner: Scalar) -> bool:
    """Whether an integer literal lies outside the partner's type: beyond all its values."""
    literal_ = value.int_literal
    return literal_ is not None and type is pyint and partner.is_integer and not fits(literal_, partner)


def _common_type(a: Typed, b: Typed, left: Scalar, right: Scalar) -> Scalar | None:
    """A type in which two real numbers compare exactly (as NumPy compares), None for uint64 with a signed one."""
    if left.kind == "f" or right.kind == "f":
        return promote(left, right)
    for one, one_type, other_type in ((a, left, right), (b, right, left)):
        if one.int_literal is not None and one_type is pyint and other_type.is_integer:
            return other_type
    if uint64 in (left, right):
        signed, value = (right, b) if left is uint64 else (left, a)
        exact = signed.kind in "ub" or (value.least is not None and value.least >= 0)
        return uint64 if exact else None
    return promote(left, right)


def _mixed_signs(low: Lowering, symbol: str, a: Typed, b: Typed, left: Scalar) -> Value:
    """Compare a uint64 with a signed integer by their values: a negative one is less than all."""
    if left is not uint64:
        return _mixed_signs(low, _MIRRORED[symbol], b, a, uint64)
    unsigned = number(low, a)
    signed = to_real(low, b, int64)
    negative = low.builder.icmp("slt", signed, const_int(0))
    sign = "" if symbol in ("==", "!=") else "u"
    compared = low.builder.icmp(sign + _INT[symbol], unsigned, signed)
    return low.builder.select(negative, TRUE if symbol in (">", ">=", "!=") else FALSE, compared)


def _tuples(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    left, right = items_of(a), items_of(b)
    result = literal(len(left) == len(right))
    if len(left) == len(right):
        for x, y in zip(left, right, strict=True):
            result = both(low, result, relation(low, "==", x, y))
    return result if symbol == "==" else negation(low, result)


def truth(low: Lowering, value: Typed) -> Typed:
    """The value as a bool, as ``if`` and ``not`` take it."""
    type = value.type
    if isinstance(type, Scalar):
        if value.is_literal:
            return literal(bool(value.literal))
        if type.kind == "c":
            zero = Typed(type, literal=0j)
            return negation(low, Typed(boolean, (complexes.equal(low, value, zero, type),)))
        return Typed(boolean, (truth_value(low, value.value, type),))
    if isinstance(type, NoneType):
        return literal(False)
    if isinstance(type, Tuple):
        return literal(bool(type.items))
    if isinstance(type, Static):
        if isinstance(type.value, Range):
            return truth(low, type.value.length(low))
        return literal(bool(type.value))
    if isinstance(type, Enumeration):
        return literal(True)
    hint = "test an element, or a.size != 0" if isinstance(type, Array) else None
    raise TypingError(f"{type} has no truth value", hint=hint)


def condition(low: Lowering, value: Typed) -> Value:
    """The truth value as an i1."""
    result = truth(low, value)
    if result.is_literal:
        return TRUE if result.literal else FALSE
    return result.value


def known_truth(value: Value) -> bool | None:
    """The truth of an i1 that is a constant."""
    if isinstance(value, Constant) and value.type is I1:
        return value == TRUE
    return None

"""Numbers and constant expressions.

Integers are of 64 bits, signed unless they have the suffix ``U``, a value above 2**63 - 1, or come out of an operation
with an unsigned operand; operators have C's precedence. Floating constants can be negated only.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from weft.ptx.reader.cursor import Cursor
from weft.ptx.syntax import Float, Integer

_WORD = 1 << 64
_TOP = 1 << 63
_ENDS = frozenset(",;]}")
_PRECEDENCE = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "||": lambda a, b: bool(a or b),
    "&&": lambda a, b: bool(a and b),
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def number(token: str) -> Integer | Float | None:
    """The constant that one token is, or None if it is none."""
    if not token[:1].isdigit():
        return None
    kind = token[1:2]
    if kind in {"f", "F"}:
        return Float(int(token[2:], 16), 32)
    if kind in {"d", "D"}:
        return Float(int(token[2:], 16), 64)
    hexadecimal = kind in {"x", "X"}
    if not hexadecimal and ("." in token or "e" in token or "E" in token):
        return Float(struct.unpack("<Q", struct.pack("<d", float(token)))[0], 64)
    unsigned = token.endswith("U")
    digits = token[:-1] if unsigned else token
    if hexadecimal:
        value = int(digits[2:], 16)
    elif kind in {"b", "B"}:
        value = int(digits[2:], 2)
    elif digits[0] == "0" and len(digits) > 1:
        if not set(digits) <= set("01234567"):
            return None
        value = int(digits, 8)
    else:
        value = int(digits)
    return None if value >= _WORD else Integer(value, unsigned or value >= _TOP)


def read_constant(c: Cursor) -> Integer | Float:
    """Read a constant expression."""
    if c.tokens[c.at + 1] in _ENDS:
        alone = number(c.token)
        if alone is not None:
            c.at += 1
            return alone
    condition = _binary(c, 0)
    if not c.accept("?"):
        return condition
    then = read_constant(c)
    c.expect(":", "in a conditional constant")
    other = read_constant(c)
    if isinstance(condition, Float):
        c.fail("a floating constant is no condition")
    return then if condition.value else other


def read_integer(c: Cursor, what: str) -> int:
    """Read a constant expression that has to be an integer."""
    begin = c.at
    constant = read_constant(c)
    if not isinstance(constant, Integer):
        c.fail(f"{what} has to be an integer", at=begin)
    return constant.value


def _binary(c: Cursor, level: int) -> Integer | Float:
    if level == len(_PRECEDENCE):
        return _unary(c)
    left = _binary(c, level + 1)
    while c.token in _PRECEDENCE[level]:
        operator_at = c.at
        operator = c.take()
        right = _binary(c, level + 1)
        if isinstance(left, Float) or isinstance(right, Float):
            c.fail(f"'{operator}' between floating constants is not evaluated", at=operator_at)
        left = _apply(c, operator, left, right, operator_at)
    return left


def _apply(c: Cursor, operator: str, left: Integer, right: Integer, at: int) -> Integer:
    if operator in {"<<", ">>"}:
        return _wrap(_shift(operator, left.value, right.value), left.unsigned)
    unsigned = left.unsigned or right.unsigned
    a, b = _wrap(left.value, unsigned).value, _wrap(right.value, unsigned).value
    if operator in _COMPARE:
        return Integer(int(_COMPARE[operator](a, b)))
    if operator in _ARITHMETIC:
        return _wrap(_ARITHMETIC[operator](a, b), unsigned)
    if b == 0:
        c.fail(f"the right side of '{operator}' is zero", at=at)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return _wrap(quotient if operator == "/" else a - b * quotient, unsigned)


def _shift(operator: str, value: int, count: int) -> int:
    count = min(count % _WORD, 64)
    return value << count if operator == "<<" else value >> count


def _unary(c: Cursor) -> Integer | Float:
    begin = c.at
    token = c.take()
    if token in {"-", "+", "~", "!"}:
        return _negate(c, token, _unary(c), begin)
    if token == "(":
        if c.token in {".s64", ".u64"}:
            unsigned = c.take() == ".u64"
            c.expect(")", "behind the type of a cast")
            operand = _unary(c)
            if isinstance(operand, Float):
                c.fail("floating constants are not cast", at=begin)
            return _wrap(operand.value, unsigned)
        inner = read_constant(c)
        c.expect(")", "to close '('")
        return inner
    constant = number(token)
    if constant is None and token[:1].isdigit():
        c.fail(f"'{token}' is no number of PTX, or needs more than 64 bits", at=begin)
    if constant is None:
        c.at = begin
        c.fail(f"expected a constant, found {c.found()}")
    return constant


def _negate(c: Cursor, operator: str, operand: Integer | Float, at: int) -> Integer | Float:
    if isinstance(operand, Float):
        if operator == "+":
            return operand
        if operator != "-":
            c.fail(f"'{operator}' of a floating constant is not evaluated", at=at)
        return Float(operand.pattern ^ (1 << (operand.width - 1)), operand.width)
    if operator == "!":
        return Integer(int(not operand.value))
    value = {"-": -operand.value, "+": operand.value, "~": ~operand.value}[operator]
    return _wrap(value, operand.unsigned)


def _wrap(value: int, unsigned: bool) -> Integer:
    """Reduce to 64 bits."""
    value %= _WORD
    return Integer(value if unsigned or value < _TOP else value - _WORD, unsigned)

"""Operands of instructions."""

from __future__ import annotations

from weft.ptx.reader.constants import number, read_constant, read_integer
from weft.ptx.reader.cursor import Cursor, is_name
from weft.ptx.syntax import (
    Address,
    AddressBase,
    Element,
    Group,
    Negated,
    Operand,
    Pair,
    Sink,
    Symbol,
    Vector,
)

_ENDS = frozenset(",;]})|")


def read_operands(c: Cursor, end: str) -> tuple[Operand, ...]:
    """Read operands up to `end`, which is stepped over; there may be none."""
    tokens, known = c.tokens, c.operands
    if tokens[c.at] == end:
        c.at += 1
        return ()
    operands: list[Operand] = []
    while True:
        operand = known.get(tokens[c.at])
        if operand is not None and tokens[c.at + 1] in {",", end}:
            c.at += 1
        else:
            operand = read_operand(c)
        operands.append(operand)
        token = tokens[c.at]
        if token == end:
            c.at += 1
            return tuple(operands)
        if token != ",":
            if end == ";":
                c.expect_end("behind the operands")
            c.fail(f"expected ',' or '{end}', found {c.found()}")
        c.at += 1


def read_operand(c: Cursor) -> Operand:
    """Read one operand."""
    first = _simple(c)
    if c.token == "|":
        c.at += 1
        return Pair(first, _simple(c))
    return first


def _simple(c: Cursor) -> Operand:
    token = c.token
    if is_name(token):
        return _named(c)
    if token == "{":
        c.at += 1
        return Vector(read_operands(c, "}"))
    if token == "[":
        c.at += 1
        return _address(c)
    if token == "(" and c.tokens[c.at + 1] not in {".s64", ".u64"} and _is_group(c):
        c.at += 1
        return Group(read_operands(c, ")"))
    if token in {"!", "-"} and is_name(c.tokens[c.at + 1]):
        c.at += 1
        return Negated(_simple(c), token)
    constant = number(token)
    if constant is not None and c.tokens[c.at + 1] in _ENDS:
        c.at += 1
        c.operands[token] = constant
        return constant
    if not token[:1].isdigit() and token not in {"-", "+", "~", "!", "("}:
        c.fail(f"expected an operand, found {c.found()}")
    return read_constant(c)


def _is_group(c: Cursor) -> bool:
    """Whether a parenthesis holds what a call passes: it does right behind the opcode, a comma or nothing else."""
    before = c.tokens[c.at - 1]
    return before == "," or is_name(before)


def _named(c: Cursor) -> Operand:
    token = c.take()
    operand = c.operands.get(token)
    if operand is None:
        operand = Sink() if token == "_" else c.resolve(token)
        c.operands[token] = operand
    if isinstance(operand, Symbol) and c.token in {"+", "-"}:
        return Symbol(operand.name, _offset(c))
    if c.token == "[":
        c.at += 1
        index = read_integer(c, "an index")
        c.expect("]", "behind the index")
        return Element(token, index)
    return operand


def _offset(c: Cursor) -> int:
    sign = -1 if c.take() == "-" else 1
    return sign * read_integer(c, "an offset")


def _address(c: Cursor) -> Address:
    begin = c.at
    if is_name(c.token):
        token = c.take()
        base = c.operands.get(token)
        if base is None:
            base = c.operands[token] = c.resolve(token)
    else:
        base = read_constant(c)
    if not isinstance(base, AddressBase):
        c.fail("an address begins with a register, a variable or an integer", at=begin)
    offset = _offset(c) if c.token in {"+", "-"} else 0
    more: tuple[Operand, ...] = ()
    if c.token == ",":
        c.at += 1
        more = read_operands(c, "]")
    else:
        c.expect("]", "to close the address")
    return Address(base, offset, more, c.accept(".unified"))

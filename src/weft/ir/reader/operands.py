"""Reading operands: local values, and constants where none is named."""

from __future__ import annotations

from weft.ir.reader.constants import read_constant
from weft.ir.reader.cursor import Cursor, ForwardValue
from weft.ir.reader.types import read_type
from weft.ir.types import PTR, PointerType, Type
from weft.ir.values import Value


def read_value(c: Cursor, type: Type) -> Value:
    """An operand of a known type."""
    token = c.tokens[c.pos]
    if token[0] != "%":
        return read_constant(c, type)
    scope = c.scope
    if scope is None:
        raise c.error("a local value cannot stand here")
    value = scope.values.get(token)
    if value is None:
        return _late_value(c, token, type)
    if value.type is not type and value.type != type:
        raise c.error(f"{token} has type {value.type}, here it is used as {type}")
    c.pos += 1
    return value


def _late_value(c: Cursor, token: str, type: Type) -> Value:
    """A local value written with quotes, or used before its definition."""
    scope = c.scope
    assert scope is not None
    key = c.local_key(token)
    value = scope.values.get(key) or scope.forward_values.get(key)
    if value is None:
        value = scope.forward_values[key] = ForwardValue(type, key[1:], c.pos)
    elif value.type != type:
        raise c.error(f"{token} has type {value.type}, here it is used as {type}")
    c.pos += 1
    return value


def read_typed_value(c: Cursor) -> Value:
    """``i32 %x``."""
    return read_value(c, read_type(c))


def read_pointer(c: Cursor) -> Value:
    """``ptr %p``, in any address space."""
    start = c.pos
    type = read_type(c)
    if type is not PTR and not isinstance(type, PointerType):
        raise c.error(f"expected a pointer, found a value of type {type}", at=start)
    return read_value(c, type)

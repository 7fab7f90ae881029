"""Reading types."""

from __future__ import annotations

from weft.ir.reader.cursor import Cursor
from weft.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    LABEL,
    METADATA,
    PTR,
    TOKEN,
    VOID,
    ArrayType,
    FunctionType,
    StructType,
    Type,
    VectorType,
    int_type,
    pointer,
)

_SIMPLE: dict[str, Type] = {
    str(t): t for t in (VOID, LABEL, METADATA, TOKEN, I1, I8, I16, I32, I64, F16, BF16, F32, F64)
}
_REFUSED = {
    "x86_fp80": "use double: the 80-bit format has no vector form",
    "fp128": "use double: no machine that weft targets computes in quadruple precision",
    "ppc_fp128": "use double",
    "x86_amx": "tile registers are not part of the language",
    "target": "target extension types are not part of the language",
}
_MAX_INTEGER_BITS = 1 << 23


def read_type(c: Cursor) -> Type:
    """Any type but a function type."""
    tokens, pos = c.tokens, c.pos
    token = tokens[pos]
    simple = _SIMPLE.get(token)
    if simple is not None:
        c.pos = pos + 1
        return simple
    if token == "ptr":
        c.pos = pos + 1
        if tokens[pos + 1] == "addrspace":
            c.pos = pos + 2
            return pointer(c.parenthesized_integer())
        return PTR
    if token == "<" or token == "[":
        return _read_sequence(c)
    if token == "{":
        return _read_struct(c, packed=False)
    if token[0] == "%":
        c.pos = pos + 1
        return named_struct(c, token, pos)
    if token[0] == "i" and token[1:].isdigit():
        bits = int(token[1:])
        if not 1 <= bits <= _MAX_INTEGER_BITS:
            raise c.error(f"{token} is no integer type: widths go from 1 to 2^23")
        c.pos = pos + 1
        return int_type(bits)
    if token in _REFUSED:
        raise c.error(f"type {token} is not supported", _REFUSED[token])
    raise c.error(f"expected a type, found {c.shown()}")


def read_first_class_type(c: Cursor) -> Type:
    """A type that a value can have."""
    start = c.pos
    type = read_type(c)
    if type is VOID or type is LABEL:
        raise c.error(f"a value cannot have type {type}", at=start)
    return type


def read_type_or_function_type(c: Cursor) -> Type:
    """A type that may be a function type, ``i32 (ptr, ...)``."""
    result = read_type(c)
    if c.tokens[c.pos] != "(":
        return result
    c.pos += 1
    params: list[Type] = []
    vararg = False
    while not c.accept(")"):
        if params:
            c.expect(",")
        if c.accept("..."):
            vararg = True
            c.expect(")")
            break
        params.append(read_first_class_type(c))
    return FunctionType(result, tuple(params), vararg)


def _read_sequence(c: Cursor) -> Type:
    """A vector, an array, or a packed struct."""
    tokens, start = c.tokens, c.pos
    key = tuple(tokens[start : start + 5])
    known = c.context.compound_types.get(key)
    if known is not None:
        c.pos = start + 5
        return known
    opening = c.take()
    if opening == "<" and c.token == "{":
        packed = _read_struct(c, packed=True)
        c.expect(">")
        return packed
    if c.token == "vscale":
        raise c.error(
            "scalable vectors are not supported", "compile for a machine with vectors of fixed length"
        )
    count = c.integer()
    c.expect("x")
    element_at = c.pos
    element = read_first_class_type(c)
    if opening == "[":
        c.expect("]")
        type: Type = ArrayType(element, count)
    else:
        if not (element.is_integer or element.is_float or element.is_pointer):
            raise c.error(f"{element} cannot be an element of a vector", at=element_at)
        if count == 0:
            raise c.error("a vector has at least one element", at=start + 1)
        c.expect(">")
        type = VectorType(element, count)
    if c.pos == start + 5:
        c.context.compound_types[key] = type
    return type


def _read_struct(c: Cursor, packed: bool, name: str | None = None) -> StructType:
    c.expect("{")
    fields: list[Type] = []
    while not c.accept("}"):
        if fields:
            c.expect(",")
        fields.append(read_first_class_type(c))
    return StructType(tuple(fields), packed, name)


def named_struct(c: Cursor, token: str, at: int) -> StructType:
    """The identified struct `token`, whose definition is read on first use."""
    context = c.context
    name = c.name_of(token)
    known = context.structs.get(name)
    if known is not None:
        return known
    definition = context.struct_positions.pop(name, None)
    if definition is None:
        raise c.error(f"type {token} is not defined, or contains itself", at=at)
    # Definitions stand in the module's text, while `c` may walk that of a metadata node.
    d = context.metadata.module_cursor
    saved, d.pos = d.pos, definition
    if d.accept("opaque"):
        type = StructType(None, False, name)
    elif d.accept("<"):
        type = _read_struct(d, packed=True, name=name)
        d.expect(">")
    else:
        type = _read_struct(d, packed=False, name=name)
    context.structs[name] = type
    d.pos = saved
    return type

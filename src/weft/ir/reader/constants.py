"""Reading constants."""

from __future__ import annotations

from typing import Any

from weft.ir.constants import (
    ConstAggregate,
    Constant,
    ConstBytes,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstMetadata,
    ConstNull,
    ConstSplat,
    ConstZero,
    InlineAsm,
    Poison,
    Undef,
    zero_of,
)
from weft.ir.float_format import parse_float
from weft.ir.lexer import unescape
from weft.ir.opcodes import OPCODES
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.types import read_first_class_type
from weft.ir.result_types import gep_type
from weft.ir.types import (
    METADATA,
    TOKEN,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)

_EXPRESSIONS = frozenset(
    ("getelementptr", "ptrtoint", "ptrtoaddr", "inttoptr", "bitcast", "addrspacecast", "trunc", "add", "sub", "xor",
     "extractelement", "insertelement")
)  # fmt: skip
_REFUSED = {
    "blockaddress": "computed gotos are not supported: use a switch",
    "dso_local_equivalent": "refer to the function itself",
    "no_cfi": "refer to the function itself",
    "ptrauth": "pointer authentication is not part of the language",
}


def read_typed_constant(c: Cursor) -> Constant:
    """``i32 7``."""
    return read_constant(c, read_first_class_type(c))


def read_constant(c: Cursor, type: Type) -> Constant:
    """A constant of a known type."""
    token = c.tokens[c.pos]
    key = (id(type), token)
    known = c.context.constants.get(key)
    if known is not None:
        c.pos += 1
        return known
    first = token[0]
    if first == "@":
        return _read_symbol(c, type)
    if first in "-0123456789us" and (number := _read_number(c, type)) is not None:
        # The cached constant keeps its type alive, so the type's id stays its own.
        if number.type is type:
            c.context.constants[key] = number
        return number
    reader = _WORDS.get(token)
    if reader is not None:
        return reader(c, type)
    if token in _EXPRESSIONS:
        return _read_expression(c, type)
    if token in OPCODES:
        raise c.error(f"{token} is no constant expression of LLVM 22", "compute it with an instruction")
    if type is METADATA:
        return ConstMetadata(METADATA, c.context.metadata.read(c))
    if first == "%":
        raise c.error("a local value cannot stand here")
    if token in _REFUSED:
        raise c.error(f"constant {token} is not supported", _REFUSED[token])
    raise c.error(f"expected a value of type {type}, found {c.shown()}")


def _read_symbol(c: Cursor, type: Type) -> Constant:
    symbol = c.context.symbols.get(c.name_of(c.token))
    if symbol is None:
        raise c.error(f"{c.token} is not defined in this module")
    if symbol.type != type:
        raise c.error(f"{c.token} has type {symbol.type}, here it is used as {type}")
    c.pos += 1
    return symbol


def _read_number(c: Cursor, type: Type) -> Constant | None:
    token = c.token
    if isinstance(type, IntType):
        value = _integer_of(token)
        if value is None:
            return None
        if not -(1 << (type.bits - 1)) <= value < 1 << type.bits:
            raise c.error(f"{token} does not fit into {type}")
        c.pos += 1
        return ConstInt(type, value)
    if not isinstance(type, FloatType):
        return None
    bits = parse_float(type.kind, token)
    if isinstance(bits, str):
        if token in _WORDS:
            return None
        raise c.error(
            bits, "write constants that are not exact by their bit pattern" if "exactly" in bits else None
        )
    c.pos += 1
    return ConstFloat(type, bits)


def _integer_of(token: str) -> int | None:
    """The value of ``12``, ``-3``, ``u0xFF`` or ``s0xFF`` (the highest given bit is the sign)."""
    if token.lstrip("-").isdigit():
        return int(token)
    if token[:3] not in ("u0x", "s0x"):
        return None
    try:
        value = int(token[3:], 16)
    except ValueError:
        return None
    sign = 1 << (4 * len(token[3:]) - 1)
    return value - 2 * sign if token[0] == "s" and value & sign else value


def _read_bool(c: Cursor, type: Type) -> Constant:
    if not (isinstance(type, IntType) and type.bits == 1):
        raise c.error(f"{c.token} is no constant of type {type}")
    return ConstInt(type, c.take() == "true")


def _read_null(c: Cursor, type: Type) -> Constant:
    if not isinstance(type, PointerType):
        raise c.error(f"null is no constant of type {type}")
    c.pos += 1
    return ConstNull(type)


def _read_none(c: Cursor, type: Type) -> Constant:
    if type is not TOKEN:
        raise c.error(f"none is no constant of type {type}")
    c.pos += 1
    return ConstZero(type)


def _read_zero(c: Cursor, type: Type) -> Constant:
    c.pos += 1
    return zero_of(type)


def _read_undef(c: Cursor, type: Type) -> Constant:
    c.pos += 1
    return Undef(type)


def _read_poison(c: Cursor, type: Type) -> Constant:
    c.pos += 1
    return Poison(type)


def _read_splat(c: Cursor, type: Type) -> Constant:
    start = c.pos
    c.pos += 1
    c.expect("(")
    element = read_typed_constant(c)
    c.expect(")")
    if not (isinstance(type, VectorType) and type.element == element.type):
        raise c.error(f"this splat is no constant of type {type}", at=start)
    return ConstSplat(type, element)


def _read_elements(c: Cursor, closing: str) -> list[Constant]:
    elements: list[Constant] = []
    while not c.accept(closing):
        if elements:
            c.expect(",")
        elements.append(read_typed_constant(c))
    return elements


def _known_numbers(c: Cursor, type: VectorType) -> Constant | None:
    """A vector of numbers that have all been read before; None where it is no such vector."""
    tokens, constants = c.tokens, c.context.constants
    word, element = str(type.element), id(type.element)
    elements: list[Constant] = []
    at = c.pos + 1
    while tokens[at] == word and (number := constants.get((element, tokens[at + 1]))) is not None:
        elements.append(number)
        at += 3
        if tokens[at - 1] != ",":
            break
    if len(elements) != type.count or tokens[at - 1] != ">":
        return None
    c.pos = at
    return ConstAggregate(type, elements)


def _read_aggregate(c: Cursor, type: Type) -> Constant:
    """``{...}``, ``<{...}>``, ``[...]`` or ``<...>``."""
    start = c.pos
    if isinstance(type, VectorType) and (known := _known_numbers(c, type)) is not None:
        return known
    opening = c.take()
    packed = opening == "<" and c.accept("{")
    elements = _read_elements(c, "}" if packed else _PARTNER[opening])
    if packed:
        c.expect(">")
    types = tuple(e.type for e in elements)
    if isinstance(type, StructType):
        fits = type.fields == types and type.packed == packed and (packed or opening == "{")
    else:
        kind = ArrayType if opening == "[" else VectorType
        fits = not packed and isinstance(type, kind) and types == (type.element,) * type.count
    if not fits:
        raise c.error(f"this constant does not have type {type}", at=start)
    return ConstAggregate(type, elements)


_PARTNER = {"{": "}", "[": "]", "<": ">"}


def _read_bytes(c: Cursor, type: Type) -> Constant:
    start = c.pos
    c.pos += 1
    data = unescape(c.string())
    if not (isinstance(type, ArrayType) and type.element == IntType(8) and type.count == len(data)):
        raise c.error(f"this string of {len(data)} bytes is no constant of type {type}", at=start)
    return ConstBytes(type, data)


def _read_asm(c: Cursor, type: Type) -> Constant:
    parts = [c.take()]
    while c.token in ("sideeffect", "alignstack", "inteldialect", "unwind"):
        parts.append(c.take())
    template = c.string()
    c.expect(",")
    return InlineAsm(type, f'{" ".join(parts)} "{template}", "{c.string()}"')


def _read_expression(c: Cursor, type: Type) -> Constant:
    start = c.pos
    opcode = OPCODES[c.take()]
    flags: list[str] = []
    while c.token in opcode.flags:
        flags.append(c.take())
    if opcode.form == "gep" and c.accept("inrange"):
        flags.append(f"inrange{c.balanced_text()}")
    attrs: dict[str, Any] = {}
    c.expect("(")
    if opcode.form == "gep":
        attrs["source_type"] = read_first_class_type(c)
        c.expect(",")
    operands = [read_typed_constant(c)]
    while c.accept(","):
        operands.append(read_typed_constant(c))
    result = type
    if opcode.form == "cast":
        c.expect("to")
        result = read_first_class_type(c)
    elif opcode.form == "gep":
        result = gep_type(operands)
    elif opcode.form in ("binary", "insertelement"):
        result = operands[0].type
    else:
        result = operands[0].type.scalar
    c.expect(")")
    if result != type:
        raise c.error(f"this constant has type {result}, here it is used as {type}", at=start)
    return ConstExpr(opcode.name, type, operands, tuple(flags), attrs)


_WORDS = {
    "true": _read_bool,
    "false": _read_bool,
    "null": _read_null,
    "none": _read_none,
    "zeroinitializer": _read_zero,
    "undef": _read_undef,
    "poison": _read_poison,
    "splat": _read_splat,
    "asm": _read_asm,
    "c": _read_bytes,
    "{": _read_aggregate,
    "[": _read_aggregate,
    "<": _read_aggregate,
}

"""Declarations of registers, variables and parameters."""

from __future__ import annotations

from weft.ptx.reader.constants import read_constant, read_integer
from weft.ptx.reader.cursor import Cursor, is_name
from weft.ptx.syntax import (
    Initializer,
    Integer,
    PointerTo,
    RegisterDeclaration,
    RegisterNames,
    Setting,
    Symbol,
    Variable,
)
from weft.ptx.types import FUNDAMENTAL, OPAQUE_TYPES

SPACES = frozenset((".global", ".const", ".shared", ".local", ".param", ".tex", ".sreg"))
_VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
_MANY = 1 << 24


def read_registers(c: Cursor) -> RegisterDeclaration:
    """Read what follows ``.reg`` and declare it."""
    line, column = c.place()
    c.expect(".reg", "")
    vector = _VECTORS.get(c.token, 0)
    if vector:
        c.at += 1
    type = read_type(c, "a register")
    declared: list[RegisterNames] = []
    while True:
        declared.append(read_names(c, "a register's name"))
        if not c.accept(","):
            break
    c.expect_end("behind the declaration")
    declaration = RegisterDeclaration(type, tuple(declared), vector, line=line, column=column)
    for part in declared:
        c.names.declare(part.name, True, part.count)
    c.operands.clear()
    return declaration


def read_names(c: Cursor, what: str) -> RegisterNames:
    """Read a name, and a number in angle brackets for a series of names."""
    name = c.identifier(what)
    if not c.accept("<"):
        return RegisterNames(name)
    begin = c.at
    # No constant expression: '>' would belong to it.
    if not c.token.isdigit():
        c.fail(f"expected how many, found {c.found()}")
    count = int(c.take())
    if count > _MANY:
        c.fail(f"{count} registers are more than any machine has", at=begin)
    c.expect(">", "behind the number of registers")
    return RegisterNames(name, count)


def read_type(c: Cursor, what: str) -> str:
    """Read the type of a variable."""
    token = c.token
    if token[:1] != "." or (token[1:] not in FUNDAMENTAL and token[1:] not in OPAQUE_TYPES):
        c.fail(f"expected the type of {what}, found {c.found()}", hint="types are .b32, .u64, .f32 and so on")
    c.at += 1
    return token[1:]


def read_variables(c: Cursor, linkage: str) -> list[Variable]:
    """Read a declaration, from the state space to the semicolon; commas make several variables."""
    line, column = c.place()
    space = read_space(c)
    variables = [_variable(c, space, linkage, line, column)]
    first = variables[0]
    while c.accept(","):
        line, column = c.place()
        named = read_names(c, "a variable's name")
        extents = _extents(c)
        variables.append(
            Variable(
                space, first.type, named.name, linkage, first.align, first.vector, extents, named.count,
                first.attributes, None, _initializer(c), line=line, column=column,
            )
        )  # fmt: skip
    c.expect_end("behind the declaration")
    return variables


def read_space(c: Cursor) -> str:
    """Read a state space, with a bank in brackets (``.const[2]``)."""
    space = c.take()[1:]
    if space == "const" and c.accept("["):
        bank = read_integer(c, "a bank")
        c.expect("]", "behind the bank")
        return f"const[{bank}]"
    return space


def read_parameters(c: Cursor) -> tuple[Variable, ...]:
    """Read formal parameters in parentheses."""
    c.expect("(", "before the parameters")
    parameters: list[Variable] = []
    if c.accept(")"):
        return ()
    while True:
        line, column = c.place()
        if c.token not in {".param", ".reg"}:
            c.fail(f"expected a parameter, which begins with '.param' or '.reg', found {c.found()}")
        space = c.take()[1:]
        parameters.append(_variable(c, space, "", line, column))
        if c.accept(")"):
            return tuple(parameters)
        c.expect(",", "between parameters")


def read_attributes(c: Cursor) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Read ``.attribute(...)`` if it comes next."""
    attributes: list[tuple[str, tuple[int, ...]]] = []
    while c.accept(".attribute"):
        c.expect("(", "behind '.attribute'")
        while True:
            name = c.take()
            if name[:1] != ".":
                c.fail("expected an attribute such as '.managed'", at=c.at - 1)
            numbers: list[int] = []
            if c.accept("("):
                numbers.append(read_integer(c, "an attribute's number"))
                while c.accept(","):
                    numbers.append(read_integer(c, "an attribute's number"))
                c.expect(")", "behind an attribute's numbers")
            attributes.append((name[1:], tuple(numbers)))
            if not c.accept(","):
                break
        c.expect(")", "behind the attributes")
    return tuple(attributes)


def _variable(c: Cursor, space: str, linkage: str, line: int, column: int) -> Variable:
    attributes = read_attributes(c)
    align, vector, type = 0, 0, ""
    pointer: PointerTo | None = None
    while c.token[:1] == ".":
        if c.token == ".align":
            c.at += 1
            align = read_integer(c, "an alignment")
        elif c.token in _VECTORS:
            vector = _VECTORS[c.take()]
        elif c.token == ".ptr":
            c.at += 1
            pointer = _pointer(c)
        elif type:
            c.fail(f"expected a name, found {c.found()}")
        else:
            type = read_type(c, "a variable")
    if not type:
        c.fail(f"expected the type of a variable, found {c.found()}")
    named = read_names(c, "a variable's name")
    extents = _extents(c)
    return Variable(
        space, type, named.name, linkage, align, vector, extents, named.count, attributes, pointer,
        _initializer(c), line=line, column=column,
    )  # fmt: skip


def _pointer(c: Cursor) -> PointerTo:
    space = c.take()[1:] if c.token in SPACES else ""
    align = 0
    if c.accept(".align"):
        align = read_integer(c, "an alignment")
    return PointerTo(space, align)


def _extents(c: Cursor) -> tuple[int | None, ...]:
    extents: list[int | None] = []
    while c.accept("["):
        extents.append(None if c.token == "]" else read_integer(c, "an array's extent"))
        c.expect("]", "behind an array's extent")
    return tuple(extents)


def _initializer(c: Cursor) -> Initializer | None:
    return _value(c) if c.accept("=") else None


def _value(c: Cursor) -> Initializer:
    if c.accept("{"):
        parts: list[Initializer] = []
        while not c.accept("}"):
            parts.append(_value(c))
            if c.token != "}":
                c.expect(",", "between the values of an initializer")
        return tuple(parts)
    if is_name(c.token):
        if c.tokens[c.at + 1] == "=":
            return _setting(c)
        return _address(c)
    constant = read_constant(c)
    if isinstance(constant, Integer) and c.accept("("):
        address = _address(c)
        c.expect(")", "behind the address that a mask is for")
        return Symbol(address.name, address.offset, address.generic, constant.value)
    return constant


def _setting(c: Cursor) -> Setting:
    name = c.take()
    c.at += 1
    if is_name(c.token):
        return Setting(name, Symbol(c.take()))
    return Setting(name, Integer(read_integer(c, "a setting")))


def _address(c: Cursor) -> Symbol:
    if c.token == "generic" and c.tokens[c.at + 1] == "(":
        c.at += 2
        inner = _address(c)
        c.expect(")", "behind the generic address")
        offset = _offset(c)
        return Symbol(inner.name, inner.offset + offset, True)
    name = c.identifier("a variable's name")
    return Symbol(name, _offset(c))


def _offset(c: Cursor) -> int:
    total = 0
    while c.token in {"+", "-"}:
        sign = 1 if c.take() == "+" else -1
        total += sign * read_integer(c, "an offset")
    return total

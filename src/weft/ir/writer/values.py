"""Writing types, constants and operands."""

from __future__ import annotations

from collections.abc import Callable

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
)
from weft.ir.float_format import format_float
from weft.ir.function import Function, GlobalAlias, GlobalValue, GlobalVariable
from weft.ir.lexer import escape
from weft.ir.metadata import Metadata
from weft.ir.types import (
    ArrayType,
    FloatType,
    FunctionType,
    StructType,
    Type,
    VectorType,
    quote_name,
)
from weft.ir.values import Value


class ValueWriter:
    """Text of types and values, with caches that hold while a module is written and does not change."""

    def __init__(self) -> None:
        self.locals: dict[Value, str] = {}
        self.structs: dict[str, StructType] = {}
        self.symbols: dict[GlobalValue, str] = {}
        self.metadata_text: Callable[[Metadata], str] = _no_metadata
        self._types: dict[int, tuple[str, Type]] = {}

    def type(self, type: Type) -> str:
        """The type's text; identified structs met on the way are noted in `structs`."""
        known = self._types.get(id(type))
        if known is None:
            # The cache keeps the type alive: its id cannot come to mean another type.
            known = self._types[id(type)] = (str(type), type)
            self._note_structs(type)
        return known[0]

    def _note_structs(self, type: Type) -> None:
        if isinstance(type, StructType):
            if type.name is not None:
                if type.name in self.structs:
                    return
                self.structs[type.name] = type
            for member in type.fields or ():
                self._note_structs(member)
        elif isinstance(type, (ArrayType, VectorType)):
            self._note_structs(type.element)
        elif isinstance(type, FunctionType):
            for part in (type.result, *type.params):
                self._note_structs(part)

    def typed(self, value: Value) -> str:
        """``i32 %x``."""
        known = self._types.get(id(value.type))
        type = known[0] if known is not None else self.type(value.type)
        return f"{type} {self.value(value)}"

    def value(self, value: Value) -> str:
        """The value without its type. What belongs to no function being written is ``<badref>``, as in LLVM."""
        if value.tracks_users:
            return self.locals.get(value) or f"<badref {value.name}>"
        return _CONSTANTS[value.__class__](self, value)  # type: ignore[arg-type]

    def symbol(self, symbol: GlobalValue) -> str:
        text = self.symbols.get(symbol)
        if text is None:
            text = self.symbols[symbol] = f"@{quote_name(symbol.name)}"
        return text

    def typed_list(self, values: list[Value] | tuple[Value, ...]) -> str:
        return ", ".join([self.typed(v) for v in values])


def _no_metadata(node: Metadata) -> str:
    return "!{}"


def _int(w: ValueWriter, c: ConstInt) -> str:
    if c.type.bits == 1:  # type: ignore[attr-defined]
        return "true" if c.value else "false"
    return str(c.signed)


def _float(w: ValueWriter, c: ConstFloat) -> str:
    assert isinstance(c.type, FloatType)
    return format_float(c.type.kind, c.bits)


def _zero(w: ValueWriter, c: ConstZero) -> str:
    return "none" if str(c.type) == "token" else "zeroinitializer"


def _aggregate(w: ValueWriter, c: ConstAggregate) -> str:
    inner = w.typed_list(c.elements)
    if isinstance(c.type, ArrayType):
        return f"[{inner}]"
    if isinstance(c.type, VectorType):
        return f"<{inner}>"
    assert isinstance(c.type, StructType)
    text = f"{{ {inner} }}" if inner else "{}"
    return f"<{text}>" if c.type.packed else text


def _expression(w: ValueWriter, c: ConstExpr) -> str:
    head = " ".join((c.op, *c.flags))
    inner = w.typed_list(c.operands)
    source = c.attrs.get("source_type")
    if source is not None:
        assert isinstance(source, Type)
        return f"{head} ({w.type(source)}, {inner})"
    if len(c.operands) == 1:
        return f"{head} ({inner} to {w.type(c.type)})"
    return f"{head} ({inner})"


def _symbol(w: ValueWriter, c: GlobalValue) -> str:
    return w.symbols.get(c) or w.symbol(c)


_CONSTANTS: dict[type, Callable[[ValueWriter, Constant], str]] = {
    ConstInt: _int,  # type: ignore[dict-item]
    ConstFloat: _float,
    ConstNull: lambda w, c: "null",
    ConstZero: _zero,
    Undef: lambda w, c: "undef",
    Poison: lambda w, c: "poison",
    ConstAggregate: _aggregate,
    ConstBytes: lambda w, c: f'c"{escape(c.data)}"',  # type: ignore[attr-defined]
    ConstSplat: lambda w, c: f"splat ({w.typed(c.element)})",  # type: ignore[attr-defined]
    ConstExpr: _expression,
    ConstMetadata: lambda w, c: w.metadata_text(c.node),  # type: ignore[attr-defined]
    InlineAsm: lambda w, c: c.text,  # type: ignore[attr-defined]
    Function: _symbol,
    GlobalVariable: _symbol,
    GlobalAlias: _symbol,
}

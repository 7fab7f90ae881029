"""Constants: immutable, compared by structure, without use lists.

Integers are kept unsigned, in ``0 .. 2**bits - 1``; floats as their bit pattern, so that NaN payloads and
signed zeros survive every round trip.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft.ir.types import FLOAT_BITS, FloatType, IntType, PointerType, Type, VectorType, int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.ir.metadata import Metadata

_NO_USERS: dict = {}


class Constant(Value):
    """Base of constants; two constants are equal when type and content are."""

    __slots__ = ()

    tracks_users = False

    def __init__(self, type: Type) -> None:
        self.type = type
        self.name = ""
        self.users = _NO_USERS
        self.records = ()

    def _key(self) -> tuple[object, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self.type == other.type and self._key() == other._key()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.type, self._key()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type} {self._key()}>"


class ConstInt(Constant):
    """An integer; `value` is unsigned, `signed` its two's complement reading."""

    __slots__ = ("value",)

    def __init__(self, type: IntType, value: int) -> None:
        super().__init__(type)
        self.value = value & ((1 << type.bits) - 1)

    @property
    def signed(self) -> int:
        bits = self.type.bits  # type: ignore[attr-defined]
        return self.value - (1 << bits) if self.value >> (bits - 1) else self.value

    def _key(self) -> tuple[object, ...]:
        return (self.value,)


class ConstFloat(Constant):
    """A float constant by its bit pattern; ``ConstFloat.of(type, x)`` rounds a Python float to it."""

    __slots__ = ("bits",)

    def __init__(self, type: FloatType, bits: int) -> None:
        super().__init__(type)
        self.bits = bits

    @classmethod
    def of(cls, type: FloatType, value: float) -> ConstFloat:
        return cls(type, float_to_bits(type.kind, value))

    @property
    def value(self) -> float:
        return bits_to_float(self.type.kind, self.bits)  # type: ignore[attr-defined]

    def _key(self) -> tuple[object, ...]:
        return (self.bits,)


class ConstNull(Constant):
    """The null pointer of an address space."""

    __slots__ = ()


class ConstZero(Constant):
    """``zeroinitializer`` of a vector, array or struct."""

    __slots__ = ()


class Undef(Constant):
    """LLVM's undef: each use may see another value. Nothing of weft makes it."""

    __slots__ = ()


class Poison(Constant):
    """Poison, which is also P-LLVM's ⊤: the value a passive thread gets under the oblivious semantics."""

    __slots__ = ()


class ConstAggregate(Constant):
    """An array, struct or vector constant, element by element."""

    __slots__ = ("elements",)

    def __init__(self, type: Type, elements: Sequence[Value]) -> None:
        super().__init__(type)
        self.elements = tuple(elements)

    def _key(self) -> tuple[object, ...]:
        return self.elements


class ConstBytes(Constant):
    """An ``[n x i8]`` constant given as a string (``c"..."``)."""

    __slots__ = ("data",)

    def __init__(self, type: Type, data: bytes) -> None:
        super().__init__(type)
        self.data = data

    def _key(self) -> tuple[object, ...]:
        return (self.data,)


class ConstSplat(Constant):
    """``splat (T c)``: a vector with the same constant in each element."""

    __slots__ = ("element",)

    def __init__(self, type: VectorType, element: Value) -> None:
        super().__init__(type)
        self.element = element

    def _key(self) -> tuple[object, ...]:
        return (self.element,)


class ConstExpr(Constant):
    """A constant expression: an opcode of the table over constants (``getelementptr``, casts, ``add``, ...)."""

    __slots__ = ("attrs", "flags", "op", "operands")

    def __init__(
        self,
        op: str,
        type: Type,
        operands: Sequence[Value],
        flags: tuple[str, ...] = (),
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(type)
        self.op = op
        self.operands = tuple(operands)
        self.flags = flags
        self.attrs: dict[str, Any] = dict(attrs or {})

    @property
    def source_type(self) -> Type:
        """The type that the indices of a ``getelementptr`` step through."""
        return self.attrs["source_type"]

    def _key(self) -> tuple[object, ...]:
        return (self.op, self.operands, self.flags, tuple(sorted((k, str(v)) for k, v in self.attrs.items())))


class InlineAsm(Constant):
    """The callee of an inline assembly call, kept as its text: ``asm FLAGS "template", "constraints"``."""

    __slots__ = ("text",)

    def __init__(self, type: Type, text: str) -> None:
        super().__init__(type)
        self.text = text

    def _key(self) -> tuple[object, ...]:
        return (self.text,)


class ConstMetadata(Constant):
    """Metadata as an argument of a call (``metadata !"round.tonearest"``), compared by identity of the node."""

    __slots__ = ("node",)

    def __init__(self, type: Type, node: Metadata) -> None:
        super().__init__(type)
        self.node = node

    def _key(self) -> tuple[object, ...]:
        return (self.node,)


_STRUCT_CODE = {"half": ("<e", "<H"), "float": ("<f", "<I"), "double": ("<d", "<Q")}


def float_to_bits(kind: str, value: float) -> int:
    """The bit pattern of `value` rounded to nearest even in float format `kind` (overflow gives infinity)."""
    if kind == "bfloat":
        bits = float_to_bits("float", value)
        if value != value:
            return (bits >> 16) | 0x40
        return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    code, integer = _STRUCT_CODE[kind]
    try:
        raw = struct.pack(code, value)
    except OverflowError:
        raw = struct.pack(code, float("inf") if value > 0 else float("-inf"))
    return struct.unpack(integer, raw)[0]


def bits_to_float(kind: str, bits: int) -> float:
    """The value of bit pattern `bits` in float format `kind`."""
    if kind == "bfloat":
        return bits_to_float("float", bits << 16)
    code, integer = _STRUCT_CODE[kind]
    return struct.unpack(code, struct.pack(integer, bits))[0]


def is_zero(value: Value) -> bool:
    """Whether a value is the constant 0 of an integer type."""
    return isinstance(value, ConstInt) and value.value == 0


def zero_of(type: Type) -> Constant:
    """The all-zero constant of any first-class type."""
    if isinstance(type, IntType):
        return ConstInt(type, 0)
    if isinstance(type, FloatType):
        return ConstFloat(type, 0)
    if isinstance(type, PointerType):
        return ConstNull(type)
    return ConstZero(type)


TRUE = ConstInt(int_type(1), 1)
FALSE = ConstInt(int_type(1), 0)

assert set(_STRUCT_CODE) | {"bfloat"} == set(FLOAT_BITS)

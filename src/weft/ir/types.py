"""Types of P-LLVM: those of LLVM IR that data-parallel kernels use.

Types are immutable and compare by structure. ``str(type)`` is LLVM's own spelling. The common ones are
module constants (``I1``, ``I64``, ``F32``, ``PTR``, ...); ``int_type`` and ``pointer`` build the rest.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct


class Type(Struct, frozen=True):
    """Base of all types; the predicates below are meant for reading conditions aloud."""

    @property
    def is_integer(self) -> bool:
        return isinstance(self, IntType)

    @property
    def is_float(self) -> bool:
        return isinstance(self, FloatType)

    @property
    def is_pointer(self) -> bool:
        return isinstance(self, PointerType)

    @property
    def is_vector(self) -> bool:
        return isinstance(self, VectorType)

    @property
    def is_aggregate(self) -> bool:
        return isinstance(self, (ArrayType, StructType))

    @property
    def is_void(self) -> bool:
        return isinstance(self, VoidType)

    @property
    def scalar(self) -> Type:
        """The element type of a vector, else the type itself."""
        return self.element if isinstance(self, VectorType) else self


class VoidType(Type, frozen=True):
    """The result of what has none."""

    def __str__(self) -> str:
        return "void"


class LabelType(Type, frozen=True):
    """The type of blocks."""

    def __str__(self) -> str:
        return "label"


class MetadataType(Type, frozen=True):
    """The type of metadata as an argument of a call."""

    def __str__(self) -> str:
        return "metadata"


class TokenType(Type, frozen=True):
    """A value that only names the instruction that made it."""

    def __str__(self) -> str:
        return "token"


class IntType(Type, frozen=True):
    """An integer of `bits` bits; the sign is in the operations."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


class FloatType(Type, frozen=True):
    """One of ``half``, ``bfloat``, ``float``, ``double``."""

    kind: str

    @property
    def bits(self) -> int:
        return FLOAT_BITS[self.kind]

    def __str__(self) -> str:
        return self.kind


class PointerType(Type, frozen=True):
    """An opaque pointer into address space `space`."""

    space: int = 0

    def __str__(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


class VectorType(Type, frozen=True):
    """`count` elements of an integer, float or pointer type."""

    element: Type
    count: int

    def __str__(self) -> str:
        return f"<{self.count} x {self.element}>"


class ArrayType(Type, frozen=True):
    """`count` elements of any type, one behind the other in memory."""

    element: Type
    count: int

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


class StructType(Type, frozen=True):
    """A literal struct, or an identified one when `name` is set; `fields` is None for an opaque one."""

    fields: tuple[Type, ...] | None
    packed: bool = False
    name: str | None = None

    @property
    def body(self) -> str:
        """The struct's layout, spelled out even when the struct has a name."""
        if self.fields is None:
            return "opaque"
        inner = "{ " + ", ".join(map(str, self.fields)) + " }" if self.fields else "{}"
        return f"<{inner}>" if self.packed else inner

    def __str__(self) -> str:
        return f"%{quote_name(self.name)}" if self.name is not None else self.body


class FunctionType(Type, frozen=True):
    """What a function takes and returns."""

    result: Type
    params: tuple[Type, ...]
    vararg: bool = False

    def __str__(self) -> str:
        params = [str(p) for p in self.params] + (["..."] if self.vararg else [])
        return f"{self.result} ({', '.join(params)})"


_PLAIN_NAME = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*|[0-9]+")


def quote_name(name: str) -> str:
    """`name` as it may follow ``%`` or ``@`` in LLVM text, quoted and escaped when it has to be."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    raw = name.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in raw) + '"'


@cache
def int_type(bits: int) -> IntType:
    """The integer type of `bits` bits, one object per width."""
    return IntType(bits)


@cache
def pointer(space: int = 0) -> PointerType:
    """The pointer type of an address space, one object per space."""
    return PointerType(space)


VOID = VoidType()
LABEL = LabelType()
METADATA = MetadataType()
TOKEN = TokenType()
I1, I8, I16, I32, I64 = (int_type(b) for b in (1, 8, 16, 32, 64))
F16, BF16, F32, F64 = (FloatType(k) for k in ("half", "bfloat", "float", "double"))
PTR = pointer()

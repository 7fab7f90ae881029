"""Types, dtypes and code objects as bytes: equal bytes only for what means the same, in every process.

Compiled code is kept under these bytes, and text for people would not do: it leaves out what a reader does not want to
know, such as the offsets of a record's fields. Every part goes in with its length, so that no two lists of parts run
together.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from weft.frontend.python.types import (
    Array,
    Callee,
    Enumeration,
    KernelType,
    NoneType,
    Record,
    Scalar,
    Signature,
    Text,
    Tiled,
    Tuple,
)

if TYPE_CHECKING:
    from types import CodeType

    import numpy as np

TYPES_VERSION = b"types 1"
"""To be changed with the encoding, and with what a type means to compiled code."""


def framed(tag: bytes, *parts: bytes | str | int) -> bytes:
    """Return a list of parts as bytes that no other list, and none under another one-byte tag, has."""
    pieces = [tag, b"%d:" % len(parts)]
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        pieces += (b"%d:" % len(data), data)
    return b"".join(pieces)


def encode_types(types: tuple[KernelType, ...]) -> bytes:
    """Return the canonical bytes of argument types."""
    return framed(b"T", TYPES_VERSION, *map(encode_type, types))


def encode_type(type: KernelType) -> bytes:
    """Return the canonical bytes of a type that an argument can have."""
    if isinstance(type, Scalar):
        return framed(b"s", type.name)
    if isinstance(type, Array):
        shape = b"" if type.shape is None else framed(b"x", *type.shape)
        flags = f"{type.layout}{type.readonly:d}{type.aligned:d}"
        return framed(b"a", encode_type(type.dtype), type.ndim, flags, type.space, shape)
    if isinstance(type, Tiled):
        return framed(
            b"l", encode_type(type.dtype), framed(b"x", *type.block, *type.origin), int(type.readonly)
        )
    if isinstance(type, Tuple):
        return framed(b"t", encode_named_tuple(type.cls), *map(encode_type, type.items))
    if isinstance(type, Text):
        return framed(b"w", type.numpy_dtype.str, type.align)
    if isinstance(type, Record):
        return framed(b"r", encode_dtype(type.numpy_dtype), type.align)
    if isinstance(type, NoneType):
        return b"n"
    if isinstance(type, Callee) and type.digest is not None:
        return framed(b"f", type.digest)
    if isinstance(type, Enumeration):
        return framed(b"e", type.cls.__module__, type.cls.__qualname__, *(m.name for m in type.members))
    raise TypeError(f"{type} is no type of arguments")


def encode_signature(signature: Signature) -> bytes:
    """Return the canonical bytes of a declared signature."""
    result = b"" if signature.result is None else encode_type(signature.result)
    return framed(b"S", result, *map(encode_type, signature.args))


def encode_named_tuple(cls: type | None) -> bytes:
    """Return what compiled code knows of the class of a tuple; nothing for a plain one."""
    if cls is None:
        return b""
    return framed(b"N", cls.__module__, cls.__qualname__, *getattr(cls, "_fields", ()))


def encode_dtype(dtype: np.dtype[Any]) -> bytes:
    """Return the canonical bytes of a dtype.

    NumPy's equality is not enough: structures that differ in their alignment are equal.
    """
    kind = f"{dtype.type.__module__}.{dtype.type.__qualname__}"
    if dtype.subdtype is not None:
        return framed(b"u", encode_dtype(dtype.base), framed(b"x", *dtype.shape))
    fields: Any = dtype.fields
    if fields is None:
        return framed(b"d", kind, dtype.str, dtype.alignment)
    members: list[bytes] = []
    for name in dtype.names or ():
        member, offset, *title = fields[name]
        members.append(framed(b"f", name, offset, encode_dtype(member), *map(repr, title)))
    layout = (dtype.itemsize, dtype.alignment, int(dtype.isalignedstruct))
    return framed(b"v", kind, *layout, *members)


def encode_number(value: complex) -> bytes:
    """Return the canonical bytes of a Python number: which zero and which NaN it is included."""
    if isinstance(value, bool):
        return framed(b"B", int(value))
    if isinstance(value, int):
        return framed(b"I", f"{value:x}")
    if isinstance(value, float):
        return framed(b"F", struct.pack("<d", value))
    return framed(b"C", struct.pack("<dd", value.real, value.imag))


def encode_code(code: CodeType, columns: bool = True) -> bytes | None:
    """Return the canonical bytes of a code object and those inside it, without their files and outer names.

    None when a constant in it is of a kind that no compiler of Python makes. Without `columns`, it only counts which
    lines instructions are from.
    """
    constants = [encode_constant(constant, columns) for constant in code.co_consts]
    if None in constants:
        return None
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_firstlineno)
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    return framed(
        b"c",
        code.co_name,
        *counts,
        *(framed(b"x", *group) for group in names),
        code.co_code,
        code.co_linetable if columns else repr(list(code.co_lines())),
        code.co_exceptiontable,
        *(constant for constant in constants if constant is not None),
    )


def encode_constant(value: Any, columns: bool = True) -> bytes | None:
    """Return the canonical bytes of a constant of a code object; None for a value of any other kind."""
    kind = type(value)
    if kind in (bool, int, float, complex):
        return encode_number(value)
    if kind is str:
        return framed(b"U", value)
    if kind is bytes:
        return framed(b"Y", value)
    if value is None or value is Ellipsis:
        return framed(b"L", repr(value))
    if kind is slice:
        # A constant since Python 3.14.
        bounds = encode_constant((value.start, value.stop, value.step), columns)
        return None if bounds is None else framed(b"R", bounds)
    if kind is tuple or kind is frozenset:
        items = [encode_constant(item, columns) for item in value]
        known = [item for item in items if item is not None]
        if len(known) < len(items):
            return None
        return framed(b"P", *known) if kind is tuple else framed(b"Z", *sorted(known))
    return encode_code(value, columns) if hasattr(value, "co_code") else None

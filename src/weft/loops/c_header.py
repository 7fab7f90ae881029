"""A SIMD function's declaration in C, with vector types of GCC and clang."""

from __future__ import annotations

import re

from weft.ir import Function
from weft.ir.types import FloatType, IntType, PointerType, Type, VectorType

_FLOATS = {"float": ("float", 4), "double": ("double", 8), "half": ("_Float16", 2), "bfloat": ("__bf16", 2)}


def c_declaration(function: Function) -> str | None:
    """The declaration, with the vector types it needs; None where a type of it has no name in C."""
    types = [function.fn_type.result, *function.fn_type.params]
    names = [_name(type) for type in types]
    vectors = {type: name for type, name in zip(types, names, strict=True) if isinstance(type, VectorType)}
    lines = ["#include <stdint.h>", ""]
    for type, name in vectors.items():
        element = _scalar(type.element)
        if name is None or element is None:
            return None
        lines.append(f"typedef {element[0]} {name} __attribute__((vector_size({element[1] * type.count})));")
    if any(name is None for name in names):
        return None
    parameters = ", ".join(
        f"{name} {_identifier(a.name)}".rstrip() for name, a in zip(names[1:], function.args, strict=True)
    )
    return "\n".join([*lines, f"{names[0]} {function.name}({parameters or 'void'});", ""])


def _identifier(name: str) -> str:
    """A parameter's name as C can have it; none where LLVM has but a number for it."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    return "" if text[:1].isdigit() else text


def _name(type: Type) -> str | None:
    if type.is_void:
        return "void"
    if isinstance(type, VectorType):
        element = _scalar(type.element)
        return None if element is None else f"{element[0].replace(' ', '_').strip('_*')}_x{type.count}"
    scalar = _scalar(type)
    return None if scalar is None else scalar[0]


def _scalar(type: Type) -> tuple[str, int] | None:
    """A type's name in C, and its size in bytes."""
    if isinstance(type, FloatType):
        return _FLOATS.get(str(type))
    if isinstance(type, PointerType):
        return ("void *", 8)
    if isinstance(type, IntType) and type.bits in (8, 16, 32, 64):
        return (f"int{type.bits}_t", type.bits // 8)
    return None

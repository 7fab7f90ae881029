"""Accesses to arrays of structures as LLVM text, for the kernels of `codegen.kernels`."""

from __future__ import annotations

from collections.abc import Sequence


def member(base: str, fields: int, field: int, name: str, type: str = "i32", index: str = "%tid") -> str:
    """``%name`` is the address of a field of ``base[index]``, a structure of so many fields of one type."""
    return f"  %{name} = getelementptr [{fields} x {type}], ptr {base}, i64 {index}, i64 {field}\n"


def loads(fields: int, which: Sequence[int], type: str = "i32", index: str = "%tid") -> str:
    """``%v0``, ``%v1``, ...: fields of ``in[index]``."""
    return "".join(
        member("%in", fields, f, f"i{k}", type, index) + f"  %v{k} = load {type}, ptr %i{k}\n"
        for k, f in enumerate(which)
    )


def stores(
    fields: int, which: Sequence[int], values: Sequence[str], type: str = "i32", index: str = "%tid"
) -> str:
    """Store values to fields of ``out[index]``."""
    return "".join(
        member("%out", fields, f, f"o{k}", type, index) + f"  store {type} {v}, ptr %o{k}\n"
        for k, (f, v) in enumerate(zip(which, values, strict=True))
    )


def mixed(count: int, type: str = "i32") -> str:
    """``%m``: a value that depends on each of ``%v0``, ``%v1``, ... and on which is which."""
    text = f"  %m0 = add {type} %v0, 1\n"
    for k in range(1, count):
        text += f"  %x{k} = mul {type} %m{k - 1}, 5\n  %m{k} = add {type} %x{k}, %v{k}\n"
    return text + f"  %m = add {type} %m{count - 1}, 0\n"

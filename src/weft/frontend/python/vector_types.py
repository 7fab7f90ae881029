"""CUDA's vector types, ``cuda.float32x4`` and others, as named tuples of numbers with the fields x, y, z and w."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from weft.frontend.python.types import Scalar, scalar_named

_ALIASES = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar", "uint16": "ushort",
    "uint32": "uint", "uint64": "ulong", "float32": "float", "float64": "double",
}  # fmt: skip


def _made() -> dict[str, tuple[Any, Scalar]]:
    made: dict[str, tuple[Any, Scalar]] = {}
    for element, alias in _ALIASES.items():
        for count in (1, 2, 3, 4):
            name = f"{element}x{count}"
            cls = namedtuple(name, list("xyzw"[:count]))
            names = (name, f"{alias}{count}")
            entry = cls, scalar_named(element)
            made.update(dict.fromkeys(names, entry))
            if element in ("int64", "uint64"):
                made[f"{'u' if element[0] == 'u' else ''}longlong{count}"] = entry
    return made


VECTOR_TYPES = _made()
"""By name and alias: the named tuple, and the type of its items."""

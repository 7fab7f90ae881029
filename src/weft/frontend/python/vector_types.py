"""CUDA's vector types, ``cuda.float32x4`` and others, as named tuples of numbers with the fields x, y, z and w."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

_ALIASES = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar", "uint16": "ushort",
    "uint32": "uint", "uint64": "ulong", "float32": "float", "float64": "double",
}  # fmt: skip


def _named() -> dict[str, tuple[str, int]]:
    named: dict[str, tuple[str, int]] = {}
    for element, alias in _ALIASES.items():
        for count in (1, 2, 3, 4):
            names = [f"{element}x{count}", f"{alias}{count}"]
            if element in ("int64", "uint64"):
                names.append(f"{'u' if element[0] == 'u' else ''}longlong{count}")
            named.update(dict.fromkeys(names, (element, count)))
    return named


VECTOR_TYPES = _named()
"""By name and alias: the name of the type of its items, and how many there are."""


@functools.cache
def vector_class(element: str, count: int) -> Any:
    """The named tuple that is this type; made when it is first asked for, as few programs use any."""
    return namedtuple(f"{element}x{count}", list("xyzw"[:count]))

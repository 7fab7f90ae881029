"""Results of compiled functions: read from 8-byte slots, as Python values."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

from weft.diag.errors import UnsupportedError
from weft.frontend.python.types import KernelType, NoneType, Scalar, Tuple

Description = list[Any]
"""A type of results as JSON: ``["none"]``, ``["scalar", kind, bits]`` or ``["tuple", [...]]``."""

_FORMATS = {"f2": "e", "f4": "f", "f8": "d"}


def describe_result(type: KernelType) -> Description:
    """The description of a type, to be kept with compiled code.

    Raises
    ------
    UnsupportedError
        A function cannot return it.
    """
    if isinstance(type, NoneType):
        return ["none"]
    if isinstance(type, Scalar):
        return ["scalar", type.kind, type.bits]
    if isinstance(type, Tuple):
        return ["tuple", [describe_result(item) for item in type.items]]
    raise UnsupportedError(
        f"a compiled function cannot return {type}",
        hint="return numbers and tuples; write arrays that are passed",
    )


def slots_of(description: Description) -> int:
    """How many slots a result takes."""
    match description[0]:
        case "none":
            return 0
        case "scalar":
            return 2 if description[1] == "c" else 1
        case _:
            return sum(map(slots_of, description[1]))


def result_reader(description: Description) -> Callable[[Any], Any]:
    """A function of a result's memory that gives its value: int, float, complex, bool, None, or a tuple of such."""
    return _reader(description, iter(range(0, 8 * slots_of(description), 8)))


def _reader(description: Description, offsets: Iterator[int]) -> Callable[[Any], Any]:
    if description[0] == "none":
        return lambda memory: None
    if description[0] == "tuple":
        items = [_reader(item, offsets) for item in description[1]]
        return lambda memory: tuple(item(memory) for item in items)
    _, kind, bits = description
    if kind == "c":
        real, imaginary = (_number("f", bits // 2, next(offsets)) for _ in range(2))
        return lambda memory: complex(real(memory), imaginary(memory))
    return _number(kind, bits, next(offsets))


def _number(kind: str, bits: int, offset: int) -> Callable[[Any], Any]:
    size = max(1, bits // 8)
    if kind == "f":
        code = _FORMATS[f"f{size}"]
    else:
        code = {1: "b", 2: "h", 4: "i", 8: "q"}[size]
        code = "?" if kind == "b" else code.upper() if kind == "u" else code
    unpack = struct.Struct(f"={code}").unpack_from
    return lambda memory: unpack(memory, offset)[0]


def result_memory(description: Description) -> Any:
    """Memory for a result's slots."""
    return (ctypes.c_int64 * max(1, slots_of(description)))()

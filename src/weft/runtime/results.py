"""Results of compiled functions: read from 8-byte slots, as Python values.

An array comes as its components (`weft.frontend.python.components`). It is the argument itself where it leads to the
same elements, a view of an argument where it leads into one, and else an array of memory that the function has
allocated. Behind the slots of a function that allocates is the frame that it leaves to (`weft.ir.heap`).
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from weft.diag.errors import ArrayShapeError, OutOfMemoryError, UnsupportedError, WeftError
from weft.diag.source import SourceSpan
from weft.frontend.python.types import (
    Array,
    Enumeration,
    KernelType,
    NoneType,
    Scalar,
    Tiled,
    Time,
    Tuple,
    bfloat16,
)
from weft.runtime.array_memory import byte_bounds, data_pointer
from weft.runtime.heap import Block, array_at, blocks_of
from weft.tiled_arrays import TiledArray

Description = list[Any]
"""A type of results as JSON: ``["none"]``, ``["scalar", kind, bits]``, ``["tuple", [...], named tuple or None]``,
``["enum", class]``, ``["time", dtype]``, ``["array", dtype, dimensions, contiguous, readonly, shape or None]`` or
``["tiled", dtype, block]``."""

Reader = Callable[[Any, Sequence[Any], Sequence[Block]], Any]
"""From a result's memory, the arguments, and the blocks that were handed over, to its value."""

_FORMATS = {"f2": "e", "f4": "f", "f8": "d"}
_ERRORS: dict[str, type[WeftError]] = {"shape": ArrayShapeError, "memory": OutOfMemoryError}


def describe_result(type: KernelType) -> Description:
    """The description of a type, to be kept with compiled code.

    Raises
    ------
    UnsupportedError
        A function cannot return it.
    """
    if isinstance(type, NoneType):
        return ["none"]
    if isinstance(type, Time):
        return ["time", type.name]
    if isinstance(type, Scalar):
        return ["scalar", type.kind, 32 if type is bfloat16 else type.bits]
    if isinstance(type, Enumeration):
        return ["enum", _placed(type.cls, "the enumeration")]
    if isinstance(type, Tuple):
        return ["tuple", [describe_result(item) for item in type.items], _named(type.cls)]
    if isinstance(type, Array) and type.space == 0 and (type.shape is None or type.readonly):
        dtype = text_of_dtype(type.dtype.dtype)
        return ["array", dtype, type.ndim, type.layout == "C", type.readonly, type.shape]
    if isinstance(type, Tiled):
        return ["tiled", text_of_dtype(type.dtype.dtype), list(type.block)]
    raise UnsupportedError(
        f"a compiled function cannot return {type}",
        hint="return numbers, arrays made by np.empty() and the like, and tuples of these",
    )


def text_of_dtype(dtype: np.dtype[Any]) -> str:
    """A type of elements as text, by which another process finds it."""
    return repr(_descr(dtype))


def _descr(dtype: np.dtype[Any]) -> Any:
    """As NumPy's files have it, but bfloat16 by its name: to NumPy it is two bytes of anything."""
    if dtype.name == "bfloat16":
        return dtype.name
    found = np.lib.format.dtype_to_descr(dtype)
    fields: Any = dtype.fields
    if fields is None or not isinstance(found, list):
        return found
    return [
        (name, _descr(fields[name][0].base), *shape) if name in fields else (name, kind, *shape)
        for name, kind, *shape in found
    ]


def dtype_of_text(text: str) -> np.dtype[Any]:
    """The type of elements of `text_of_dtype`."""
    if "bfloat16" in text:
        # NumPy knows the name when the package is imported.
        _ = bfloat16.dtype
    return np.lib.format.descr_to_dtype(ast.literal_eval(text))


def slots_of(description: Description) -> int:
    """How many slots a result takes."""
    match description[0]:
        case "none":
            return 0
        case "enum" | "time":
            return 1
        case "scalar":
            return 2 if description[1] == "c" else 1
        case "array":
            _, _, ndim, contiguous, _, shape = description
            return 1 + (ndim if shape is None else 0) + (0 if contiguous else ndim)
        case "tiled":
            return 1 + len(description[2])
        case _:
            return sum(map(slots_of, description[1]))


def dtype_of_result(description: Description) -> np.dtype[Any]:
    """The type of the elements of a result that is an array."""
    return dtype_of_text(description[1])


def result_reader(description: Description) -> Reader:
    """What gives a result's value: int, float, complex, bool, None, an array, or a tuple of such."""
    return _reader(description, iter(range(0, 8 * slots_of(description), 8)))


def _reader(description: Description, offsets: Iterator[int]) -> Reader:
    if description[0] == "none":
        return lambda memory, args, blocks: None
    if description[0] == "tuple":
        items = [_reader(item, offsets) for item in description[1]]
        make = tuple if description[2] is None else _found(description[2])._make
        return lambda memory, args, blocks: make([item(memory, args, blocks) for item in items])
    if description[0] == "enum":
        members, place = tuple(_found(description[1])), _number("i", 64, next(offsets))
        return lambda memory, args, blocks: members[place(memory)]
    if description[0] == "time":
        dtype, count = np.dtype(description[1]), _number("i", 64, next(offsets))
        return lambda memory, args, blocks: np.int64(count(memory)).view(dtype)
    if description[0] == "array":
        return _array_reader(description, offsets)
    if description[0] == "tiled":
        return _tiled_reader(description, offsets)
    _, kind, bits = description
    if kind == "c":
        real, imaginary = (_number("f", bits // 2, next(offsets)) for _ in range(2))
        return lambda memory, args, blocks: complex(real(memory), imaginary(memory))
    number = _number(kind, bits, next(offsets))
    return lambda memory, args, blocks: number(memory)


def _named(cls: type | None) -> list[str] | None:
    """Where the class of a named tuple is found again."""
    return None if cls is None else _placed(cls, "the named tuple")


def _placed(cls: type, what: str) -> list[str]:
    """Where a class is found again."""
    place = [cls.__module__, cls.__qualname__]
    if _found(place) is not cls:
        raise UnsupportedError(
            f"a compiled function cannot return {what} {cls.__qualname__}",
            hint="define its class at the top of a module, or return plain numbers",
        )
    return place


def _found(place: list[str]) -> Any:
    found: Any = sys.modules.get(place[0])
    for name in place[1].split("."):
        found = getattr(found, name, None)
    return found


def _number(kind: str, bits: int, offset: int) -> Callable[[Any], Any]:
    size = max(1, bits // 8)
    if kind == "f":
        code = _FORMATS[f"f{size}"]
    else:
        code = {1: "b", 2: "h", 4: "i", 8: "q"}[size]
        code = "?" if kind == "b" else code.upper() if kind == "u" else code
    unpack = struct.Struct(f"={code}").unpack_from
    return lambda memory: unpack(memory, offset)[0]


def _array_reader(description: Description, offsets: Iterator[int]) -> Reader:
    _, _, ndim, contiguous, readonly, known = description
    dtype = dtype_of_result(description)
    count = slots_of(description)
    first, *_ = [next(offsets) for _ in range(count)]
    unpack = struct.Struct(f"=Q{count - 1}q").unpack_from

    def read(memory: Any, args: Sequence[Any], blocks: Sequence[Block]) -> Any:
        address, *rest = unpack(memory, first)
        shape = tuple(rest[:ndim] if known is None else known)
        strides = _strides(shape, dtype.itemsize) if contiguous else tuple(rest[-ndim:])
        return _find_array(address, dtype, shape, strides, readonly, args, blocks)

    return read


def _tiled_reader(description: Description, offsets: Iterator[int]) -> Reader:
    """An array in blocks is one of the arguments: functions make none, and have no views of them."""
    block = tuple(description[2])
    count = slots_of(description)
    first, *_ = [next(offsets) for _ in range(count)]
    unpack = struct.Struct(f"=Q{count - 1}q").unpack_from

    def read(memory: Any, args: Sequence[Any], blocks: Sequence[Block]) -> Any:
        address, *shape = unpack(memory, first)
        for array in _flat(args):
            same = isinstance(array, TiledArray) and (array.block, array.shape) == (block, tuple(shape))
            if same and data_pointer(array.memory) == address:
                return array
        raise AssertionError("an array in blocks that is no argument")

    return read


def _strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= extent
    return tuple(strides)


def _find_array(
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    readonly: bool,
    args: Sequence[Any],
    blocks: Sequence[Block],
) -> np.ndarray[Any, Any]:
    arrays = [a for a in _flat(args) if isinstance(a, np.ndarray)]
    for array in arrays:
        same = data_pointer(array) == address and array.dtype == dtype and array.shape == shape
        # Strides along dimensions of one element or none mean nothing.
        if same and (array.strides == strides or array.size <= 1 or array.flags.c_contiguous):
            return array
    if 0 in shape:
        return np.empty(shape, dtype)
    for block in blocks:
        if block.begin <= address < block.end:
            return array_at(block, address, dtype, shape, strides, readonly)
    for array in arrays:
        low, high = byte_bounds(array)
        if low <= address < high:
            return array_at(array, address, dtype, shape, strides, readonly or not array.flags.writeable)
    if not readonly:
        raise UnsupportedError(
            "a compiled function cannot return an array from its stack", hint="make it with np.empty()"
        )
    # What is left is an array from outside the function, of which its code has a copy.
    found = np.array(array_at(None, address, dtype, shape, strides, readonly))
    found.flags.writeable = False
    return found


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def result_memory(description: Description) -> Any:
    """The type of memory for a result's slots and, behind them, a frame."""
    return ctypes.c_int64 * (slots_of(description) + 2)


def handed_over(head: int, error: int, errors: Sequence[Sequence[Any]]) -> list[Block]:
    """The blocks in the frame of a call.

    Parameters
    ----------
    head, error
        The frame's words: its first block, and the number of an error or 0.
    errors
        Kind, message, file, line and column of each error, from number 1.

    Raises
    ------
    ArrayShapeError, OutOfMemoryError, Exception
        The function has told an error, or raised one; the class is named as ``ValueError`` or ``module:Class``.
    """
    blocks = list(blocks_of(head))
    if error:
        kind, message, *place = errors[error - 1]
        span = SourceSpan(*place)
        if kind in _ERRORS:
            raise _ERRORS[kind](message, span)
        cls = _found(kind.split(":")) if ":" in kind else getattr(builtins, kind)
        raised = cls(*filter(None, [message]))
        raised.add_note(f"raised at {span}")
        raise raised
    return blocks

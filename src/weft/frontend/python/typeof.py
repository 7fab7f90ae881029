"""Kernel types of Python and NumPy values and of NumPy dtypes.

`typeof` is called for each argument of each launch: the common kinds take one dictionary look-up.
"""

from __future__ import annotations

import enum
import sys
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from weft.diag.errors import ArgumentError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.encoding import encode_dtype
from weft.frontend.python.types import (
    STRONG,
    Array,
    Callee,
    Enumeration,
    Field,
    KernelType,
    Record,
    Scalar,
    Text,
    array_type,
    bfloat16,
    boolean,
    none,
    pycomplex,
    pyfloat,
    pyint,
    text_type,
    tiled_type,
    time_named,
    tuple_type,
)
from weft.tiled_arrays import TiledArray

_SCALARS: dict[type, KernelType] = {
    int: pyint,
    float: pyfloat,
    bool: boolean,
    complex: pycomplex,
    type(None): none,
    **{type.dtype.type: type for type in STRONG},
}
_BY_DTYPE = {type.dtype: type for type in STRONG}


def typeof(value: Any) -> KernelType:
    """Return the kernel type of an argument.

    Raises
    ------
    ArgumentError
        The value is of no kind that a kernel can take.
    """
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        return scalar
    if isinstance(value, np.ndarray):
        flags, dtype = value.flags, value.dtype
        make = _array if dtype.fields is None else _array_of
        return make(dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned)
    return _other(value)


def _array_of(dtype: np.dtype[Any], ndim: int, contiguous: bool, writeable: bool, aligned: bool) -> Array:
    element = from_dtype(dtype)
    if not aligned and isinstance(element, Record):
        element = text_type(dtype, 1) if isinstance(element, Text) else record_type(dtype, 1)
    return array_type(element, ndim, "C" if contiguous else "A", not writeable, aligned)


_array = cache(_array_of)
"""For arrays of numbers only: structures that are equal to NumPy may be of different types here."""


def _other(value: Any) -> KernelType:
    if isinstance(value, tuple):
        items = tuple(typeof(item) for item in value)
        return tuple_type(items, type(value) if hasattr(value, "_fields") else None)
    if isinstance(value, TiledArray):
        return tiled_type(
            from_dtype(value.dtype), value.block, value.origin, not value.memory.flags.writeable
        )
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return text_of(value)
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    if isinstance(value, enum.Enum) and not isinstance(value, (int, float)):
        return Enumeration(type(value))
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return _SCALARS[kind]
    if is_callee(value):
        return callee_type(value)
    if isinstance(value, (list, dict, set)):
        hint = "pass a NumPy array, or a tuple when the length is fixed"
        raise ArgumentError(f"a kernel cannot take a {type(value).__name__}", hint=hint)
    raise ArgumentError(
        f"a kernel cannot take a value of type {type(value).__qualname__}",
        hint="pass numbers, NumPy arrays and scalars, functions, texts, and tuples of these",
    )


def text_of(value: str) -> Callee:
    """Return the type of a text as an argument: one for all that are equal."""
    found = _texts.get(value)
    if found is None:
        # Interned, as those that are written in programs are, which machine code tells apart by where they lie.
        text = sys.intern(str(value))
        found = _texts.setdefault(text, Callee(text, repr(text)))
    return found


def is_callee(value: Any) -> bool:
    """Whether an argument is a function, or converts numbers to a type of NumPy's."""
    if isinstance(value, (FunctionType, np.ufunc, type(np.sum), CudaName)):
        return True
    if isinstance(value, BuiltinFunctionType):
        return isinstance(value.__self__, ModuleType)
    if isinstance(value, type):
        return issubclass(value, np.generic)
    return isinstance(getattr(value, "py_func", None), FunctionType)


_texts: dict[str, Callee] = {}
_callees: dict[str, Callee] = {}
_callee_of: WeakKeyDictionary[Any, Callee] = WeakKeyDictionary()
_callee_of_lasting: dict[int, Callee] = {}
"""By identity, of objects that have no weak references; each is kept by its type."""


def callee_type(value: Any) -> Callee:
    """Return the type of a function as an argument: one for all functions that mean the same to compiled code."""
    found = _callee_of_lasting.get(id(value))
    if found is not None:
        return found
    try:
        found = _callee_of.get(value)
    except TypeError:
        made = _callee_of_lasting[id(value)] = Callee(value, _digest(value))
        return made
    if found is None:
        digest = _digest(value)
        made = Callee(value, digest)
        found = made if digest is None else _callees.setdefault(digest, made)
        _callee_of[value] = found
    return found


def _digest(value: Any) -> str | None:
    from weft.frontend.python.fingerprint import fingerprint

    return fingerprint(value)


def from_dtype(dtype: Any) -> Scalar | Record:
    """Return the kernel type of an element of `dtype`, a dtype or a class of NumPy's scalars.

    Raises
    ------
    ArgumentError
        Kernels have no such type: objects, long double, or bytes in foreign order.
    """
    if not isinstance(dtype, np.dtype):
        dtype = np.dtype(dtype)
    scalar = _BY_DTYPE.get(dtype)
    if scalar is not None and dtype.isnative:
        return scalar
    if dtype.fields is not None:
        return record_type(dtype, dtype.alignment)
    if not dtype.isnative:
        raise ArgumentError(
            f"dtype {dtype} has its bytes in foreign order",
            hint="convert the array with a.astype(a.dtype.newbyteorder('='))",
        )
    if dtype.kind in "Mm":
        return time_named(dtype.name)
    if dtype.name == "bfloat16":
        return bfloat16
    if dtype.kind in "SU" and dtype.itemsize:
        return text_type(dtype)
    raise ArgumentError(
        f"dtype {dtype} is not supported in kernels",
        hint="supported are bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16, complex64, complex128, "
        "datetime64, timedelta64, text of fixed length (S, U), and structures of these",
    )


_records: dict[tuple[bytes, int], Record] = {}
_known: dict[tuple[int, int], tuple[np.dtype[Any], tuple[str, ...] | None, Record]] = {}
"""By the identity of a dtype, which is kept with it: to encode one takes longer than a launch may."""


def record_type(dtype: np.dtype[Any], limit: int) -> Record:
    """Return the record type of a structured dtype whose bytes lie at multiples of `limit` only."""
    known = _known.get((id(dtype), limit))
    if known is not None and known[0] is dtype and known[1] is dtype.names:
        return known[2]
    align = min(dtype.alignment, limit)
    if dtype.type is np.record:
        # Whose fields are attributes on the host; the same memory, and to kernels the same type.
        return record_type(np.dtype((np.void, dtype)), limit)
    key = encode_dtype(dtype), align
    made = _records.get(key)
    if made is None:
        made = _records.setdefault(key, _record(dtype, align))
    if len(_known) >= 1024:
        _known.clear()
    _known[id(dtype), limit] = dtype, dtype.names, made
    return made


def _record(dtype: np.dtype[Any], align: int) -> Record:
    fields_of: Any = dtype.fields or {}
    fields: dict[str, Field] = {}
    for name in dtype.names or ():
        member, offset = fields_of[name][:2]
        base = member.base
        type, place = from_dtype(base), lowest_bit(offset | align)
        if isinstance(type, Record):
            type = text_type(base, place) if isinstance(type, Text) else record_type(base, place)
        fields[name] = Field(type, offset, member.shape)
    return Record(dtype, fields, align)


def lowest_bit(value: int) -> int:
    """The greatest power of two that divides `value`."""
    return value & -value

"""Kernel types of Python and NumPy values and of NumPy dtypes.

`typeof` is called for each argument of each launch: the common kinds take one dictionary look-up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from weft.diag.errors import ArgumentError
from weft.frontend.python.types import (
    STRONG,
    Array,
    Field,
    KernelType,
    Record,
    Scalar,
    array_type,
    boolean,
    none,
    pycomplex,
    pyfloat,
    pyint,
    tuple_type,
)

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
        flags = value.flags
        return _array(value.dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned)
    return _other(value)


@cache
def _array(dtype: np.dtype[Any], ndim: int, contiguous: bool, writeable: bool, aligned: bool) -> Array:
    element = from_dtype(dtype)
    if isinstance(element, Record) and not aligned:
        element = _record(dtype, 1)
    return array_type(element, ndim, "C" if contiguous else "A", not writeable, aligned)


def _other(value: Any) -> KernelType:
    if isinstance(value, tuple):
        items = tuple(typeof(item) for item in value)
        return tuple_type(items, type(value) if hasattr(value, "_fields") else None)
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return _SCALARS[kind]
    if isinstance(value, (list, dict, set)):
        hint = "pass a NumPy array, or a tuple when the length is fixed"
        raise ArgumentError(f"a kernel cannot take a {type(value).__name__}", hint=hint)
    raise ArgumentError(
        f"a kernel cannot take a value of type {type(value).__qualname__}",
        hint="pass numbers, NumPy arrays and scalars, and tuples of these",
    )


@cache
def from_dtype(dtype: np.dtype[Any]) -> Scalar | Record:
    """Return the kernel type of an element of `dtype`.

    Raises
    ------
    ArgumentError
        Kernels have no such type: text, dates, objects, long double, or bytes in foreign order.
    """
    scalar = _BY_DTYPE.get(dtype)
    if scalar is not None and dtype.isnative:
        return scalar
    if dtype.fields is not None:
        return _record(dtype, dtype.alignment)
    if not dtype.isnative:
        raise ArgumentError(
            f"dtype {dtype} has its bytes in foreign order",
            hint="convert the array with a.astype(a.dtype.newbyteorder('='))",
        )
    raise ArgumentError(
        f"dtype {dtype} is not supported in kernels",
        hint="supported are bool, int8 to int64, uint8 to uint64, float16 to float64, complex64, complex128 "
        "and structures of these",
    )


def _record(dtype: np.dtype[Any], limit: int) -> Record:
    """The record type of a dtype whose bytes lie at multiples of `limit` only."""
    fields_of: Any = dtype.fields or {}
    align = min(dtype.alignment, limit)
    fields: dict[str, Field] = {}
    for name in dtype.names or ():
        member, offset = fields_of[name][:2]
        base = member.base
        type = from_dtype(base) if base.fields is None else _record(base, lowest_bit(offset | align))
        fields[name] = Field(type, offset, member.shape)
    return Record(dtype, fields, align)


def lowest_bit(value: int) -> int:
    """The greatest power of two that divides `value`."""
    return value & -value

"""Attributes: of arrays, numbers, tuples and records, and of modules and other compile-time objects."""

from __future__ import annotations

import ast
import enum
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.cuda_names import CudaName, cuda_name_of
from weft.frontend.python.lowering.arrays.array_parts import data_of, extents_of, multiply, strides_of
from weft.frontend.python.lowering.arrays.elementwise import Lazy
from weft.frontend.python.lowering.arrays.fused import size_of
from weft.frontend.python.lowering.arrays.points import Points
from weft.frontend.python.lowering.arrays.records import record_field
from weft.frontend.python.lowering.arrays.reductions import DIRECT
from weft.frontend.python.lowering.arrays.reshaped import count_of, field_of_all, flat, part, product_of
from weft.frontend.python.lowering.arrays.tiled import tiled_extents
from weft.frontend.python.lowering.arrays.ufuncs import method_of
from weft.frontend.python.lowering.arrays.views import permuted
from weft.frontend.python.lowering.calls.enumerations import enum_attribute
from weft.frontend.python.lowering.calls.registry import METHODS
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of, literal, static
from weft.frontend.python.lowering.context import expression
from weft.frontend.python.lowering.globals_ import named, value_of
from weft.frontend.python.lowering.numbers.casts import constant
from weft.frontend.python.lowering.numbers.complexes import pair
from weft.frontend.python.types import (
    Array,
    Computed,
    KernelType,
    Record,
    Scalar,
    Static,
    Tiled,
    Tuple,
    boolean,
    pyint,
    uint64,
)
from weft.frontend.python.typing_rules import real_type
from weft.frontend.python.wording import described
from weft.ir.builder import address_space, const_int
from weft.ir.constants import ConstInt
from weft.ir.types import I64, PTR
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Method:
    """A method of a run-time value, waiting for its call."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Typed, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Address:
    """``array.ctypes``, of which ``data`` is the address of the first element."""

    __slots__ = ("array",)

    __name__ = "ctypes"

    def __init__(self, array: Typed) -> None:
        self.array = array


@expression(ast.Attribute)
def _lower_attribute(low: Lowering, node: ast.Attribute) -> Typed:
    value = low.operand(node.value)
    if not (isinstance(value, Lazy) and node.attr in DIRECT):
        value = value.settled(low)
    low.at(node)
    type = value.type
    known = enum_attribute(low, value, node.attr)
    if known is not None:
        return known
    if isinstance(type, Static):
        return static_attribute(low, type.value, node.attr)
    if isinstance(type, Array):
        return array_attribute(low, value, node.attr)
    if isinstance(type, Tiled):
        return _tiled_attribute(low, value, type, node.attr)
    if isinstance(type, Scalar):
        return number_attribute(low, value, node.attr)
    if isinstance(type, Computed) and node.attr == "size":
        return size_of(value)
    if isinstance(type, Tuple) and node.attr in type.fields:
        return items_of(value)[type.fields.index(node.attr)]
    if isinstance(type, Record):
        return record_field(low, value, node.attr)
    raise TypingError(f"{type} has no attribute '{node.attr}'")


def static_attribute(low: Lowering, owner: Any, name: str) -> Typed:
    """An attribute of a module, class, dtype, or name of `cuda`."""
    if isinstance(owner, Address) and name == "data":
        return _address(low, owner.array)
    cuda_name = cuda_name_of(owner)
    if cuda_name is not None:
        child = CudaName.child(cuda_name, name)
        if child is None:
            raise TypingError(f"{cuda_name} has no '{name}'")
        return named(low, child)
    ufunc_method = method_of(owner, name) if isinstance(owner, np.ufunc) else None
    if ufunc_method is not None:
        return static(ufunc_method)
    if not isinstance(owner, (ModuleType, type, enum.EnumMeta, np.dtype, np.finfo, np.iinfo, KernelType)):
        raise UnsupportedError(
            f"attribute '{name}' of {described(owner)} is not known at compile time",
            hint="use a module-level constant, or pass the value as an argument",
        )
    try:
        return value_of(low, getattr(owner, name))
    except AttributeError:
        raise TypingError(f"{getattr(owner, '__name__', owner)} has no '{name}'") from None


def sizes(values: list[Value]) -> TupleValue:
    """Extents or strides as a tuple of ints."""
    return TupleValue(tuple(size(v) for v in values))


def size(value: Value) -> Typed:
    """An extent, a literal when it is known."""
    return literal(value.signed) if isinstance(value, ConstInt) else Typed(pyint, (value,), low=0)


def array_attribute(low: Lowering, value: Typed, name: str) -> Typed:
    """An attribute of an array."""
    type = value.type
    assert isinstance(type, Array)
    if name == "shape":
        return sizes(extents_of(low, value))
    if name == "size":
        return size(count_of(low, value))
    if name == "ndim":
        return literal(type.ndim)
    if name == "dtype":
        return static(type.dtype.dtype)
    if name == "itemsize":
        return literal(type.dtype.size)
    if name == "nbytes":
        return size(multiply(low, count_of(low, value), const_int(type.dtype.size), ("nuw", "nsw")))
    if name == "strides":
        return TupleValue(
            tuple(
                literal(v.signed) if isinstance(v, ConstInt) else Typed(pyint, (v,))
                for v in strides_of(low, value)
            )
        )
    if name == "T":
        return permuted(low, value)
    if isinstance(type.dtype, Record) and name in type.dtype.fields:
        return field_of_all(low, value, name)
    if name in ("real", "imag"):
        return part(low, value, name)
    if name == "flat":
        return (
            static(Points(extents_of(low, value), value, False)) if type.layout != "C" else flat(low, value)
        )
    if name == "ctypes":
        return static(Address(value))
    if name in METHODS:
        return static(Method(value, name))
    hint = "write a loop over the elements" if hasattr(np.ndarray, name) else None
    raise UnsupportedError(f"arrays have no '{name}' in kernels", hint=hint)


def _address(low: Lowering, array: Typed) -> Typed:
    """The address of the first element as a number."""
    pointer = data_of(array)
    if address_space(pointer):
        pointer = low.builder.cast("addrspacecast", pointer, PTR)
    return Typed(uint64, (low.builder.cast("ptrtoint", pointer, I64),), low=0)


def _tiled_attribute(low: Lowering, value: Typed, type: Tiled, name: str) -> Typed:
    extents = tiled_extents(value)
    if name == "shape":
        return sizes(extents)
    if name == "size":
        return size(product_of(low, extents))
    if name == "ndim":
        return literal(type.ndim)
    if name == "block":
        return TupleValue(tuple(map(literal, type.block)))
    if name == "origin":
        return TupleValue(tuple(map(literal, type.origin)))
    if name == "dtype":
        return static(type.dtype.dtype)
    if name == "itemsize":
        return literal(type.dtype.size)
    if name == "nbytes":
        return size(multiply(low, product_of(low, extents), const_int(type.dtype.size), ("nuw", "nsw")))
    raise UnsupportedError(
        f"arrays in blocks have no '{name}' in kernels",
        hint="loop over their elements, or convert them before with to_array()",
    )


def number_attribute(low: Lowering, value: Typed, name: str) -> Typed:
    """An attribute of a number."""
    type = value.type
    if not isinstance(type, Scalar):
        raise TypingError(f"a number is needed here, not {type}")
    if name == "dtype" and not type.weak:
        return static(type.dtype)
    if name in ("real", "imag"):
        if value.is_literal:
            return literal(getattr(value.literal, name))
        part = real_type(type)
        if type.kind == "c":
            return Typed(part, (pair(low, value, type)[name == "imag"],))
        if name == "real":
            return value
        zero = pyint if type is boolean else type
        return Typed(zero, (constant(0, zero),), low=0)
    if name in ("conjugate", "item", "bit_count"):
        return static(Method(value, name))
    hint = f"convert with np.{name}" if name == "astype" else None
    if name == "astype":
        hint = "write np.float32(x), np.int32(x), ..."
    raise TypingError(f"{type} has no attribute '{name}'", hint=hint)

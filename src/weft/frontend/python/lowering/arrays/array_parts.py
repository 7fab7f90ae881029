"""The parts of an array value: data pointer, extents, byte strides; and new array values from such parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.frontend.python.components import memory_scalar
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import Array, Record, Scalar, boolean
from weft.frontend.python.typing_rules import real_type
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.types import I8, ArrayType, Type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_NO_WRAP = ("nuw", "nsw")


def array_type_of(value: Typed) -> Array:
    """The type of a value that is an array."""
    assert isinstance(value.type, Array)
    return value.type


def is_row_of_truths(value: Typed) -> bool:
    """Whether a value is an array of truth values side by side in memory, which may be looked at eight at a time."""
    type = value.type
    return isinstance(type, Array) and type.dtype is boolean and type.layout == "C" and type.shape is None


def element_type(dtype: Scalar | Record) -> Type:
    """The IR type of an element in memory, by which addresses count."""
    if isinstance(dtype, Record):
        return ArrayType(I8, dtype.size)
    if dtype.kind == "c":
        return ArrayType(memory_scalar(real_type(dtype)), 2)
    return memory_scalar(dtype)


def has_unknown_extent(type: Array) -> bool:
    """Whether the array is dynamic shared memory, whose size the launch tells."""
    return type.shape is not None and -1 in type.shape


def data_of(value: Typed) -> Value:
    """The pointer to the first element."""
    return value.parts[0]


def extents_of(low: Lowering, value: Typed) -> list[Value]:
    """The extents as i64."""
    type = array_type_of(value)
    if type.shape is None:
        return list(value.parts[1 : 1 + type.ndim])
    if has_unknown_extent(type):
        size = low.builder.call(low.unit.intrinsic("weft.shared.dynamic.size"), ())
        return [low.builder.binary("udiv", size, const_int(type.dtype.size))]
    return [const_int(n) for n in type.shape]


def strides_of(low: Lowering, value: Typed) -> list[Value]:
    """The byte strides as i64; those of a C-contiguous array are computed from its extents."""
    type = array_type_of(value)
    if type.layout != "C":
        return list(value.parts[-type.ndim :]) if type.ndim else []
    strides: list[Value] = []
    step: Value = const_int(type.dtype.size)
    for dim in range(type.ndim - 1, -1, -1):
        strides.insert(0, step)
        if dim:
            step = multiply(low, step, extents_of(low, value)[dim], _NO_WRAP)
    return strides


def multiply(low: Lowering, a: Value, b: Value, flags: tuple[str, ...]) -> Value:
    """The product, folded when both are constants."""
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        return const_int(a.signed * b.signed)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ConstInt) and one.value == 1:
            return other
    return low.builder.binary("mul", a, b, flags)


def add(low: Lowering, a: Value, b: Value, flags: tuple[str, ...]) -> Value:
    """The sum, folded when both are constants."""
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        return const_int(a.signed + b.signed)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ConstInt) and one.value == 0:
            return other
    return low.builder.binary("add", a, b, flags)


def make_array(type: Array, data: Value, extents: Sequence[Value], strides: Sequence[Value]) -> Typed:
    """An array value; extents and strides are left out where the type says them."""
    parts = [data]
    if type.shape is None:
        parts += extents
    if type.layout != "C":
        parts += strides
    return Typed(type, tuple(parts))

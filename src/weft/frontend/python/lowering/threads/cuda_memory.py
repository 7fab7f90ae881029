"""Arrays that a kernel makes: per thread, shared by the work-group, and constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from weft.diag.errors import SignatureError, TypingError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.arrays.array_parts import element_type
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of
from weft.frontend.python.lowering.checks import note
from weft.frontend.python.signatures import as_type
from weft.frontend.python.types import Array, NoneType, Record, Scalar, Static, Tuple, array_type
from weft.ir.builder import const_int
from weft.ir.intrinsics import SHARED_SPACE, lifetime_start
from weft.ir.types import I32, ArrayType

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

MAX_LOCAL_BYTES = 1 << 19
"""CUDA's limit of what a thread has; the stack of a worker has to hold it for each lane."""

MAX_SHARED_BYTES = (1 << 31) - 1
"""Much more than CUDA has, and little enough for sizes to be 32-bit."""

MAX_ALIGN = 512
"""The most that an array may be aligned to, in bytes: the greatest lane group's vectors of 8 bytes."""

_ALIGN = 64
"""Alignment of shared and local arrays: a cache line, so that vectors of any width may be loaded."""


class UnknownShape(TypingError):
    """A shape depends on a parameter; a call that gives a literal there is compiled for that number."""


def _shape(value: Typed, name: str) -> tuple[int, ...]:
    items = items_of(value) if isinstance(value.type, Tuple) else (value,)
    shape = []
    for item in items:
        size = item.low if item.int_literal is None and _is_constant_int(item) else item.int_literal
        if size is None:
            raise UnknownShape(
                f"the shape of {name}() must be known at compile time",
                hint="write a literal, or a constant of the module or of an enclosing function",
            )
        if size < 0:
            raise TypingError(f"the shape of {name}() has the negative extent {size}")
        shape.append(size)
    return tuple(shape)


def _is_constant_int(value: Typed) -> bool:
    """Whether a value is a NumPy integer from outside: its bound is its value."""
    from weft.ir.constants import ConstInt

    return len(value.parts) == 1 and isinstance(value.parts[0], ConstInt) and isinstance(value.type, Scalar)


def dtype_of(value: Typed, name: str) -> Scalar | Record:
    """The type that the argument `dtype` of the function `name` stands for."""
    try:
        found = as_type(value.type.value) if isinstance(value.type, Static) else None
    except SignatureError as error:
        raise TypingError(error.message) from None
    if not isinstance(found, (Scalar, Record)):
        raise TypingError(f"the dtype of {name}() must be a type, such as np.float32 or weft.types.float32")
    return found


def _arguments(args: Arguments) -> tuple[tuple[int, ...], Scalar | Record, int | None]:
    """Shape, element type and alignment of an array."""
    shape, dtype, *rest = args.bind("shape", "dtype", "alignment", optional=1)
    return (
        _shape(shape, args.name),
        dtype_of(dtype, args.name),
        _alignment(rest[0], args.name) if rest else None,
    )


def _alignment(value: Typed, name: str) -> int | None:
    """The alignment asked for, in bytes."""
    if isinstance(value.type, NoneType):
        return None
    bytes_ = value.int_literal
    if bytes_ is None:
        raise TypingError(
            f"alignment must be a constant integer: that of {name}() is {value.type}",
            hint="write a literal, or a constant of the module",
        )
    if not 0 < bytes_ <= MAX_ALIGN or bytes_ & (bytes_ - 1):
        raise TypingError(
            f"alignment must be a power of two: {name}() is to have {bytes_}",
            hint=f"it may be 1, 2, 4, ... {MAX_ALIGN}",
        )
    return bytes_


def _bytes(shape: tuple[int, ...], dtype: Scalar | Record, name: str, limit: int) -> int:
    size = dtype.size * math.prod(shape)
    if size > limit:
        raise TypingError(
            f"{name}() of {size} bytes", hint=f"it may have {limit}; pass an array as an argument"
        )
    return size


@call(CudaName("local.array"))
def _local_array(low: Lowering, args: Arguments) -> Typed:
    """One object per call in the source, as the frame of a C function would hold it; in a loop each time a new one."""
    shape, dtype, align = _arguments(args)
    count = _bytes(shape, dtype, args.name, MAX_LOCAL_BYTES) // dtype.size
    slot = low.alloca(ArrayType(element_type(dtype), count), "local", align=max(16, align or 0))
    note(low, "weft.in.memory", slot)
    if low.loops:
        low.builder.call(lifetime_start(low.unit.module), (slot,))
    return Typed(array_type(dtype, len(shape), "C", shape=shape), (slot,))


@call(CudaName("shared.array"))
def _shared_array(low: Lowering, args: Arguments) -> Typed:
    """A static shared array, or with shape 0 the dynamic shared memory of the launch."""
    shape, dtype, align = _arguments(args)
    if shape == (0,):
        low.unit.features.add("dynamic_shared")
        pointer = low.builder.call(low.unit.intrinsic("weft.shared.dynamic"), ())
        return Typed(_shared_type(dtype, (-1,)), (pointer,))
    size = _bytes(shape, dtype, args.name, MAX_SHARED_BYTES)
    number = low.unit.shared_index(args.key, size, max(_ALIGN, align or 0))
    pointer = low.builder.call(low.unit.intrinsic("weft.shared"), (const_int(number, I32),))
    return Typed(_shared_type(dtype, shape), (pointer,))


def _shared_type(dtype: Scalar | Record, shape: tuple[int, ...]) -> Array:
    return array_type(dtype, len(shape), "C", space=SHARED_SPACE, shape=shape)


@call(CudaName("const.array_like"))
def _const_array_like(low: Lowering, args: Arguments) -> Typed:
    """An array from outside is a constant already."""
    (value,) = args.bind("array")
    if not (isinstance(value.type, Array) and value.type.readonly and value.type.shape is not None):
        raise TypingError(
            f"cuda.const.array_like() takes a NumPy array from outside the kernel, not {value.type}",
            hint="use a module-level array, or one of an enclosing function",
        )
    return value

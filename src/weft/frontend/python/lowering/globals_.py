"""Values from outside the function: what a global or closure name, or an attribute of a module, means."""

from __future__ import annotations

import enum
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import ArgumentError, TypingError, UnsupportedError
from weft.frontend.python.components import ir_scalar
from weft.frontend.python.cuda_names import cuda_name_of
from weft.frontend.python.lowering.calls.enumerations import Member
from weft.frontend.python.lowering.calls.registry import ATTRIBUTES
from weft.frontend.python.lowering.calls.typed import NONE, TupleValue, Typed, literal, static
from weft.frontend.python.lowering.numbers import times
from weft.frontend.python.typeof import from_dtype
from weft.frontend.python.types import Scalar, Time, array_type
from weft.frontend.python.typing_rules import real_type
from weft.ir.builder import const_float, const_int
from weft.ir.types import PTR, FloatType
from weft.tiled_arrays import TiledArray

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

MISSING = object()


def captured(function: FunctionType, name: str) -> Any:
    """The object that a non-local name of a function refers to now, or `MISSING`."""
    names = function.__code__.co_freevars
    if name in names and function.__closure__ is not None:
        try:
            return function.__closure__[names.index(name)].cell_contents
        except ValueError:
            return MISSING
    return function.__globals__.get(name, MISSING)


def value_of(low: Lowering, value: Any) -> Typed:
    """An object from outside as a value: numbers, tuples and arrays are constants, the rest is compile-time."""
    if value is None:
        return NONE
    if isinstance(value, (np.str_, np.bytes_)):
        return static(value.item())
    if isinstance(value, np.generic):
        return numpy_constant(low, value)
    if isinstance(value, enum.Enum):
        return Member(value)
    if isinstance(value, (bool, int, float, complex)):
        return literal(value)
    if hasattr(type(value), "__cuda_array_interface__"):
        return captured_array(low, value)
    if isinstance(value, np.ndarray):
        return constant_array(low, value)
    if isinstance(value, tuple):
        cls = type(value) if hasattr(value, "_fields") else None
        return TupleValue(tuple(value_of(low, item) for item in value), cls)
    if isinstance(value, TiledArray):
        raise UnsupportedError(
            "an array in blocks from outside the kernel cannot be used in it", hint="pass it as an argument"
        )
    if isinstance(value, (list, dict, set)):
        raise UnsupportedError(
            f"a {type(value).__name__} from outside the kernel cannot be used in it",
            hint="make it a tuple or a NumPy array",
        )
    return named(low, value)


def named(low: Lowering, value: Any) -> Typed:
    """A compile-time object; a name of `cuda` that is a value, such as ``laneid``, is read."""
    name = cuda_name_of(value)
    handler = ATTRIBUTES.get(name.path) if name is not None else None
    return handler(low) if handler is not None else static(name if name is not None else value)


def numpy_constant(low: Lowering, value: np.generic) -> Typed:
    """A NumPy scalar: a constant with a type of its own."""
    type = from_dtype(value.dtype)
    if not isinstance(type, Scalar):
        raise UnsupportedError("a record from outside the kernel cannot be used in it", hint="pass it in")
    if isinstance(type, Time):
        return times.constant(value, type)
    if type.kind == "b":
        return literal(bool(value))
    if type.is_integer:
        return Typed(type, (const_int(int(value), ir_scalar(type)),), low=int(value))
    part = ir_scalar(real_type(type))
    assert isinstance(part, FloatType)
    if type.kind == "c":
        whole = complex(value)
        return Typed(type, (const_float(whole.real, part), const_float(whole.imag, part)))
    return Typed(type, (const_float(float(value), part),))


def constant_array(low: Lowering, array: np.ndarray[Any, Any]) -> Typed:
    """A NumPy array from outside: its present content, read-only."""
    try:
        dtype = from_dtype(array.dtype)
    except ArgumentError as error:
        raise TypingError(error.message, hint=error.hint) from None
    type = array_type(dtype, array.ndim, "C", readonly=True, shape=tuple(array.shape))
    return Typed(type, (low.unit.constant_array(array),))


def captured_array(low: Lowering, value: Any) -> Typed:
    """A device array from outside: its memory, with what it holds whenever the kernel runs.

    Raises
    ------
    UnsupportedError
        What is compiled is no kernel for this machine, or the array is another library's.
    """
    array = value if isinstance(value, np.ndarray) else getattr(value, "array", None)
    if not isinstance(array, np.ndarray) or low.unit.options.gpu or not low.stack[0].is_kernel:
        raise UnsupportedError(
            "a device array from outside can be used in kernels for this machine only",
            hint="pass it as an argument",
        )
    low.unit.captured.append(array)
    flags = array.flags
    type = array_type(
        from_dtype(array.dtype),
        array.ndim,
        "C" if flags.c_contiguous else "A",
        not flags.writeable,
        flags.aligned,
    )
    address = low.builder.cast("inttoptr", const_int(array.ctypes.data), PTR)
    strides = () if flags.c_contiguous else array.strides
    return Typed(type, (address, *map(const_int, (*array.shape, *strides))))

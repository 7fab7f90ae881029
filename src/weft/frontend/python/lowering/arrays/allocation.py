"""NumPy's functions that make arrays: memory of the function's frame (`weft.ir.heap`), in C order."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError, UnsupportedError
from weft.diag.source import SourceSpan
from weft.frontend.python import device_measures
from weft.frontend.python.lowering.arrays.array_parts import (
    array_type_of,
    element_type,
    extents_of,
    make_array,
)
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.heap import NO_POINTER, error_code
from weft.frontend.python.lowering.arrays.memory import store_element
from weft.frontend.python.lowering.arrays.whole_arrays import copy, fill, number
from weft.frontend.python.lowering.attributes import size
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal
from weft.frontend.python.lowering.numbers.casts import cast, to_int64
from weft.frontend.python.lowering.ranges import range_length
from weft.frontend.python.lowering.threads.cuda_memory import MAX_LOCAL_BYTES, dtype_of
from weft.frontend.python.types import (
    Array,
    NoneType,
    Record,
    Scalar,
    Tuple,
    array_type,
    complex128,
    float16,
    float32,
    float64,
    int64,
    pycomplex,
    pyfloat,
    pyint,
)
from weft.frontend.python.typing_rules import promote
from weft.ir import heap
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.types import ArrayType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

SMALL = 4096
"""Bytes of an array that is filled in place."""

_STRONG: dict[object, Scalar] = {pyint: int64, pyfloat: float64, pycomplex: complex128}
"""What NumPy makes of Python's types."""


@call(np.empty, np.ndarray)
def _empty(low: Lowering, args: Arguments) -> Typed:
    given = _named(args, "shape", "dtype", "order")
    return allocate(low, args, extents(low, given["shape"]), _dtype(given, args.name))


@call(np.zeros)
def _zeros(low: Lowering, args: Arguments) -> Typed:
    given = _named(args, "shape", "dtype", "order")
    return _zeroed(low, args, extents(low, given["shape"]), _dtype(given, args.name))


@call(np.ones)
def _ones(low: Lowering, args: Arguments) -> Typed:
    given = _named(args, "shape", "dtype", "order")
    made = allocate(low, args, extents(low, given["shape"]), _dtype(given, args.name))
    return _filled(low, made, literal(1))


@call(np.full)
def _full(low: Lowering, args: Arguments) -> Typed:
    given = _named(args, "shape", "fill_value", "dtype", "order")
    value = given["fill_value"]
    default = _STRONG.get(value.type, value.type)
    if not isinstance(default, Scalar):
        raise TypingError(f"an array cannot be filled with {value.type}")
    dtype = _dtype(given, args.name, default)
    return _filled(low, allocate(low, args, extents(low, given["shape"]), dtype), value)


@call(np.empty_like)
def _empty_like(low: Lowering, args: Arguments) -> Typed:
    return _like(low, args, _named(args, "prototype", "dtype", "order"))


@call(np.zeros_like)
def _zeros_like(low: Lowering, args: Arguments) -> Typed:
    given = _named(args, "a", "dtype", "order")
    array = given["a"]
    return _zeroed(
        low, args, _extents_like(low, args, array), _dtype(given, args.name, array_type_of(array).dtype)
    )


@call(np.ones_like)
def _ones_like(low: Lowering, args: Arguments) -> Typed:
    return _filled(low, _like(low, args, _named(args, "a", "dtype", "order")), literal(1))


@call(np.full_like)
def _full_like(low: Lowering, args: Arguments) -> Typed:
    given = _named(args, "a", "fill_value", "dtype", "order")
    return _filled(low, _like(low, args, given), given["fill_value"])


def _like(low: Lowering, args: Arguments, given: dict[str, Typed]) -> Typed:
    array = next(iter(given.values()))
    extents = _extents_like(low, args, array)
    return allocate(low, args, extents, _dtype(given, args.name, array_type_of(array).dtype))


def _extents_like(low: Lowering, args: Arguments, array: Typed) -> list[Typed]:
    if not isinstance(array.type, Array):
        raise TypingError(f"{args.name}() takes an array, not {array.type}", hint="give a shape and a dtype")
    return [size(extent) for extent in extents_of(low, array)]


def _zeroed(low: Lowering, args: Arguments, shape: list[Typed], dtype: Scalar | Record) -> Typed:
    """A large array by the system's means, of which there are fast ones; a small one may come to lie on the stack."""
    known = [extent.int_literal for extent in shape]
    small = math.prod(n for n in known if n is not None) * dtype.size <= SMALL if None not in known else False
    if isinstance(dtype, Scalar) and small:
        return _filled(low, allocate(low, args, shape, dtype), literal(0))
    return allocate(low, args, shape, dtype, zeroed=True)


def _named(args: Arguments, *names: str) -> dict[str, Typed]:
    """The arguments by the names of their parameters; arrays come in C order only."""
    if len(args.values) > len(names):
        raise TypingError(f"{args.name}() takes at most {len(names)} arguments here ({', '.join(names)})")
    given = dict(zip(names, args.values, strict=False)) | args.keywords
    unknown = [name for name in given if name not in names]
    if unknown:
        raise UnsupportedError(f"{args.name}() takes no argument '{unknown[0]}' here")
    for name in names:
        if name not in given and name not in ("dtype", "order"):
            raise TypingError(f"{args.name}() needs the argument '{name}'")
    order = given.pop("order", None)
    if order is not None and order.static not in ("C", "K", "A"):
        raise UnsupportedError(f"{args.name}() makes arrays in C order only", hint='leave out order="F"')
    return given


def _dtype(given: dict[str, Typed], name: str, default: Scalar | Record = float64) -> Scalar | Record:
    return dtype_or(given.get("dtype"), name, default)


def dtype_or(value: Typed | None, name: str, default: Scalar | Record = float64) -> Scalar | Record:
    """The type that the argument `dtype` of a function stands for, or what it is by default."""
    if value is None or isinstance(value.type, NoneType):
        return default
    found = dtype_of(value, name)
    return _STRONG.get(found, found)


def extent(value: Value) -> Typed:
    """The extent of an array as a number."""
    return Typed(pyint, (value,), low=0)


def extents(low: Lowering, shape: Typed) -> list[Typed]:
    """The extents that an argument ``shape`` stands for, a number or a tuple."""
    items = items_of(shape) if isinstance(shape.type, Tuple) else (shape,)
    for item in items:
        if item.int_literal is not None and item.int_literal < 0:
            raise TypingError(f"an array cannot have the extent {item.int_literal}")
    return [
        item
        if item.least is not None and item.least >= 0
        else Typed(pyint, (to_int64(low, item, "an extent"),))
        for item in items
    ]


def allocate(
    low: Lowering, args: Arguments, shape: list[Typed], dtype: Scalar | Record, zeroed: bool = False
) -> Typed:
    """An array of new memory; an error at run time when an extent is negative, or there is no memory."""
    frame = low.frame.use(low)
    extents = [to_int64(low, extent, "an extent") for extent in shape]
    place = low.builder.loc
    assert place is not None
    at = SourceSpan(low.source.file, place.line, place.column)
    negative: Value | None = None
    for extent, item in zip(extents, shape, strict=True):
        if item.least is None:
            below = low.builder.icmp("slt", extent, const_int(0))
            negative = below if negative is None else low.builder.binary("or", negative, below)
    if negative is not None:
        message = f"{args.name}() of a negative extent"
        low.frame.fail_if(low, negative, error_code(low, "shape", message, at))
    total: Value = const_int(dtype.size)
    for extent in extents:
        total = _bytes(low, total, extent)
    call = heap.declare(low.unit.module, "allocate")
    data = low.builder.call(call, (frame, total, const_int(int(zeroed))))
    code = error_code(low, "memory", f"there is no memory for this array of {dtype}", at)
    low.frame.fail_if(low, low.builder.icmp("eq", data, NO_POINTER), code)
    return make_array(array_type(dtype, len(extents), "C"), data, extents, ())


def _bytes(low: Lowering, total: Value, extent: Value) -> Value:
    if isinstance(total, ConstInt) and isinstance(extent, ConstInt):
        return const_int(min(total.signed * extent.signed, (1 << 63) - 1))
    return low.builder.call(heap.declare(low.unit.module, "bytes"), (total, extent))


def _filled(low: Lowering, array: Typed, value: Typed) -> Typed:
    fill(low, array, value)
    return array


@call(np.copy)
def _copy(low: Lowering, args: Arguments) -> Typed:
    return copied(low, args, *args.bind("a"))


def copied(low: Lowering, args: Arguments, array: Typed) -> Typed:
    """A new array with the elements of another one; in a kernel of known extents, in the memory of the thread."""
    type = array_type_of(array)
    count = math.prod(type.shape) if type.shape is not None and -1 not in type.shape else None
    if low.stack[0].is_kernel and count is not None and count * type.dtype.size <= MAX_LOCAL_BYTES:
        slot = low.alloca(ArrayType(element_type(type.dtype), max(1, count)), "copy", align=16)
        made = Typed(array_type(type.dtype, type.ndim, "C", shape=type.shape), (slot,))
        copy(low, array, made)
        return made
    made = allocate(low, args, _extents_like(low, args, array), array_type_of(array).dtype)
    copy(low, array, made)
    return made


@call(np.array, np.asarray)
def _array(low: Lowering, args: Arguments) -> Typed:
    """A copy of an array, or an array of the numbers in a tuple."""
    given = _named(args, "object", "dtype")
    value = given["object"]
    if isinstance(value.type, Array):
        dtype = _dtype(given, args.name, value.type.dtype)
        if args.name == "asarray" and dtype is value.type.dtype:
            return value
        made = allocate(low, args, _extents_like(low, args, value), dtype)
        copy(low, value, made)
        return made
    shape, items = _nested(value)
    types = [_STRONG.get(item.type, item.type) for item in items]
    numbers = [type for type in types if isinstance(type, Scalar)]
    if not items or len(numbers) < len(items):
        raise UnsupportedError(
            f"{args.name}() takes an array or numbers in lists of one length, not {value.type}",
            hint="make the array with np.empty() and assign its elements",
        )
    dtype = _dtype(given, args.name, functools.reduce(promote, numbers))
    made = allocate(low, args, [literal(extent) for extent in shape], dtype)
    for indices, item in zip(np.ndindex(*shape), items, strict=True):
        address = element_address(low, made, [literal(index) for index in indices])
        store_element(low, item, address, dtype, element_align(array_type_of(made)))
    return made


def _nested(value: Typed) -> tuple[tuple[int, ...], tuple[Typed, ...]]:
    """The shape of tuples of tuples, and the values in them; of what has no shape, no values."""
    if not isinstance(value.type, Tuple):
        return (), (value,)
    parts = [_nested(item) for item in items_of(value)]
    shapes = {shape for shape, _ in parts}
    if len(shapes) != 1:
        return (0,), ()
    return (len(parts), *shapes.pop()), tuple(item for _, items in parts for item in items)


@call(np.arange)
def _arange(low: Lowering, args: Arguments) -> Typed:
    keywords = dict(args.keywords)
    given = args.values[3] if len(args.values) == 4 else keywords.pop("dtype", None)
    dtype = dtype_or(given, args.name, int64)
    bounded = Arguments(args.name, args.values[:3] if len(args.values) == 4 else args.values, keywords)
    values = bounded.bind("start", "stop", "step", optional=2)
    bounds = (literal(0), values[0], literal(1)) if len(values) == 1 else (*values, literal(1))[:3]
    if any(map(is_float, bounds)):
        return _arange_of_floats(low, args, bounds, dtype_or(given, args.name))
    if not all(isinstance(b.type, Scalar) and b.type.kind in "iu" for b in bounds):
        raise TypingError(f"arange() takes real numbers, not {', '.join(str(b.type) for b in bounds)}")
    start, stop, step = (to_int64(low, bound, "an argument of arange()") for bound in bounds)
    count = range_length(low, start, stop, step)
    made = allocate(low, args, [Typed(pyint, (count,), low=0)], dtype)
    number(low, made, start, step)
    return made


def is_float(value: Typed) -> bool:
    """Whether it is a floating-point number."""
    return isinstance(value.type, Scalar) and value.type.kind == "f"


def _arange_of_floats(
    low: Lowering, args: Arguments, bounds: Sequence[Typed], dtype: Scalar | Record
) -> Typed:
    from weft.frontend.python.lowering.arrays.written import run_written

    if dtype is not float64 or any(is_float(b) and b.type in (float16, float32) for b in bounds):
        raise UnsupportedError("arange() of floats makes float64 of float64 here", hint="use astype()")
    start, stop, step = (cast(low, bound, float64) for bound in bounds)
    count = run_written(low, args, device_measures.steps_between, start, stop, step)
    made = allocate(low, args, [count], dtype)
    run_written(low, args, device_measures.store_steps, made, start, step)
    return made

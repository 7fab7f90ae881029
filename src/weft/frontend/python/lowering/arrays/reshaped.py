"""The elements of an array in another shape, or as another type, without a copy where they lie so."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.components import memory_scalar
from weft.frontend.python.lowering.arrays.array_parts import (
    array_type_of,
    data_of,
    extents_of,
    make_array,
    multiply,
    strides_of,
)
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.types import Field, Record, Scalar, Tuple, array_type
from weft.frontend.python.typing_rules import real_type
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.intrinsics import RESHAPED
from weft.ir.types import I8
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_NO_WRAP = ("nuw", "nsw")


def shape_items(values: list[Typed]) -> list[Typed]:
    """The extents in a list of arguments: ``(2, 3)`` or ``((2, 3),)``."""
    if len(values) == 1 and isinstance(values[0].type, Tuple):
        return list(items_of(values[0]))
    return values


def product_of(low: Lowering, extents: list[Value]) -> Value:
    """How many elements an array of these extents has."""
    return reduce(lambda a, b: multiply(low, a, b, _NO_WRAP), extents, const_int(1))


def count_of(low: Lowering, array: Typed) -> Value:
    """The number of elements."""
    return product_of(low, extents_of(low, array))


def in_order(low: Lowering, array: Typed) -> Typed:
    """The array, or a copy of it, with all its elements one step apart in C order.

    Raises
    ------
    UnsupportedError
        A copy is needed, and this is a kernel.
    """
    from weft.frontend.python.lowering.arrays.allocation import copied

    type = array_type_of(array)
    if type.ndim <= 1 or type.layout == "C":
        return array
    if low.stack[0].is_kernel:
        raise UnsupportedError(
            "all elements of an array that is not in C order cannot be taken one after the other in a kernel",
            hint="loop over its rows",
        )
    return copied(low, Arguments("a copy", [], {}), array)


def reshaped(low: Lowering, array: Typed, shape: list[Typed]) -> Typed:
    """``array.reshape(shape)``, in which one extent may be -1."""
    array = in_order(low, array)
    if array_type_of(array).ndim > 1:
        low.unit.module.named_metadata.setdefault(RESHAPED, [])
    total = count_of(low, array)
    open_: list[tuple[int, Value | None]] = []
    known: Value = const_int(1)
    extents: list[Value] = []
    for position, item in enumerate(shape):
        size = to_int64(low, item, "an extent")
        extents.append(size)
        if item.int_literal == -1:
            open_.append((position, None))
            continue
        if item.least is None or item.least < 0:
            is_open = low.builder.icmp("eq", size, const_int(-1))
            open_.append((position, is_open))
            size = low.builder.select(is_open, const_int(1), size)
        if item.int_literal is not None and item.int_literal < 0:
            raise TypingError(f"an array cannot have the extent {item.int_literal}")
        known = multiply(low, known, size, _NO_WRAP)
    if sum(condition is None for _, condition in open_) > 1:
        raise TypingError("only one extent of reshape() may be -1")
    if open_:
        rest = _quotient(low, total, known)
        for position, is_open in open_:
            size = rest if is_open is None else low.builder.select(is_open, rest, extents[position])
            extents[position] = size
        known = product_of(low, extents)
    _require_count(low, total, known)
    type = array_type_of(array)
    fixed = [e.signed for e in extents if isinstance(e, ConstInt)]
    shape_known = tuple(fixed) if type.shape is not None and len(fixed) == len(extents) else None
    new = type.replace(ndim=len(extents), shape=shape_known)
    step = strides_of(low, array)[0] if type.layout != "C" else const_int(type.dtype.size)
    strides: list[Value] = []
    for extent in reversed(extents):
        strides.insert(0, step)
        step = multiply(low, step, extent, ("nsw",))
    return make_array(new, data_of(array), extents, strides)


def _quotient(low: Lowering, total: Value, known: Value) -> Value:
    if isinstance(total, ConstInt) and isinstance(known, ConstInt):
        return const_int(total.signed // known.signed if known.signed else 0)
    # Of an array without elements an open extent is none.
    b = low.builder
    divisor = b.select(b.icmp("eq", known, const_int(0)), const_int(1), known)
    return b.binary("udiv", total, divisor)


def _require_count(low: Lowering, total: Value, wanted: Value) -> None:
    """Fail where the shape has another number of elements; in kernels, which raise nothing, do nothing."""
    from weft.frontend.python.lowering.arrays.shape_checks import shape_error

    message = "the array cannot be reshaped: it has another number of elements"
    if isinstance(total, ConstInt) and isinstance(wanted, ConstInt):
        if total.signed != wanted.signed:
            raise TypingError(f"an array of {total.signed} elements cannot be reshaped to {wanted.signed}")
    elif not low.stack[0].is_kernel:
        low.frame.use(low)
        low.frame.fail_if(low, low.builder.icmp("ne", total, wanted), shape_error(low, message))


def flat(low: Lowering, array: Typed) -> Typed:
    """All elements in C order as an array of one dimension: a view, or of what does not lie so, a copy."""
    return array if array_type_of(array).ndim == 1 else reshaped(low, array, [literal(-1)])


def viewed(low: Lowering, array: Typed, dtype: Scalar | Record) -> Typed:
    """``array.view(dtype)``: the same bytes as elements of another type."""
    type = array_type_of(array)
    if dtype.size == type.dtype.size:
        new = type.replace(dtype=dtype)
        return make_array(new, data_of(array), extents_of(low, array), strides_of(low, array))
    if type.layout != "C" or not type.ndim:
        raise UnsupportedError(
            f"an array that is not in C order cannot be viewed as elements of {dtype.size} bytes"
        )
    *outer, last = extents_of(low, array)
    bytes_ = multiply(low, last, const_int(type.dtype.size), _NO_WRAP)
    inner = (
        const_int(bytes_.signed // dtype.size)
        if isinstance(bytes_, ConstInt)
        else low.builder.binary("udiv", bytes_, const_int(dtype.size))
    )
    own = dtype.align if isinstance(dtype, Record) else real_type(dtype).size
    before = type.dtype.align if isinstance(type.dtype, Record) else real_type(type.dtype).size
    shape = None
    if type.shape is not None and isinstance(inner, ConstInt):
        shape = (*type.shape[:-1], inner.signed)
    new = type.replace(dtype=dtype, shape=shape, aligned=type.aligned and own <= before)
    return make_array(new, data_of(array), [*outer, inner], ())


def part(low: Lowering, array: Typed, name: str) -> Typed:
    """``array.real`` and ``array.imag``: views of complex numbers' parts."""
    from weft.frontend.python.lowering.arrays.elementwise import combine
    from weft.frontend.python.lowering.attributes import number_attribute

    type = array_type_of(array)
    if not isinstance(type.dtype, Scalar):
        raise TypingError(f"{type} has no attribute '{name}'")
    if type.dtype.kind != "c":
        if name == "real":
            return array
        return combine(low, lambda low, x: number_attribute(low, x, name), array).settled(low)
    real = real_type(type.dtype)
    offset = memory_scalar(real).bits // 8 if name == "imag" else 0
    return _inside(low, array, real, offset, (), type.aligned)


def field_of_all(low: Lowering, array: Typed, name: str) -> Typed:
    """``array.field`` of an array of records: a view of that field of each."""
    type = array_type_of(array)
    assert isinstance(type.dtype, Record)
    field: Field = type.dtype.fields[name]
    own = real_type(field.type).size if isinstance(field.type, Scalar) else field.type.align
    aligned = type.aligned and field.offset % own == 0 and type.dtype.align % own == 0
    return _inside(low, array, field.type, field.offset, field.shape, aligned)


def _inside(
    low: Lowering,
    array: Typed,
    dtype: Scalar | Record,
    offset: int,
    inner: tuple[int, ...],
    aligned: bool,
) -> Typed:
    """What lies at an offset in each element: a number, or an array of the shape `inner`."""
    type = array_type_of(array)
    extents: list[Value] = [*extents_of(low, array), *map(const_int, inner)]
    strides = list(strides_of(low, array))
    step = dtype.size
    own: list[Value] = []
    for extent in reversed(inner):
        own.insert(0, const_int(step))
        step *= extent
    data = data_of(array)
    if offset:
        data = low.builder.gep(I8, data, (const_int(offset),), ("inbounds",))
    shape = None if type.shape is None else (*type.shape, *inner)
    layout = "A" if extents else "C"
    new = array_type(dtype, len(extents), layout, type.readonly, aligned, type.space, shape)
    return make_array(new, data, extents, [*strides, *own])

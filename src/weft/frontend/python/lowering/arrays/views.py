"""Views: indices, slices, new axes and transposition share the data of their array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.array_parts import (
    add,
    array_type_of,
    data_of,
    extents_of,
    make_array,
    multiply,
    strides_of,
)
from weft.frontend.python.lowering.arrays.arrays import Index, NewAxis, Slice, wrapped
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.types import I8, I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_FULL = Slice()


def permuted(low: Lowering, array: Typed, axes: Sequence[int | None] = ()) -> Typed:
    """``array.transpose(axes)``: the axes in another order, reversed unless told."""
    type = array_type_of(array)
    order = [-1 if axis is None else axis + type.ndim * (axis < 0) for axis in axes]
    order = order or list(range(type.ndim))[::-1]
    if sorted(order) != list(range(type.ndim)):
        raise TypingError(f"transpose() takes {type.ndim} different axes, as literals")
    if order == list(range(type.ndim)):
        return array
    shape = None if type.shape is None else tuple(type.shape[axis] for axis in order)
    extents, strides = extents_of(low, array), strides_of(low, array)
    new = type.replace(layout="A", shape=shape)
    return make_array(new, data_of(array), [extents[a] for a in order], [strides[a] for a in order])


def view(low: Lowering, array: Typed, parts: list[Index]) -> Typed:
    """The view that a subscript with fewer indices than dimensions, or with slices, stands for."""
    type = array_type_of(array)
    taken = sum(not isinstance(part, NewAxis) for part in parts)
    parts = [*parts, *[_FULL] * (type.ndim - taken)]
    axes = iter(zip(extents_of(low, array), strides_of(low, array), strict=True))
    offset: Value = const_int(0)
    kept: list[tuple[Value, Value, bool]] = []
    for part in parts:
        if isinstance(part, NewAxis):
            kept.append((const_int(1), const_int(0), True))
            continue
        extent, stride = next(axes)
        if isinstance(part, Typed):
            start, _ = wrapped(low, part, extent)
        else:
            step = 1 if part.step is None else part.step.int_literal
            if part.step is not None and step is None:
                start, length, steps = _slice_by(low, part, extent, part.step)
                # Of one element the step may be any number: what it leads to is not looked at.
                kept.append((length, multiply(low, stride, steps, ()), False))
            else:
                assert step is not None
                start, length = _slice(low, part, extent, step)
                kept.append((length, multiply(low, stride, const_int(step), ("nsw",)), step == 1))
        offset = add(low, offset, multiply(low, start, stride, ("nsw",)), ("nsw",))
    data = data_of(array)
    if not (isinstance(offset, ConstInt) and offset.value == 0):
        data = low.builder.gep(I8, data, (offset,), ("inbounds",))
    lengths = [length for length, _, _ in kept]
    constant = [length.signed for length in lengths if isinstance(length, ConstInt)]
    shape = tuple(constant) if type.shape is not None and len(constant) == len(lengths) else None
    layout = "C" if type.layout == "C" and _stays_contiguous(parts) else "A"
    new = type.replace(ndim=len(kept), layout=layout, shape=shape)
    return make_array(new, data, lengths, [stride for _, stride, _ in kept])


def _stays_contiguous(parts: list[Index]) -> bool:
    """Whether leading indices, then at most one slice without step, then full slices are taken."""
    rest = [part for part in parts if not isinstance(part, NewAxis)]
    while rest and isinstance(rest[0], Typed):
        rest = rest[1:]
    if not rest:
        return True
    first = rest[0]
    assert isinstance(first, Slice)
    unit = first.step is None or first.step.int_literal == 1
    return unit and all(part == _FULL for part in rest[1:])


def _slice_by(low: Lowering, part: Slice, extent: Value, step: Typed) -> tuple[Value, Value, Value]:
    """Start, length and step of a slice whose step is known when it runs; none of its elements if that is 0."""
    zero, one = const_int(0), const_int(1)
    # So that its size is a number, too.
    steps = _extreme(low, "smax", to_int64(low, step, "the step of a slice"), const_int(-(1 << 62)))
    start, span = _span(low, part, extent, 1)
    size = steps
    if step.least is None or step.least < 1:
        back, back_span = _span(low, part, extent, -1)
        is_up = low.builder.icmp("sgt", steps, zero)
        start = low.builder.select(is_up, start, back)
        span = low.builder.select(is_up, span, back_span)
        size = _extreme(low, "smax", low.builder.select(is_up, steps, _subtract(low, zero, steps)), one)
        span = low.builder.select(low.builder.icmp("eq", steps, zero), zero, span)
    whole = low.builder.binary("sdiv", _subtract(low, span, one), size)
    length = low.builder.select(low.builder.icmp("sgt", span, zero), add(low, whole, one, ("nsw",)), zero)
    return start, length, steps


def _slice(low: Lowering, part: Slice, extent: Value, step: int) -> tuple[Value, Value]:
    """Start and length of a slice, clamped to the array as Python does."""
    if step == 0:
        raise TypingError("slice step cannot be zero")
    if part.lower is None and part.upper is None and step == 1:
        return const_int(0), extent
    start, span = _span(low, part, extent, step)
    size = abs(step)
    if size > 1:
        rounded = add(low, span, const_int(size - 1), ("nsw",))
        span = low.builder.binary("sdiv", rounded, const_int(size))
    length = _extreme(low, "smax", span, const_int(0))
    left_out = _left_out(part) if step == 1 else None
    if left_out is not None:
        low.known.note_length(length, extent, left_out)
    return start, length


def _left_out(part: Slice) -> int | None:
    """How many elements a slice like ``2:-1`` leaves out at both ends, if there are so many.

    Slices that leave out equally many, at whichever ends, have one length.
    """
    lower = 0 if part.lower is None else part.lower.int_literal
    upper = 0 if part.upper is None else part.upper.int_literal
    if lower is None or upper is None or lower < 0 or upper > 0 or (upper == 0 and part.upper is not None):
        return None
    return lower - upper


def _span(low: Lowering, part: Slice, extent: Value, step: int) -> tuple[Value, Value]:
    """Where a slice with a step of this sign begins, and how far away it ends."""
    zero, minus_one = const_int(0), const_int(-1)
    if step > 0:
        start = _bound(low, part.lower, extent, zero, extent) or zero
        stop = _bound(low, part.upper, extent, zero, extent) or extent
        span = _subtract(low, stop, start)
    else:
        last = add(low, extent, minus_one, ("nsw",))
        start = _bound(low, part.lower, extent, minus_one, last) or last
        stop = _bound(low, part.upper, extent, minus_one, last) or minus_one
        span = _subtract(low, start, stop)
    return start, span


def _bound(low: Lowering, bound: Typed | None, extent: Value, least: Value, most: Value) -> Value | None:
    """A bound of a slice, counted from the start and clamped; None when it is left out."""
    if bound is None:
        return None
    if bound.least is not None and bound.least >= 0:
        value = to_int64(low, bound, "the bound of a slice")
    else:
        value, _ = wrapped(low, bound, extent)
    if not (bound.least is not None and bound.least >= 0):
        value = _extreme(low, "smax", value, least)
    return _extreme(low, "smin", value, most)


def _subtract(low: Lowering, a: Value, b: Value) -> Value:
    if isinstance(b, ConstInt):
        return add(low, a, const_int(-b.signed), ("nsw",))
    return low.builder.binary("sub", a, b, ("nsw",))


def _extreme(low: Lowering, name: str, a: Value, b: Value) -> Value:
    """The lesser (``smin``) or greater (``smax``) of two i64, folded on constants."""
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        return const_int((min if name == "smin" else max)(a.signed, b.signed))
    return low.builder.call(low.unit.llvm(f"llvm.{name}.i64", I64, I64, I64), (a, b))

"""NumPy's functions that give the elements of arrays another shape, or more places: ``np.expand_dims``, ``np.tile``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python import device_sequences
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import Index, NewAxis, Slice
from weft.frontend.python.lowering.arrays.elementwise import assign_elements, combine, is_array
from weft.frontend.python.lowering.arrays.reshaped import flat, reshaped, shape_items
from weft.frontend.python.lowering.arrays.views import permuted, view
from weft.frontend.python.lowering.arrays.written import (
    array_of,
    given,
    integer,
    is_given,
    rolled,
    run_written,
)
from weft.frontend.python.lowering.attributes import size
from weft.frontend.python.lowering.calls.registry import CALLS, Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, literal
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.types import Scalar

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def axis_of(args: Arguments, value: Typed | None, ndim: int) -> int:
    """The number of an axis that is given as a literal."""
    axis = None if value is None else value.int_literal
    if axis is None or not -ndim <= axis < ndim:
        raise TypingError(f"the axis of {args.name}() is a literal number of a dimension")
    return axis % ndim


@call(np.expand_dims)
def _expand_dims(low: Lowering, args: Arguments) -> Typed:
    a, axis = given(low, args, "a axis")
    array = array_of(args, a)
    assert axis is not None
    wanted = shape_items([axis])
    ndim = array_type_of(array).ndim + len(wanted)
    new = {axis_of(args, item, ndim) for item in wanted}
    if len(new) < len(wanted):
        raise TypingError("expand_dims() takes different axes")
    return view(low, array, [NewAxis() if k in new else Slice() for k in range(ndim)])


@call(np.swapaxes)
def _swapaxes(low: Lowering, args: Arguments) -> Typed:
    a, one, other = given(low, args, "a axis1 axis2")
    array = array_of(args, a)
    ndim = array_type_of(array).ndim
    order = list(range(ndim))
    first, second = axis_of(args, one, ndim), axis_of(args, other, ndim)
    order[first], order[second] = second, first
    return permuted(low, array, order)


@call(np.atleast_1d, np.atleast_2d)
def _atleast(low: Lowering, args: Arguments) -> Typed:
    if len(args.values) != 1 or args.keywords:
        raise TypingError(f"{args.name}() takes one array here")
    array = _as_row(low, args.values[0].settled(low))
    if args.name == "atleast_2d" and array_type_of(array).ndim == 1:
        return view(low, array, [NewAxis(), Slice()])
    return array


def _as_row(low: Lowering, value: Typed) -> Typed:
    """An array, or of a number the array of it."""
    if is_array(value):
        return value
    return CALLS[np.array](low, Arguments("array", [TupleValue((value,))], {}))


@call(np.append)
def _append(low: Lowering, args: Arguments) -> Typed:
    arr, values = given(low, args, "arr values")
    assert arr is not None and values is not None
    if not is_array(values) and not isinstance(values.type, Scalar):
        values = CALLS[np.array](low, Arguments("array", [values], {}))
    rows = tuple(flat(low, array_of(args, _as_row(low, value))) for value in (arr, values))
    return CALLS[np.concatenate](low, Arguments("append", [TupleValue(rows)], {}))


@call(np.tile)
def _tile(low: Lowering, args: Arguments) -> Typed:
    """Copies of an array side by side: broadcast along new axes, and joined with the old ones."""
    from weft.frontend.python.lowering.arrays.allocation import allocate

    a, reps = given(low, args, "A reps")
    array = array_of(args, a)
    assert reps is not None
    times = shape_items([reps])
    ndim = max(array_type_of(array).ndim, len(times))
    lead = ndim - array_type_of(array).ndim
    times = [*[literal(1)] * (ndim - len(times)), *times]
    parts: list[Index] = [NewAxis()] * lead
    array = view(low, array, [*parts, *[Slice()] * (ndim - lead)])
    extents = [size(extent) for extent in extents_of(low, array)]
    shape = [each for pair in zip(times, extents, strict=True) for each in pair]
    made = allocate(low, args, shape, array_type_of(array).dtype)
    sparse: list[Index] = [part for _ in range(ndim) for part in (NewAxis(), Slice())]
    assign_elements(low, made, view(low, array, sparse))
    joined = [binary(low, "*", count, extent) for count, extent in zip(times, extents, strict=True)]
    return reshaped(low, made, joined)


@call(np.kron)
def _kron(low: Lowering, args: Arguments) -> Typed:
    one, other = (array_of(args, value, 1, 2) for value in given(low, args, "a b"))
    ndim = array_type_of(one).ndim
    if array_type_of(other).ndim != ndim:
        raise TypingError("kron() takes two arrays of as many dimensions here")
    outer = view(low, one, [part for _ in range(ndim) for part in (Slice(), NewAxis())])
    inner = view(low, other, [part for _ in range(ndim) for part in (NewAxis(), Slice())])
    products = combine(low, lambda low, x, y: binary(low, "*", x, y), outer, inner).settled(low)
    pairs = zip(extents_of(low, one), extents_of(low, other), strict=True)
    return reshaped(low, products, [binary(low, "*", size(a), size(b)) for a, b in pairs])


@call(np.roll)
def _roll(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate

    a, shift, axis = given(low, args, "a shift", "axis")
    array = array_of(args, a)
    if not is_given(axis):
        return rolled(low, args, array, shift)
    ndim = array_type_of(array).ndim
    along = axis_of(args, axis, ndim)
    extents = [size(extent) for extent in extents_of(low, array)]
    made = allocate(low, args, extents, array_type_of(array).dtype)
    by = integer(args, shift, None, "shift")
    by = run_written(low, args, device_sequences.places_on, by, extents[along])
    rest = binary(low, "-", extents[along], by)
    before: list[Index] = [Slice()] * along
    for there, here in ((Slice(upper=by), Slice(lower=rest)), (Slice(lower=by), Slice(upper=rest))):
        assign_elements(low, view(low, made, [*before, there]), view(low, array, [*before, here]))
    return made

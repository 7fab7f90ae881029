"""NumPy's functions that find elements or compare arrays: ``np.nonzero``, ``np.allclose``, ``np.average`` and others.

What they do is in `weft.frontend.python.device_measures`; here is which arguments they take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python import device_measures
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of, is_row_of_truths
from weft.frontend.python.lowering.arrays.elementwise import combine, is_array
from weft.frontend.python.lowering.arrays.reductions import reduced
from weft.frontend.python.lowering.arrays.reshaped import flat
from weft.frontend.python.lowering.arrays.written import array_of, given, is_given, run_written
from weft.frontend.python.lowering.attributes import size
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, literal
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.lowering.numbers.comparisons import both
from weft.frontend.python.lowering.numbers.complexes import conjugate

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@call(np.flatnonzero)
def _flatnonzero(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return _places(low, args, array_of(args, a))


@call(np.nonzero)
def _nonzero(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return nonzero(low, args, array_of(args, a))


def nonzero(low: Lowering, args: Arguments, array: Typed) -> Typed:
    """The indices of the elements that are not zero, an array for each axis."""
    found = _places(low, args, array)
    if array_type_of(array).ndim == 1:
        return TupleValue((found,))
    inner = literal(1)
    along: list[Typed] = []
    for extent in map(size, reversed(extents_of(low, array))):
        along.insert(0, run_written(low, args, device_measures.indices_along, found, extent, inner))
        inner = binary(low, "*", inner, extent)
    return TupleValue(tuple(along))


def _places(low: Lowering, args: Arguments, array: Typed) -> Typed:
    found = device_measures.places_in_mask if is_row_of_truths(array) else device_measures.places
    return run_written(low, args, found, array)


@call(np.argwhere)
def _argwhere(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.calls.registry import CALLS

    (a,) = given(low, args, "a")
    indices = nonzero(low, args, array_of(args, a))
    return CALLS[np.column_stack](low, Arguments("column_stack", [indices], {}))


@call(np.ptp)
def _ptp(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return run_written(low, args, device_measures.spread, array_of(args, a, real=True))


@call(np.average)
def _average(low: Lowering, args: Arguments) -> Typed:
    a, axis, weights = given(low, args, "a", "axis weights")
    if not is_given(weights):
        keywords = {} if axis is None or not is_given(axis) else {"axis": axis}
        return reduced(low, "mean", array_of(args, a), Arguments("mean", [], keywords))
    if is_given(axis):
        raise TypingError("average() takes weights or an axis here, not both")
    rows = array_of(args, a, 1), array_of(args, weights, 1)
    return run_written(low, args, device_measures.weighted_mean, *rows)


@call(np.vdot)
def _vdot(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.products import product

    one, other = (flat(low, array_of(args, value)) for value in given(low, args, "a b"))
    dtype = array_type_of(one).dtype
    if getattr(dtype, "kind", "") == "c":
        one = combine(low, conjugate, one).settled(low)
    return product(low, one, other)


def _is_close(low: Lowering, args: Arguments) -> Typed:
    x, y, rtol, atol, equal_nan = given(low, args, "a b", "rtol atol equal_nan")
    values = [x, y, rtol or literal(1e-05), atol or literal(1e-08), equal_nan or literal(False)]
    known = [value for value in values if value is not None]

    def one(low: Lowering, *elements: Typed) -> Typed:
        return run_written(low, args, device_measures.is_close, *elements)

    return combine(low, one, *known) if any(map(is_array, known)) else one(low, *known)


@call(np.isclose)
def _isclose(low: Lowering, args: Arguments) -> Typed:
    return _is_close(low, args)


@call(np.allclose)
def _allclose(low: Lowering, args: Arguments) -> Typed:
    close = _is_close(low, args)
    return reduced(low, "all", close, Arguments("all", [], {})) if is_array(close) else close


@call(np.array_equal)
def _array_equal(low: Lowering, args: Arguments) -> Typed:
    a, b = given(low, args, "a1 a2")
    one, other = array_of(args, a), array_of(args, b)
    if array_type_of(one).ndim != array_type_of(other).ndim:
        return literal(False)
    from weft.frontend.python.lowering.numbers.comparisons import relation

    same = literal(True)
    for mine, its in zip(extents_of(low, one), extents_of(low, other), strict=True):
        same = both(low, same, relation(low, "==", size(mine), size(its)))
    return both(low, same, run_written(low, args, device_measures.same_elements, one, other))


@call(np.cross)
def _cross(low: Lowering, args: Arguments) -> Typed:
    a, b = given(low, args, "a b")
    one, other = array_of(args, a, 1, 2), array_of(args, b, 1, 2)
    return run_written(low, args, device_measures.crossed, one, other)

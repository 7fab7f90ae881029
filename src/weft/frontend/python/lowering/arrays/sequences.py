"""NumPy's functions of sequences: ``np.cumsum``, ``np.linspace``, ``np.searchsorted``, ``np.sort``.

What they do is in `weft.frontend.python.device_arrays` and `weft.frontend.python.device_sort`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python import device_arrays, device_sort
from weft.frontend.python.lowering.arrays.allocation import allocate, copied, dtype_or, extent, extents
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.elementwise import combine, is_array
from weft.frontend.python.lowering.arrays.reductions import type_of_sums
from weft.frontend.python.lowering.arrays.reshaped import flat
from weft.frontend.python.lowering.arrays.ufuncs import call_on_elements
from weft.frontend.python.lowering.arrays.written import given
from weft.frontend.python.lowering.calls.calls import call_function
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Array, Scalar, float64

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@call(np.cumsum)
def _cumsum(low: Lowering, args: Arguments) -> Typed:
    (array,) = args.bind("a")
    if not isinstance(array.type, Array) or not isinstance(array.type.dtype, Scalar):
        raise TypingError(f"cumsum() takes an array of numbers, not {array.type}")
    row = flat(low, array)
    dtype = type_of_sums(array.type.dtype)
    made = allocate(low, args, [extent(extents_of(low, row)[0])], dtype)
    zero = cast(low, literal(0), dtype)
    call_function(low, device_arrays.accumulated, Arguments("cumsum", [row, made, zero], {}))
    return made


@call(np.linspace)
def _linspace(low: Lowering, args: Arguments) -> Typed:
    start, stop, number, endpoint, dtype = given(low, args, "start stop", "num endpoint dtype")
    assert start is not None and stop is not None
    made = allocate(low, args, extents(low, number or literal(50)), float64)
    bounds = [cast(low, value, float64) for value in (start, stop)]
    values = [made, *bounds, endpoint or literal(True)]
    call_function(low, device_arrays.spaced, Arguments("linspace", values, {}))
    wanted = dtype_or(dtype, "linspace")
    if wanted is float64:
        return made
    if not isinstance(wanted, Scalar):
        raise TypingError(f"linspace() makes numbers, not {wanted}")
    # Integers are those below, as NumPy has it, not those nearer to zero.
    numbers = call_on_elements(low, np.floor, Arguments("floor", [made], {})) if wanted.kind in "iu" else made
    return combine(low, lambda low, x: cast(low, x, wanted), numbers)


@call(np.searchsorted)
def _searchsorted(low: Lowering, args: Arguments) -> Typed:
    array, value, *rest = args.bind("a", "v", "side", optional=1)
    side = rest[0].static if rest else "left"
    if side not in ("left", "right"):
        raise TypingError("the side of searchsorted() is 'left' or 'right'")
    if not isinstance(array.type, Array) or array.type.ndim != 1:
        raise TypingError(f"searchsorted() takes an array of one dimension, not {array.type}")
    right = literal(side == "right")

    def one(low: Lowering, wanted: Typed) -> Typed:
        return call_function(low, device_sort.searched, Arguments("searchsorted", [array, wanted, right], {}))

    return combine(low, one, value).settled(low) if is_array(value) else one(low, value)


@call(np.sort)
def _sort(low: Lowering, args: Arguments) -> Typed:
    (array,) = args.bind("a")
    made = copied(low, args, array)
    sort_in_place(low, made)
    return made


def sort_in_place(low: Lowering, array: Typed) -> None:
    """Sort an array of one dimension."""
    type = array_type_of(array)
    if type.ndim != 1 or not isinstance(type.dtype, Scalar) or type.dtype.kind == "c":
        raise TypingError(f"an array of one dimension, of real numbers, can be sorted, not {type}")
    call_function(low, device_sort.sort, Arguments("sort", [array], {}))

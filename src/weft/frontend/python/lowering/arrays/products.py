"""``a @ b`` and ``np.dot(a, b)``: products of vectors and matrices (`weft.frontend.python.device_products`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python import device_arrays, device_products
from weft.frontend.python.lowering.arrays.array_parts import (
    array_type_of,
    data_of,
    extents_of,
    make_array,
)
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import (
    Array,
)
from weft.frontend.python.typing_rules import real_type
from weft.ir.builder import const_int
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@call(np.dot)
def _dot(low: Lowering, args: Arguments) -> Typed:
    return product(low, *args.bind("a", "b"))


def product(low: Lowering, a: Typed, b: Typed) -> Typed:
    """``a @ b`` of vectors and matrices."""
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.arrays.shape_checks import require_same
    from weft.frontend.python.lowering.calls.calls import call_function

    one, other = a.type, b.type
    if not (isinstance(one, Array) and isinstance(other, Array) and {one.ndim, other.ndim} <= {1, 2}):
        raise TypingError(
            f"there is no operation {one} @ {other}", hint="it is for arrays of one or two dimensions"
        )
    from weft.frontend.python.lowering.arrays.elementwise import element_type_of
    from weft.frontend.python.lowering.numbers.arithmetic import binary

    dtype = element_type_of(low, lambda low, x, y: binary(low, "*", x, y), (a, b))
    ours, theirs = extents_of(low, a), extents_of(low, b)
    require_same(low, ours[-1:], theirs[:1])
    sums = [
        cast(low, literal(0), dtype),
        literal(not {"fast", "reassoc"}.isdisjoint(low.unit.options.fastmath)),
    ]
    if one.ndim == other.ndim == 1:
        return call_function(low, device_arrays.dot, Arguments("dot", [a, b, *sums], {}))
    shape = [*ours[:-1], *theirs[1:]]
    made = allocate(low, Arguments("@", [], {}), [extent(value) for value in shape], dtype)
    if other.ndim == 1:
        call_function(low, device_products.applied, Arguments("@", [a, b, made, *sums], {}))
        return made
    if one.ndim == 1:
        left, whole = (view_as(low, v, [None, 0]) for v in (a, made))
        call_function(low, device_products.multiplied_by_rows, Arguments("@", [left, b, whole], {}))
    elif dtype.kind == "c":
        zero = cast(low, literal(0), real_type(dtype))
        call_function(low, device_products.multiplied_in_parts, Arguments("@", [a, b, made, zero], {}))
    else:
        call_function(low, device_products.multiplied, Arguments("@", [a, b, made, sums[0]], {}))
    return made


def view_as(low: Lowering, array: Typed, axes: list[int | None]) -> Typed:
    """A vector as a matrix of one row or column: None stands for an axis of one element."""
    from weft.frontend.python.lowering.arrays.array_parts import strides_of

    (extent_,), (stride,) = extents_of(low, array), strides_of(low, array)
    extents: list[Value] = [const_int(1) if axis is None else extent_ for axis in axes]
    strides: list[Value] = [const_int(0) if axis is None else stride for axis in axes]
    type = array_type_of(array).replace(ndim=2, layout="A", shape=None)
    return make_array(type, data_of(array), extents, strides)

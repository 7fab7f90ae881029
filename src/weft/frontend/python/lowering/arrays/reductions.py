"""``np.sum(a)``, ``a.max()``, ``np.argmin(a, axis=1)``: one number of an array, or of each of its rows.

Each is a function of an array of one dimension in `weft.frontend.python.device_arrays`. Of an array of more it gets the
elements in C order, by a view or, where they do not lie so, a copy; along an axis, it is called for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from weft.diag.errors import TypingError
from weft.frontend.python import device_arrays, device_axes, device_measures
from weft.frontend.python.lowering.arrays.array_parts import (
    array_type_of,
    extents_of,
    is_row_of_truths,
)
from weft.frontend.python.lowering.arrays.arrays import NewAxis, Slice, element_address, element_align
from weft.frontend.python.lowering.arrays.elementwise import Lazy
from weft.frontend.python.lowering.arrays.fused import reduced_directly, size_of
from weft.frontend.python.lowering.arrays.memory import store_element
from weft.frontend.python.lowering.arrays.reshaped import flat, product_of, reshaped
from weft.frontend.python.lowering.arrays.views import permuted, view
from weft.frontend.python.lowering.arrays.whole_arrays import for_each
from weft.frontend.python.lowering.calls.registry import Arguments, call, method
from weft.frontend.python.lowering.calls.typed import NONE, TupleValue, Typed, items_of, literal
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.lowering.sampling import sampling
from weft.frontend.python.overloads import strong
from weft.frontend.python.types import (
    Array,
    Computed,
    NoneType,
    Scalar,
    boolean,
    float64,
    int64,
    pyint,
    uint64,
)
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class _Reduction(Struct, frozen=True):
    """A function of one row.

    Parameters
    ----------
    function
        The function in the kernel language.
    neutral
        The number that it starts with, if it takes one, in the type of its result.
    wide
        Whether its result is wider than small integers: ``"sum"``, ``"mean"`` (floats), or not at all.
    direct
        Whether it looks at each element once, so that it takes one that is computed then.
    nonempty
        Whether there has to be an element.
    ddof
        Whether it takes ``ddof``.
    """

    function: Any
    neutral: int | None = None
    wide: str = ""
    direct: bool = False
    nonempty: bool = False
    ddof: bool = False


_REDUCTIONS = {
    "sum": _Reduction(device_arrays.total, 0, "sum", direct=True),
    "prod": _Reduction(device_arrays.product, 1, "sum", direct=True),
    "mean": _Reduction(device_arrays.mean, 0, "mean", direct=True),
    "var": _Reduction(device_arrays.variance, 0, "mean", ddof=True),
    "std": _Reduction(device_arrays.deviation, 0, "mean", ddof=True),
    "min": _Reduction(device_arrays.least, nonempty=True, direct=True),
    "max": _Reduction(device_arrays.greatest, nonempty=True, direct=True),
    "argmin": _Reduction(device_arrays.least_at, nonempty=True),
    "argmax": _Reduction(device_arrays.greatest_at, nonempty=True),
    "any": _Reduction(device_arrays.some, direct=True),
    "all": _Reduction(device_arrays.every, direct=True),
    "count_nonzero": _Reduction(device_arrays.nonzero, direct=True),
    "nansum": _Reduction(device_arrays.total_of_numbers, 0, "sum", direct=True),
    "nanprod": _Reduction(device_arrays.product_of_numbers, 1, "sum", direct=True),
    "nanmean": _Reduction(device_arrays.mean_of_numbers, 0, "mean"),
    "nanvar": _Reduction(device_arrays.variance_of_numbers, 0, "mean", ddof=True),
    "nanstd": _Reduction(device_arrays.deviation_of_numbers, 0, "mean", ddof=True),
    "nanmin": _Reduction(device_arrays.least_number, nonempty=True, direct=True),
    "nanmax": _Reduction(device_arrays.greatest_number, nonempty=True, direct=True),
}


_COUNTS = frozenset(("sum", "count_nonzero"))
"""What is of truth values the number of those that are true."""

_BY_ROWS = {
    "sum": device_axes.sums,
    "mean": device_axes.means,
    "prod": device_axes.products,
    "min": device_axes.minima,
    "max": device_axes.maxima,
}
"""What combines whole rows of what is behind an axis."""


DIRECT = frozenset(name for name, about in _REDUCTIONS.items() if about.direct)
"""Reductions that take an array expression whose elements are computed as they go."""


def reduced(low: Lowering, name: str, array: Typed, args: Arguments) -> Typed:
    """The reduction `name` of an array, with the further arguments ``axis``, ``ddof`` and ``keepdims``."""
    if isinstance(array, Lazy):
        row = None
        if name in DIRECT and not args.values and not args.keywords:
            row = reduced_directly(low, array, args.key, lambda row: _of_row(low, name, row, []))
        if row is not None:
            return row
        array = array.settled(low)
    about = _REDUCTIONS[name]
    names = ("axis", "ddof") if about.ddof else ("axis",)
    given = dict(zip(names, args.values, strict=False)) | args.keywords
    keeps = given.pop("keepdims", literal(False))
    unknown = sorted(given.keys() - {*names})
    if unknown or len(args.values) > 1:
        raise TypingError(
            f"{name}() takes the arguments {' and '.join((*names, 'keepdims'))} here",
            hint="others of NumPy's are not supported",
        )
    if not isinstance(array.type, Array) or not isinstance(array.type.dtype, Scalar):
        raise TypingError(f"{name}() takes an array of numbers, not {array.type}")
    extra = [given.get("ddof", literal(0))] if about.ddof else []
    axis = given.get("axis", NONE)
    if not keeps.is_literal:
        raise TypingError(f"keepdims of {name}() is True or False as a literal")
    made = _over(low, name, array, axis, extra)
    return _with_axes(low, name, made, array.type.ndim, axis) if keeps.literal else made


def _with_axes(low: Lowering, name: str, made: Typed, ndim: int, axis: Typed) -> Typed:
    """A reduction with an axis of one element for each one that is gone."""
    from weft.frontend.python.lowering.arrays.allocation import allocate

    if isinstance(made.type, Array):
        numbers = [
            item.int_literal or 0 for item in (items_of(axis) if isinstance(axis, TupleValue) else [axis])
        ]
        gone = {number % ndim for number in numbers}
        return view(low, made, [NewAxis() if n in gone else Slice() for n in range(ndim)])
    assert isinstance(made.type, Scalar)
    dtype = strong(made.type)
    array = allocate(low, Arguments(name, [], {}), [literal(1)] * ndim, dtype)
    place = element_address(low, array, [literal(0)] * ndim)
    store_element(low, made, place, dtype, element_align(array_type_of(array)))
    return array


def _over(low: Lowering, name: str, array: Typed, axis: Typed, extra: list[Typed]) -> Typed:
    """The reduction of all elements, or along an axis or several."""
    if isinstance(axis.type, NoneType):
        return _of_row(low, name, flat(low, array), extra)
    number = axis.int_literal
    ndim = array_type_of(array).ndim
    if number is None and isinstance(axis, TupleValue):
        return _along_several(low, name, array, axis, extra)
    if number is None or not -ndim <= number < ndim:
        raise TypingError(f"the axis of {name}() is a literal from {-ndim} to {ndim - 1}, or a tuple of such")
    if ndim == 1:
        return _of_row(low, name, array, extra)
    return _along(low, name, array, number % ndim, extra)


def _of_row(low: Lowering, name: str, row: Typed, extra: list[Typed]) -> Typed:
    from weft.frontend.python.lowering.calls.calls import call_function
    from weft.frontend.python.lowering.numbers.extremes import require_elements

    assert isinstance(row.type, (Array, Computed))
    about, dtype = _REDUCTIONS[name], row.type.dtype
    assert isinstance(dtype, Scalar)
    args = Arguments(name, [row, *extra], {})
    if name in _COUNTS and is_row_of_truths(row):
        return cast(low, call_function(low, device_measures.true_in_mask, args), int64)
    if about.nonempty:
        require_elements(
            low, args, size_of(row).value if isinstance(row.type, Computed) else extents_of(low, row)[0]
        )
    if about.neutral is not None:
        args.values.append(cast(low, literal(about.neutral), _result_type(about, dtype)))
    return call_function(low, about.function, args)


def _result_type(about: _Reduction, dtype: Scalar) -> Scalar:
    if about.wide == "mean":
        return dtype if dtype.kind in "fc" else float64
    return type_of_sums(dtype)


def type_of_sums(dtype: Scalar) -> Scalar:
    """The type of sums and products of elements."""
    if dtype.kind == "u":
        return uint64
    return int64 if dtype.kind in "bi" else dtype


def _along(low: Lowering, name: str, array: Typed, axis: int, extra: list[Typed]) -> Typed:
    """The reductions of all rows along an axis, as an array of one dimension less."""
    extents = extents_of(low, array)
    type = array_type_of(array)
    if name in _BY_ROWS and axis < type.ndim - 1 and type.layout == "C":
        return _by_rows(low, name, array, axis)
    outer = [*extents[:axis], *extents[axis + 1 :]]

    def row(indices: list[Typed]) -> Typed:
        return view(low, array, [*indices[:axis], Slice(), *indices[axis:]])

    return _for_rows(low, name, outer, row, extra)


def _by_rows(low: Lowering, name: str, array: Typed, axis: int) -> Typed:
    """The reductions along an axis of an array in C order, which is not its last."""
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.calls.calls import call_function
    from weft.frontend.python.lowering.numbers.extremes import require_elements

    about, dtype = _REDUCTIONS[name], array_type_of(array).dtype
    assert isinstance(dtype, Scalar)
    extents = extents_of(low, array)
    before, behind = extents[:axis], extents[axis + 1 :]
    rows, columns = product_of(low, before), product_of(low, behind)
    if about.nonempty:
        none = low.builder.icmp("eq", product_of(low, [rows, columns]), const_int(0))
        require_elements(
            low, Arguments(name, [array], {}), low.builder.select(none, const_int(1), extents[axis])
        )
    result = dtype if about.neutral is None else _result_type(about, dtype)
    made = allocate(low, Arguments(name, [], {}), [extent(value) for value in (*before, *behind)], result)
    parts = reshaped(low, array, [_size(e) for e in (rows, extents[axis], columns)])
    given = [parts, reshaped(low, made, [_size(rows), _size(columns)])]
    if about.neutral is not None:
        given.append(cast(low, literal(about.neutral), result))
    call_function(low, _BY_ROWS[name], Arguments(name, given, {}))
    return made


def _for_rows(
    low: Lowering, name: str, outer: list[Value], row: Callable[[list[Typed]], Typed], extra: list[Typed]
) -> Typed:
    """An array of the reductions of the rows at all places of these extents."""
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent

    with sampling(low):
        dtype = _of_row(low, name, row([literal(0)] * len(outer)), extra).type
    assert isinstance(dtype, Scalar)
    dtype = int64 if dtype.weak and dtype is not boolean else dtype
    made = allocate(low, Arguments(name, [], {}), [extent(value) for value in outer], dtype)

    def store(indices: list[Typed]) -> None:
        value = _of_row(low, name, row(indices), extra)
        store_element(
            low, value, element_address(low, made, indices), dtype, element_align(array_type_of(made))
        )

    for_each(low, outer, store)
    return made


def _size(extent: Value) -> Typed:
    return literal(extent.signed) if isinstance(extent, ConstInt) else Typed(pyint, (extent,), low=0)


def _along_several(low: Lowering, name: str, array: Typed, axes: TupleValue, extra: list[Typed]) -> Typed:
    """The reductions along several axes: of the elements along them, in C order, for each place along the others."""
    ndim = array_type_of(array).ndim
    numbers = [item.int_literal for item in axes.items]
    known = sorted({n % ndim for n in numbers if n is not None and -ndim <= n < ndim})
    if len(known) != len(numbers) or not known or name.startswith("arg"):
        raise TypingError(
            f"the axes of {name}() are different literals from {-ndim} to {ndim - 1}"
            if not name.startswith("arg")
            else f"the axis of {name}() is one literal"
        )
    if len(known) == ndim:
        return _of_row(low, name, flat(low, array), extra)
    others = [axis for axis in range(ndim) if axis not in known]
    extents = extents_of(low, array)
    if known == list(range(known[0], known[-1] + 1)) and array_type_of(array).layout == "C":
        # Neighbours in memory are one axis.
        shape = [
            *extents[: known[0]],
            product_of(low, [extents[a] for a in known]),
            *extents[known[-1] + 1 :],
        ]
        return _along(low, name, reshaped(low, array, [_size(e) for e in shape]), known[0], extra)
    array = permuted(low, array, [*others, *known])
    rows = [extents[axis] for axis in others]
    return _for_rows(low, name, rows, lambda at: flat(low, view(low, array, list(at))), extra)


def _function(name: str):
    def lower(low: Lowering, args: Arguments) -> Typed:
        if not args.values:
            raise TypingError(f"{name}() takes an array")
        first, *rest = args.values
        return reduced(low, name, first, Arguments(name, rest, args.keywords, args.key))

    return lower


def _method(name: str):
    return lambda low, array, args: reduced(low, name, array, args)


for _name in _REDUCTIONS:
    call(getattr(np, _name))(_function(_name))
    if hasattr(np.ndarray, _name):
        method(_name)(_method(_name))
call(np.amin)(_function("min"))
call(np.amax)(_function("max"))
DIRECT_FUNCTIONS = frozenset(getattr(np, name) for name in (*DIRECT, "amin", "amax"))

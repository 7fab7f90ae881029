"""The methods of arrays that are neither reductions nor views, and NumPy's functions that say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.allocation import copied
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align, require_writable
from weft.frontend.python.lowering.arrays.elementwise import combine
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.products import product
from weft.frontend.python.lowering.arrays.reshaped import flat, in_order, reshaped, shape_items, viewed
from weft.frontend.python.lowering.arrays.sequences import sort_in_place
from weft.frontend.python.lowering.arrays.ufuncs import call_on_elements, is_elementwise
from weft.frontend.python.lowering.arrays.views import permuted
from weft.frontend.python.lowering.arrays.whole_arrays import fill
from weft.frontend.python.lowering.calls.registry import CALLS, Arguments, call, method
from weft.frontend.python.lowering.calls.typed import NONE, Typed, literal
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.lowering.numbers.comparisons import truth
from weft.frontend.python.lowering.numbers.complexes import conjugate
from weft.frontend.python.lowering.threads.cuda_memory import dtype_of
from weft.frontend.python.types import Array, NoneType, Record, boolean

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@method("copy")
def _copy(low: Lowering, array: Typed, args: Arguments) -> Typed:
    args.bind()
    return copied(low, args, array)


@method("fill")
def _fill(low: Lowering, array: Typed, args: Arguments) -> Typed:
    require_writable(array_type_of(array))
    fill(low, array, *args.bind("value"))
    return NONE


@method("dot")
def _dot(low: Lowering, array: Typed, args: Arguments) -> Typed:
    return product(low, array, *args.bind("b"))


@method("ravel")
def _ravel(low: Lowering, array: Typed, args: Arguments) -> Typed:
    args.bind()
    return flat(low, array)


@method("flatten")
def _flatten(low: Lowering, array: Typed, args: Arguments) -> Typed:
    args.bind()
    return flat(low, copied(low, args, array))


@method("reshape")
def _reshape(low: Lowering, array: Typed, args: Arguments) -> Typed:
    if args.keywords or not args.values:
        raise TypingError("reshape() takes a shape here", hint="write a.reshape(n, m) or a.reshape((n, m))")
    return reshaped(low, array, shape_items(args.values))


@method("view")
def _view(low: Lowering, array: Typed, args: Arguments) -> Typed:
    (dtype,) = args.bind("dtype")
    return viewed(low, array, dtype_of(dtype, "view"))


@method("astype")
def _astype(low: Lowering, array: Typed, args: Arguments) -> Typed:
    (given,) = args.bind("dtype")
    dtype = dtype_of(given, "astype")
    if isinstance(dtype, Record):
        raise TypingError(f"astype() takes a type of numbers, not {dtype}")
    if dtype is boolean:
        return combine(low, truth, array).settled(low)
    return combine(low, lambda low, x: cast(low, x, dtype), array).settled(low)


@method("conj", "conjugate")
def _conjugate(low: Lowering, array: Typed, args: Arguments) -> Typed:
    args.bind()
    return combine(low, conjugate, array).settled(low)


@method("transpose")
def _transpose(low: Lowering, array: Typed, args: Arguments) -> Typed:
    if args.values and args.keywords:
        raise TypingError(f"{args.name}() takes its axes once")
    given = args.values or args.bind("axes", optional=1)
    if len(given) == 1 and isinstance(given[0].type, NoneType):
        given = ()
    return permuted(low, array, [item.int_literal for item in shape_items(list(given))])


def _as_method(name: str):
    def lower(low: Lowering, array: Typed, args: Arguments) -> Typed:
        given = Arguments(name, [array, *args.values], args.keywords, args.key)
        function = getattr(np, name)
        return (
            call_on_elements(low, function, given)
            if is_elementwise(function)
            else CALLS[function](low, given)
        )

    return lower


for _name in ("argsort", "clip", "cumprod", "cumsum", "nonzero", "repeat", "round", "swapaxes", "trace"):
    method(_name)(_as_method(_name))


@method("sort")
def _sort(low: Lowering, array: Typed, args: Arguments) -> Typed:
    args.bind()
    require_writable(array_type_of(array))
    sort_in_place(low, array)
    return NONE


@method("item")
def _item(low: Lowering, array: Typed, args: Arguments) -> Typed:
    """The element at an index in C order; without one, the only element, which is not checked."""
    values = args.bind("index", optional=1)
    whole = flat(low, array)
    type = array_type_of(whole)
    place = element_address(low, whole, [values[0] if values else literal(0)])
    return load_element(low, place, type.dtype, element_align(type))


def _as_function(name: str):
    def lower(low: Lowering, args: Arguments) -> Typed:
        first, *rest = args.values
        if not isinstance(first.type, Array):
            raise TypingError(f"{name}() takes an array, not {first.type}")
        return _FUNCTIONS[name](low, first, Arguments(name, rest, args.keywords))

    return lower


_FUNCTIONS = {"ravel": _ravel, "reshape": _reshape, "transpose": _transpose}
for _name in _FUNCTIONS:
    call(getattr(np, _name))(_as_function(_name))


@call(np.ascontiguousarray)
def _ascontiguousarray(low: Lowering, args: Arguments) -> Typed:
    (array,) = args.bind("a")
    if not isinstance(array.type, Array):
        raise TypingError(f"{args.name}() takes an array, not {array.type}")
    if array.type.layout == "C":
        return array
    return copied(low, args, array) if array.type.ndim == 1 else in_order(low, array)


@call(np.shape)
def _shape(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.attributes import sizes

    (array,) = args.bind("a")
    if not isinstance(array.type, Array):
        raise TypingError(f"{args.name}() takes an array, not {array.type}")
    return sizes(extents_of(low, array))

"""Python's ``min`` and ``max``: of numbers, of a tuple, of an array of one dimension.

A later value is taken only if it is strictly less (greater), so NaN is taken where it comes first, as in Python. Of an
empty array functions raise ValueError; in kernels, where nothing is raised, the result is 0, and a finding with
``debug=True``.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.diag.source import SourceSpan
from weft.frontend.python.components import components
from weft.frontend.python.lowering.arrays.array_parts import extents_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.heap import error_code, zero
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.whole_arrays import for_each
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal
from weft.frontend.python.lowering.checks import EMPTY, check
from weft.frontend.python.lowering.choices import select
from weft.frontend.python.lowering.numbers.comparisons import relation
from weft.frontend.python.types import Array, Scalar, Tuple
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _extreme(symbol: str) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        values = args.values
        if len(values) == 1 and isinstance(values[0].type, Array):
            return _of_array(low, args, symbol, values[0])
        if len(values) == 1 and isinstance(values[0].type, Tuple):
            values = list(items_of(values[0]))
        elif len(values) == 1:
            values = []
        if not values or args.keywords:
            raise TypingError(
                f"{args.name}() takes two or more numbers, a tuple of them, or an array of one dimension"
            )
        result = values[0]
        if not isinstance(result.type, Scalar):
            raise TypingError(f"{args.name}() takes numbers, not {result.type}", hint="write a loop")
        for value in values[1:]:
            result = _choose(low, relation(low, symbol, value, result), value, result)
        return result

    return lower


call(builtins.min)(_extreme("<"))
call(builtins.max)(_extreme(">"))


def _choose(low: Lowering, test: Typed, then: Typed, otherwise: Typed) -> Typed:
    if test.is_literal:
        return then if test.literal else otherwise
    return select(low, test.value, then, otherwise)


def _of_array(low: Lowering, args: Arguments, symbol: str, array: Typed) -> Typed:
    type = array.type
    assert isinstance(type, Array)
    dtype = type.dtype
    if type.ndim != 1 or not isinstance(dtype, Scalar) or dtype.kind == "c" or args.keywords:
        raise TypingError(
            f"{args.name}() takes an array of one dimension, of real numbers, not {type}",
            hint="write a loop over the elements",
        )
    extent = extents_of(low, array)[0]
    require_elements(low, args, extent)

    def element(index: Typed) -> Typed:
        return load_element(low, element_address(low, array, [index]), dtype, element_align(type))

    (component,) = components(dtype)
    slot = low.alloca(component.type, "extreme")
    low.builder.store(zero(component.type), slot)
    if not isinstance(extent, ConstInt):
        some, compare = low.new_block("extreme.some"), low.new_block("extreme.each")
        low.branch_if(low.builder.icmp("sgt", extent, const_int(0)), some, compare)
        low.start(some)
        low.builder.store(element(literal(0)).value, slot)
        low.branch(compare)
        low.start(compare)
    else:
        low.builder.store(element(literal(0)).value, slot)

    def take(indices: list[Typed]) -> None:
        value = element(indices[0])
        best = Typed(dtype, (low.builder.load(component.type, slot),))
        low.builder.store(_choose(low, relation(low, symbol, value, best), value, best).value, slot)

    for_each(low, [extent], take)
    return Typed(dtype, (low.builder.load(component.type, slot),), low=0 if dtype.kind == "u" else None)


def require_elements(low: Lowering, args: Arguments, extent: Value) -> None:
    """Fail where there are none."""
    if isinstance(extent, ConstInt):
        if extent.value == 0:
            raise TypingError(f"{args.name}() of an array without elements")
        return
    is_empty = low.builder.icmp("eq", extent, const_int(0))
    if low.stack[0].is_kernel:
        check(low, EMPTY, is_empty)
        return
    place = low.builder.loc
    assert place is not None
    at = SourceSpan(low.source.file, place.line, place.column)
    low.frame.use(low)
    message = f"{args.name}() iterable argument is empty"
    low.frame.fail_if(low, is_empty, error_code(low, "ValueError", message, at))

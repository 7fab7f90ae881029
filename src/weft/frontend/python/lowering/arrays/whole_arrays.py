"""Loops over all elements of an array that the source does not write out: for filling, copying, extremes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.memory import load_element, store_element
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Scalar, pyint
from weft.ir.builder import const_int
from weft.ir.types import I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def fill(low: Lowering, array: Typed, value: Typed) -> None:
    """Store one number to all elements."""
    dtype = array_type_of(array).dtype
    if not isinstance(dtype, Scalar):
        raise UnsupportedError(f"an array of {dtype} cannot be filled", hint="assign the fields in a loop")
    if not isinstance(value.type, Scalar):
        raise TypingError(
            f"{value.type} cannot be assigned to all elements", hint="write a loop over the elements"
        )
    element = cast(low, value, dtype)
    align = element_align(array_type_of(array))

    def store(indices: list[Typed]) -> None:
        store_element(low, element, element_address(low, array, indices), dtype, align)

    for_each(low, extents_of(low, array), store)


def copy(low: Lowering, source: Typed, target: Typed) -> None:
    """Store the elements of an array to one of the same shape, which it does not overlap."""
    one, other = array_type_of(source), array_type_of(target)

    def move(indices: list[Typed]) -> None:
        value = load_element(low, element_address(low, source, indices), one.dtype, element_align(one))
        store_element(low, value, element_address(low, target, indices), other.dtype, element_align(other))

    for_each(low, extents_of(low, source), move)


def number(low: Lowering, array: Typed, start: Value, step: Value) -> None:
    """Store ``start``, ``start + step``, ... to the elements of an array of one dimension."""
    type = array_type_of(array)

    def store(indices: list[Typed]) -> None:
        value = low.builder.binary("add", start, low.builder.binary("mul", step, indices[0].value))
        address = element_address(low, array, indices)
        store_element(low, Typed(pyint, (value,)), address, type.dtype, element_align(type))

    for_each(low, extents_of(low, array), store)


def for_each(
    low: Lowering, extents: Sequence[Value], body: Callable[[list[Typed]], None], outer: Sequence[Typed] = ()
) -> None:
    """Loops over `extents`, one inside the other, with `body` in the innermost."""
    if not extents:
        body(list(outer))
        return
    counter = low.alloca(I64, "index")
    low.builder.store(const_int(0), counter)
    head, inside, end = (low.new_block(f"each.{part}") for part in ("cond", "body", "end"))
    low.branch(head)
    low.start(head)
    index = low.builder.load(I64, counter)
    low.branch_if(low.builder.icmp("slt", index, extents[0]), inside, end)
    low.start(inside)
    for_each(low, extents[1:], body, [*outer, Typed(pyint, (index,), low=0)])
    if not low.is_dead:
        low.builder.store(low.builder.binary("add", index, const_int(1), ("nuw", "nsw")), counter)
        low.branch(head)
    low.start(end)

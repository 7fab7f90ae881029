"""What ``for`` goes over: ranges, tuples, arrays, points, and their `enumerate`, `reversed` and `zip`."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import Slice, element_address, element_align
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.points import Points
from weft.frontend.python.lowering.arrays.reshaped import product_of
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.calls.enumerations import Member
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of, literal, static
from weft.frontend.python.lowering.checks import ZERO_STEP, check
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.lowering.ranges import Range, range_length
from weft.frontend.python.prange import in_place, prange
from weft.frontend.python.types import Array, Tuple, pyint
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.types import I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Zipped:
    """Several things to loop over in step: the result of ``zip`` or ``enumerate``."""

    __slots__ = ("sources", "start")

    def __init__(self, sources: list[Typed], start: Typed | None = None) -> None:
        self.sources = sources
        self.start = start

    def __repr__(self) -> str:
        return "zip()" if self.start is None else "enumerate()"


@call(range)
def _lower_range(low: Lowering, args: Arguments) -> Typed:
    return static(_range(low, args))


@call(prange)
def _lower_prange(low: Lowering, args: Arguments) -> Typed:
    made = _range(low, args)
    made.parallel = True
    return static(made)


@call(in_place)
def _lower_in_place(low: Lowering, args: Arguments) -> Typed:
    made = _range(low, args)
    made.parallel = made.in_place = True
    return static(made)


def _range(low: Lowering, args: Arguments) -> Range:
    values = args.bind("start", "stop", "step", optional=2)
    if len(values) == 1:
        return Range(literal(0), values[0], literal(1))
    step = values[2] if len(values) == 3 else literal(1)
    if step.literal == 0:
        raise TypingError("the step of a range cannot be zero")
    if low.unit.options.debug and step.literal is None:
        size = to_int64(low, step, "an argument of range()")
        check(low, ZERO_STEP, low.builder.icmp("eq", size, const_int(0)))
    return Range(values[0], values[1], step)


@call(enumerate)
def _lower_enumerate(low: Lowering, args: Arguments) -> Typed:
    values = args.bind("iterable", "start", optional=1)
    return static(Zipped([values[0]], values[1] if len(values) == 2 else literal(0)))


@call(reversed)
def _lower_reversed(low: Lowering, args: Arguments) -> Typed:
    (value,) = args.bind("sequence")
    source = value.static
    if isinstance(value.type, Tuple):
        return TupleValue(tuple(reversed(items_of(value))))
    if isinstance(source, Range) and not source.parallel:
        return static(_reverse(low, source))
    if isinstance(value.type, Array) and value.type.ndim:
        return view(low, value, [Slice(step=literal(-1))])
    raise TypingError(f"{value.type} cannot be reversed", hint="give a range, a tuple or an array")


def _reverse(low: Lowering, source: Range) -> Range:
    """The items of a range from the last one to the first."""
    start, stop, step = source.ends(low)
    forward = source.step.int_literal
    if forward is None:
        raise TypingError(
            "a range with a step that is no literal cannot be reversed", hint="loop over it backwards"
        )
    b = low.builder
    if forward in (1, -1):
        first = b.binary("sub", stop, step, ("nsw",))
    else:
        steps = b.binary("sub", range_length(low, start, stop, step), const_int(1), ("nsw",))
        first = item_of_range(low, start, step, Typed(pyint, (steps,)))
    known = source.start.low
    end = b.binary("sub", start, step, ("nsw",))
    bound = None if known is None or forward != 1 else known - 1
    return Range(
        Typed(pyint, (first,)), Typed(pyint, (end,), low=bound, sure=source.start.sure), literal(-forward)
    )


@call(zip)
def _lower_zip(low: Lowering, args: Arguments) -> Typed:
    return static(Zipped(args.values))


def looped_over(iterable: Typed) -> list[Typed]:
    """The values that a loop goes over, those in `zip` and `enumerate` one by one."""
    source = iterable.static
    if isinstance(source, Zipped):
        return [value for part in source.sources for value in looped_over(part)]
    if isinstance(source, Points):
        return [] if source.array is None else [source.array]
    return [iterable]


def constant_items(iterable: Typed) -> tuple[Typed, ...] | None:
    """The items of what is unrolled: a tuple, or tuples enumerated or zipped."""
    if isinstance(iterable.type, Tuple):
        return items_of(iterable)
    source = iterable.static
    if isinstance(source, type) and issubclass(source, enum.Enum):
        return tuple(Member(member) for member in list(source))
    if not isinstance(source, Zipped):
        return None
    columns = [constant_items(part) for part in source.sources]
    known = [column for column in columns if column is not None]
    if not known or len(known) != len(columns):
        return None
    if source.start is not None:
        first = source.start.int_literal
        if first is None:
            return None
        return tuple(TupleValue((literal(first + i), item)) for i, item in enumerate(known[0]))
    return tuple(TupleValue(row) for row in zip(*known, strict=False))


def indexed(low: Lowering, iterable: Typed, node: ast.For) -> tuple[Typed, Callable[[Typed], Typed]]:
    """The length of something that is looped over by an index, and its item at that index."""
    source = iterable.static
    if isinstance(iterable.type, Array):
        type = iterable.type
        extent = extents_of(low, iterable)[0]
        length = literal(extent.signed) if isinstance(extent, ConstInt) else Typed(pyint, (extent,), low=0)
        if type.ndim > 1:
            return length, lambda i: view(low, iterable, [i])
        return length, lambda i: load_element(
            low, element_address(low, iterable, [i]), array_type_of(iterable).dtype, element_align(type)
        )
    if isinstance(source, Zipped):
        parts = [indexed(low, part, node) for part in source.sources]
        length = _least(low, [length for length, _ in parts])
        start = source.start
        if start is None:
            return length, lambda i: TupleValue(tuple(item(i) for _, item in parts))
        from weft.frontend.python.lowering.numbers.arithmetic import binary

        return length, lambda i: TupleValue((binary(low, "+", i, start), parts[0][1](i)))
    if isinstance(source, Range) and not source.parallel:
        return _items_of_range(low, source)
    if isinstance(source, Points):
        count = product_of(low, source.extents)
        return Typed(pyint, (count,), low=0), lambda i: source.item(low, _unravelled(low, i, source.extents))
    raise TypingError(
        f"{iterable.type} cannot be looped over",
        low.span(node.iter),
        "loop over range(), a tuple, an array, np.ndindex(), or enumerate() or zip() of these",
    )


def _unravelled(low: Lowering, number: Typed, extents: list[Value]) -> list[Typed]:
    """The indices of the point that comes as the given one in C order."""
    rest = to_int64(low, number, "a number")
    found: list[Typed] = []
    for extent in reversed(extents[1:]):
        found.insert(0, Typed(pyint, (low.builder.binary("urem", rest, extent),), low=0))
        rest = low.builder.binary("udiv", rest, extent)
    return [Typed(pyint, (rest,), low=0), *found] if extents else []


def _items_of_range(low: Lowering, source: Range) -> tuple[Typed, Callable[[Typed], Typed]]:
    """The length of a range, and its item at an index."""
    start, stop, step = source.ends(low)
    length = Typed(pyint, (range_length(low, start, stop, step),), low=0)
    upwards = source.step.least is not None and source.step.least >= 1
    bound = source.start.low if upwards else None
    return length, lambda i: Typed(
        pyint, (item_of_range(low, start, step, i),), low=bound, sure=source.start.sure
    )


def _least(low: Lowering, lengths: list[Typed]) -> Typed:
    result = lengths[0]
    for other in lengths[1:]:
        least = low.unit.llvm("llvm.smin.i64", I64, I64, I64)
        value = low.builder.call(least, (to_int64(low, result, "a length"), to_int64(low, other, "a length")))
        result = Typed(pyint, (value,), low=0)
    return result


def item_of_range(low: Lowering, start: Value, step: Value, number: Typed) -> Value:
    """The item of a range at an index."""
    return low.builder.binary("add", start, low.builder.binary("mul", step, number.value, ("nsw",)), ("nsw",))

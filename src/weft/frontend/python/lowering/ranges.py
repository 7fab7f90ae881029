"""Ranges, as the compile-time objects that ``range(...)`` evaluates to, and how many items they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.frontend.python.types import pyint
from weft.ir.builder import const_int
from weft.ir.constants import FALSE
from weft.ir.types import I1, I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Range:
    """A range, or what a loop over `prange` goes over."""

    __slots__ = ("in_place", "parallel", "start", "step", "stop")

    def __init__(self, start: Typed, stop: Typed, step: Typed) -> None:
        self.start = start
        self.stop = stop
        self.step = step
        self.parallel = False
        self.in_place = False

    def __repr__(self) -> str:
        return "prange()" if self.parallel else "range()"

    def ends(self, low: Lowering) -> tuple[Value, Value, Value]:
        """Start, stop and step in 64 bits."""
        start, stop, step = (
            to_int64(low, value, "an argument of range()") for value in (self.start, self.stop, self.step)
        )
        return start, stop, step

    def length(self, low: Lowering) -> Typed:
        """How many items it has."""
        return Typed(pyint, (range_length(low, *self.ends(low)),), low=0)


def range_length(low: Lowering, start: Value, stop: Value, step: Value) -> Value:
    """``len(range(start, stop, step))``; a step of 0, which no range has, gives none, as in loops over `range` here."""
    b, zero, one = low.builder, const_int(0), const_int(1)
    falls = b.icmp("slt", step, zero)
    first, last = b.select(falls, stop, start), b.select(falls, start, stop)
    # The ends of an empty range may be so far apart that their difference wraps to a positive one.
    last = b.call(low.unit.llvm("llvm.smax.i64", I64, I64, I64), (last, first))
    distance = b.select(b.icmp("eq", step, zero), zero, b.binary("sub", last, first))
    size = b.call(low.unit.llvm("llvm.abs.i64", I64, I64, I1), (step, FALSE))
    size = b.call(low.unit.llvm("llvm.umax.i64", I64, I64, I64), (size, one))
    return b.binary("udiv", b.binary("add", distance, b.binary("sub", size, one)), size)

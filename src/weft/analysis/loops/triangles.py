"""Triangles: inner loops whose bounds move with the counter of the loop around them.

``for j in range(i)`` runs another number of times in each iteration of a loop over ``i``, and yet all that run it begin
with ``j = 0``; all that run ``for j in range(i + 1, n)`` end with ``j = n - 1``. What such a loop does there, two
iterations around it do alike. That two run it at all is decided for a loop around it that is long where nobody knows
how long it is: bounds are sums of multiples of its counter and of its own bound.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView

_LONG = 1 << 30
"""Iterations of a loop that runs nobody knows how often."""


class Shared(Enum):
    """What two iterations of the loop around have in common."""

    BEGIN = "begin"
    END = "end"


class Triangle(Struct, frozen=True):
    """An inner loop that certainly runs in two iterations of the loop around it.

    Parameters
    ----------
    inner
        The inner loop.
    shared
        Which of the values of its counter are alike in these.
    """

    inner: CountedLoop
    shared: Shared


class _Linear(Struct, frozen=True):
    """``counter·i + bound·n + constant`` of the loop around."""

    counter: int
    bound: int
    constant: int

    def plus(self, other: _Linear, times: int = 1) -> _Linear:
        return _Linear(
            self.counter + times * other.counter,
            self.bound + times * other.bound,
            self.constant + times * other.constant,
        )

    def at(self, counter: int, bound: int) -> int:
        return self.counter * counter + self.bound * bound + self.constant


def triangles_in(view: CFGView, loop: CountedLoop) -> tuple[Triangle, ...]:
    """The triangles inside `loop`."""
    numbers = frozenset(view.numbers(loop.blocks))
    inside = [
        counted_loop(view, x, early=True)
        for x in loop_forest(view.cfg).loops
        if x.blocks < numbers and x.header != view.index[loop.header]
    ]
    found = [_triangle(loop, inner) for inner in inside if isinstance(inner, CountedLoop)]
    return tuple(triangle for triangle in found if triangle is not None)


def counts(loop: CountedLoop, value: Value) -> bool:
    """Whether a value is linear in the loop's counter, and moves with it."""
    form = _linear(loop, value, {})
    return form is not None and form.counter != 0


def _triangle(loop: CountedLoop, inner: CountedLoop) -> Triangle | None:
    start, bound = (_linear(loop, end, {}) for end in (inner.counter.start, inner.bound))
    step = inner.counter.step
    if start is None or bound is None or not inner.top_tested or inner.predicate == "ne":
        return None
    if inner.tests_next:
        start = start.plus(_Linear(0, 0, step))
    if start.counter == 0:
        shared = Shared.BEGIN
    elif bound.counter == 0 and abs(step) == 1:
        shared = Shared.END
    else:
        return None
    room = bound.plus(start, -1) if step > 0 else start.plus(bound, -1)
    if inner.predicate.endswith("e"):
        room = room.plus(_Linear(0, 0, 1))
    return Triangle(inner, shared) if room.counter and _holds_twice(loop, room) else None


def _holds_twice(loop: CountedLoop, room: _Linear) -> bool:
    """Whether a linear value is greater than zero in two iterations: in the first two, or in the last."""
    start, step = loop.counter.start, loop.counter.step
    rising = step > 0 and loop.predicate in ("slt", "ult", "ne") and not loop.tests_next
    if not isinstance(start, ConstInt) or not rising:
        return False
    first = start.signed
    end = loop.bound.signed if isinstance(loop.bound, ConstInt) else first + step * _LONG
    times = -((first - end) // step)
    pairs = (0, 1), (times - 2, times - 1)
    return times > 1 and any(all(room.at(first + step * k, end) > 0 for k in pair) for pair in pairs)


def _linear(loop: CountedLoop, value: Value, known: dict[Value, _Linear | None]) -> _Linear | None:
    if value not in known:
        known[value] = _computed(loop, value, known)
    return known[value]


def _computed(loop: CountedLoop, value: Value, known: dict[Value, _Linear | None]) -> _Linear | None:
    if value is loop.counter.phi:
        return _Linear(1, 0, 0)
    if isinstance(value, ConstInt):
        return _Linear(0, 0, value.signed)
    if value is loop.bound:
        return _Linear(0, 1, 0)
    if not isinstance(value, Instruction) or value.op not in ("add", "sub", "mul", "shl"):
        return None
    a, b = (_linear(loop, operand, known) for operand in value.operands)
    if a is None or b is None:
        return None
    if value.op in ("add", "sub"):
        return a.plus(b, 1 if value.op == "add" else -1)
    if b.counter or b.bound:
        return None
    factor = b.constant if value.op == "mul" else 1 << (b.constant & 63)
    return _Linear(0, 0, 0).plus(a, factor)

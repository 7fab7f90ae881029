"""What belongs into shared memory (Juravle, §5.2, Algorithm 2): bytes that neighbouring threads read both.

The bytes that one thread reads with an access, in all iterations of its own loops, are an interval ``[low, end)`` in
the iterations of the grid; of an access with rows, one interval of rows and one of bytes in a row
(`two_dimensional`). The next thread in a dimension reads the interval that is moved by a *shift*; both read ``end -
low - |shift|`` bytes. A block of B threads reads ``end - low + |shift|·(B - 1)``. That is the thesis's evaluation at
the first and the last thread, for intervals that move in either direction, and half-open: its own intervals end at
the start of the last element.

Conditions in the loop's body make no interval smaller here: a block copies what its threads may read. Accesses of one
thread are put together first (`grouping`), so that the five loads of a stencil overlap though none does alone.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.mapping.coalescing import LaneCost
from weft.analysis.mapping.grid import DIMENSIONS, Mapping
from weft.analysis.mapping.two_dimensional import two_dimensional
from weft.analysis.mapping.work import loops_between
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression
from weft.analysis.symbolic.extent import bound_of
from weft.analysis.symbolic.facts import Facts

BLOCK = tuple(Symbol(f"B{d}", -1, low=1) for d in DIMENSIONS)
"""The threads of a block in each dimension."""


_THREADS = (32, 8, 1)
_SIZE = 1024


class Interval(Struct, frozen=True):
    """What a thread reads in one dimension of an array, and how that moves from thread to thread.

    Parameters
    ----------
    low, end
        In the iterations of the grid.
    shifts
        How far the interval of the next thread in each dimension of the grid is moved.
    """

    low: Expression
    end: Expression
    shifts: tuple[Expression, ...]

    @property
    def width(self) -> Expression:
        return self.end - self.low


class Area(Struct, frozen=True):
    """What the threads of a block touch of an array.

    Parameters
    ----------
    access
        The access, the first of several.
    lines
        The lines of all of them.
    pitch
        Bytes of a row; None without rows.
    intervals
        Of rows, if there are any, and of bytes.
    facts
        What is known of the symbols.
    is_scattered
        Whether a warp touches more lines than its bytes need.
    dimensions
        Those of the grid.
    assumptions
        What this rests on.
    """

    access: Access
    lines: tuple[int, ...]
    pitch: Expression | None
    intervals: tuple[Interval, ...]
    facts: Facts
    is_scattered: bool
    dimensions: int
    assumptions: tuple[Assumption, ...]

    @property
    def overlaps(self) -> tuple[Expression | None, ...]:
        """For each dimension of the grid the bytes that two neighbours both touch; None for none."""
        return tuple(_overlap(self.intervals, d, self.facts) for d in range(self.dimensions))

    @property
    def reason(self) -> str | None:
        """``overlap`` of what threads read; ``uncoalesced`` if each has its own bytes, and a warp's are scattered."""
        if not self.access.is_write and any(o is not None for o in self.overlaps):
            return "overlap"
        return "uncoalesced" if self.is_scattered and self.is_dense else None

    @property
    def is_dense(self) -> bool:
        """Whether a block needs at least half of the bytes that it would copy, for blocks of 32 by 8 threads."""
        own = 1
        for interval in self.intervals:
            own *= _number(interval.width)
        threads = 1
        for count in _THREADS[: self.dimensions]:
            threads *= count
        return 2 * own * threads >= _number(self.bytes)

    @property
    def block(self) -> tuple[tuple[Expression, Expression], ...]:
        """Of each interval what a block reads whose first thread has the iterations in it."""
        return tuple(_of_block(i) for i in self.intervals)

    @property
    def bytes(self) -> Expression:
        """The shared memory that a block needs."""
        total = as_expression(1)
        for low, end in self.block:
            total = total * (end - low)
        return total


def read_areas(
    accesses: Accesses, outermost: LoopContext, mapping: Mapping, costs: dict[Access, LaneCost]
) -> list[Area]:
    """What each access of a loop touches in a block, for a mapping; those that are not known are left out."""
    found: list[Area] = []
    for access, cost in costs.items():
        if access.base is None:
            continue
        if not any(outermost.contains(s.loop) for s in access.offset.symbols()):
            # The same bytes in all iterations: a register has them.
            continue
        area = _area(accesses, outermost, mapping, access, cost)
        if area is not None:
            found.append(area)
    return found


def _area(
    accesses: Accesses, outermost: LoopContext, mapping: Mapping, access: Access, cost: LaneCost
) -> Area | None:
    assumptions: dict[Assumption, None] = {}
    facts = access.facts
    rows = two_dimensional(access.offset, facts)
    values = [(access.offset, access.element)]
    if rows is not None:
        values = [(rows.row, 1), (rows.column, access.element)]
    intervals: list[Interval] = []
    for value, size in values:
        interval = _interval(accesses, outermost, mapping, access, value, size)
        if interval is None:
            return None
        intervals.append(interval)
    for shift in (s for i in intervals for s in i.shifts):
        if not facts.is_nonnegative(shift) and not facts.is_nonnegative(-shift):
            assumptions[Assumption("sign", f"{shift} is not negative", access.line, shift)] = None
            facts = facts.also([shift])
    scattered = _is_scattered_over_lines(cost, access, facts)
    pitch = None if rows is None else rows.pitch
    return Area(
        access,
        (access.line,),
        pitch,
        tuple(intervals),
        facts,
        scattered,
        len(mapping.loops),
        tuple(assumptions),
    )


def _interval(
    accesses: Accesses,
    outermost: LoopContext,
    mapping: Mapping,
    access: Access,
    value: Expression,
    size: int,
) -> Interval | None:
    made = accesses.reconstruction
    grid = [loop.iteration for loop in mapping.loops]
    own = [loop for loop in loops_between(access.loop, outermost) if loop.iteration not in grid]
    inside = {loop.iteration for loop in own}
    if any(outermost.contains(s.loop) and s not in inside and s not in grid for s in value.symbols()):
        return None
    bounds: list[Expression] = []
    for loop in own:
        trips = made.trip_count(loop)
        if trips is not None:
            last = access.facts.simplified(trips) - 1
            bounds += [last - as_expression(loop.iteration), last]
    facts = Facts(bounds)
    ends = [bound_of(value, lambda s: s in inside, facts, upper=upper) for upper in (False, True)]
    low, last = ends
    if low is None or last is None:
        return None
    low, end = access.facts.simplified(low), access.facts.simplified(last) + size
    shifts: list[Expression] = []
    for iteration in grid:
        step: dict[Atom, Expression] = {iteration: as_expression(iteration) + 1}
        shift = low.substitute(step) - low
        if shift != end.substitute(step) - end or any(outermost.contains(s.loop) for s in shift.symbols()):
            return None
        shifts.append(shift)
    return Interval(low, end, tuple(shifts))


def _overlap(intervals: tuple[Interval, ...], dimension: int, facts: Facts) -> Expression | None:
    """The bytes that two neighbours in a dimension of the grid both read."""
    total = as_expression(1)
    for interval in intervals:
        shift = interval.shifts[dimension]
        size = interval.width - (shift if facts.is_nonnegative(shift) else -shift)
        if facts.is_nonnegative(-size):
            return None
        total = total * size
    return total


def _number(value: Expression) -> int:
    """What an expression is for a usual block, and sizes of no account."""
    block = dict(zip(BLOCK, _THREADS, strict=True))
    return value.evaluate(lambda s: block.get(s, _SIZE))


def _of_block(interval: Interval) -> tuple[Expression, Expression]:
    """The interval of a block: from the first thread's to the last one's, by the direction of each shift."""
    low, end = interval.low, interval.end
    for shift, threads in zip(interval.shifts, BLOCK, strict=False):
        way = shift * (as_expression(threads) - 1)
        if shift.terms and all(c < 0 for c in shift.terms.values()):
            low = low + way
        else:
            end = end + way
    return low, end


def _is_scattered_over_lines(cost: LaneCost, access: Access, facts: Facts) -> bool:
    """Whether a warp touches more lines than its bytes need, though each thread has its own bytes."""
    if cost.stride is None or cost.stride.constant == 0:
        return False
    least = max(1, 32 * access.element // 128)
    most = cost.transactions.constant
    return most > 2 * least if most is not None else not facts.is_nonnegative(2 * least - cost.transactions)

"""What conditions on a loop's counter say of where it begins and where it ends.

`limits_of` reads a condition as least or greatest counters, `Limit`. Numbers are taken as they are, not as machine
arithmetic wraps them: a sum is read where a flag or a range says that it does not wrap, or where it is poison then, so
that a program which comes there with it is undefined.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.integers.differences import Differences
from weft.analysis.integers.intervals import INVERTED, SWAPPED, Interval, full
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.loops.counted_loops import CountedLoop, counted_exit
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.transform.loops.certain_values import CertainValues


class Limit(Struct, frozen=True):
    """A least counter, or one that is too great: ``value - minus + more``, which may be no number of the type.

    Parameters
    ----------
    value
        None for 0.
    minus
        None for 0.
    """

    is_low: bool
    value: Value | None
    more: int
    minus: Value | None = None


class Limits:
    """Reads conditions in the body of a loop that counts up by ones.

    Parameters
    ----------
    function, loop
        The loop, which is tested at its top.
    """

    def __init__(self, function: Function, loop: CountedLoop) -> None:
        view = cfg_of(function)
        self.loop = loop
        self.type = loop.counter.type
        self.ranges = ranges_of(function, view)
        self.differences = Differences(self.ranges)
        self.predicate = self._predicate()
        self.is_signed = self.predicate.startswith("s")
        self.is_inclusive = self.predicate.endswith("e")
        self._inside = set(loop.blocks)
        self._around = list(_tests_around(view, loop))
        everything = full(self.type.bits)
        self.all = everything if self.is_signed else Interval(0, (1 << self.type.bits) - 1)
        self.counters = self._counters()
        self.certain = CertainValues(view, self.ranges, self.before, self._least())

    @property
    def first(self) -> Limit:
        """Where the loop begins."""
        return self._limit(self.loop.counter.start, 0)

    @property
    def last(self) -> Limit:
        """Where it ends."""
        return replace(self._limit(self.loop.bound, 1 if self.is_inclusive else 0), is_low=False)

    @property
    def before(self) -> BasicBlock:
        """The block before the loop."""
        return self.loop.preheader

    def number(self, value: Value | None) -> int | None:
        """What a constant is, as the loop counts."""
        if not isinstance(value, ConstInt):
            return None
        return value.signed if self.is_signed else value.value

    def _predicate(self) -> str:
        """The predicate of the loop's test, with a sign where that says the same."""
        loop, predicate = self.loop, self.loop.predicate
        test = loop.header.terminator.operands[0]
        signed = isinstance(test, Instruction) and "samesign" in test.flags
        if predicate == "ult" and not signed:
            signed = all(map(self._is_natural, (loop.counter.start, loop.bound)))
        return f"s{predicate[1:]}" if signed else predicate

    def _counters(self) -> Interval:
        """What the counter may be in iterations."""
        first, last = self._range(self.loop.counter.start).lo, self._range(self.loop.bound).hi
        return Interval(first, last if self.is_inclusive else last - 1)

    def _range(self, value: Value) -> Interval:
        """What a value may be before the loop, as the loop counts."""
        number = self.number(value)
        if number is not None:
            return Interval(number, number)
        known = self.ranges.at(value, self.before)
        return known if known is not None and (self.is_signed or known.lo >= 0) else self.all

    def _least(self) -> dict[Value, int]:
        """What bounds of loops around are at least, by their counters."""
        known = ((bound, self.ranges.at(c, self.before), more) for c, bound, more in self._around)
        return {bound: counter.lo + more for bound, counter, more in known if counter is not None}

    def is_before(self, value: Value) -> bool:
        """Whether a value is known before the loop."""
        return not isinstance(value, Instruction) or value.block not in self._inside

    def limits_of(self, condition: Value, holds: bool) -> list[Limit]:
        """The limits that say the same of the counter as a condition; none if there are none."""
        if not isinstance(condition, Instruction) or condition.op != "icmp":
            return []
        if condition.operands[0].type != self.type:
            return []
        predicate: str = condition.predicate if holds else INVERTED[condition.predicate]
        left, right = condition.operands
        if self.is_before(left):
            left, right, predicate = right, left, SWAPPED[predicate]
        if not self.is_before(right):
            return []
        found = self._between(predicate, left, right) if predicate in ("ult", "ule") else []
        if not found and (taken := self._counter_and(left)) is not None:
            found = self._compared(predicate, *taken, right, "samesign" in condition.flags)
        return found if all(map(self.can_be_built, found)) else []

    def _counter_and(self, value: Value) -> tuple[int, Value | None] | None:
        """The number, or the value, that is added to the counter; None if that is not all, or if it may wrap."""
        phi = self.loop.counter.phi
        if value is phi:
            return 0, None
        if not isinstance(value, Instruction) or value.op != "add" or phi not in value.operands:
            return None
        added = value.operands[1 if value.operands[0] is phi else 0]
        stays = ("nsw" if self.is_signed else "nuw") in value.flags
        if not self.is_before(added):
            return None
        known = self._range(added)
        low, high = self.counters.lo + known.lo, self.counters.hi + known.hi
        if not stays and (low < self.all.lo or high > self.all.hi):
            return None
        number = self.number(added)
        return (0, added) if number is None else (number, None)

    def _between(self, predicate: str, left: Value, right: Value) -> list[Limit]:
        """Limits of a counter that, plus a number, is less than another one without a sign."""
        phi = self.loop.counter.phi
        if not isinstance(left, Instruction) or left.op != "add" or left.operands[0] is not phi:
            return []
        added, width = left.operands[1], right
        if not isinstance(added, ConstInt) or not isinstance(width, ConstInt):
            return []
        first = self.number(ConstInt(self.type, -added.value))
        assert first is not None
        behind = first + width.value + (1 if predicate == "ule" else 0)
        if behind > self.all.hi:
            return []
        return [Limit(True, None, first), Limit(False, None, behind)]

    def _compared(
        self, predicate: str, number: int, added: Value | None, other: Value, same_sign: bool
    ) -> list[Limit]:
        if predicate == "ne":
            return self._unequal(other) if number == 0 and added is None else []
        kind = predicate
        if predicate != "eq":
            if (predicate[0] == "s") is not self.is_signed and not same_sign:
                low = self.counters.lo + number
                if not self.is_signed or added is not None or low < 0 or not self._is_natural(other):
                    return []
            kind = predicate[1:]
        base = self._limit(other, -number, added)
        low = replace(base, more=base.more + (kind == "gt"))
        high = replace(base, is_low=False, more=base.more + (kind in ("le", "eq")))
        return [*([low] if kind in ("gt", "ge", "eq") else []), *([high] if kind[0] in "le" else [])]

    def _limit(self, value: Value, more: int, minus: Value | None = None) -> Limit:
        constant = self.number(value)
        if constant is None:
            return Limit(True, value, more, minus)
        return Limit(True, None, constant + more, minus)

    def _is_natural(self, value: Value) -> bool:
        known = self.ranges.at(value, self.before)
        return known is not None and known.lo >= 0

    def _unequal(self, other: Value) -> list[Limit]:
        """Limits of a counter that is not the first one, or not the last one."""
        start, bound = self.loop.counter.start, self.loop.bound
        if other == start:
            return [self._limit(start, 1)]
        last, more = self.apart(bound)
        value, less = self.apart(other)
        behind = 0 if self.is_inclusive else -1
        return (
            [replace(self._limit(bound, behind), is_low=False)]
            if (value, less) == (last, more + behind)
            else []
        )

    def apart(self, value: Value) -> tuple[Value | None, int]:
        """A value and the number that is added to it, however it wraps around."""
        constant = self.number(value)
        if constant is not None:
            return None, constant
        if isinstance(value, Instruction) and value.op == "add" and isinstance(value.operands[1], ConstInt):
            return value.operands[0], value.operands[1].signed
        return value, 0

    def can_be_built(self, limit: Limit) -> bool:
        """Whether saturating arithmetic says the same of counters as numbers that are no machine numbers do.

        What is greater than all numbers of the type becomes the greatest one, which no counter reaches but of loops up
        to and with their bound; what is less becomes the least one.
        """
        if limit.minus is not None:
            if self.is_inclusive or limit.more not in (0, 1) or limit.value is None:
                return False
            return self.counters.lo >= self.all.lo + limit.more
        least = self.all.lo if self.is_signed else -self.all.hi - 1
        if limit.value is not None and not least < limit.more <= self.all.hi - self.is_signed:
            # What is added is a number of the type, too.
            return False
        if not self.is_inclusive:
            return True
        if limit.value is None:
            return self.all.lo < limit.more <= self.all.hi
        if limit.is_low:
            return limit.more <= 0 or not self.may_exceed(limit)
        return self.counters.lo > self.all.lo

    def may_exceed(self, limit: Limit) -> bool:
        """Whether a limit may be no number of the type."""
        if limit.minus is not None:
            return True
        if limit.value is None or not limit.more:
            return not self.all.lo <= limit.more <= self.all.hi
        known = self._range(limit.value)
        return known.lo + limit.more < self.all.lo or known.hi + limit.more > self.all.hi

    def is_at_most(self, one: Limit, other: Limit) -> bool:
        """Whether a limit is known to be at most another one, before the loop."""
        if one.minus is not None or other.minus is not None:
            return False
        if one.value is other.value:
            return one.more <= other.more
        if not self.is_signed:
            return False
        greater = [(other.value, 0), *((c, more) for c, bound, more in self._around if bound is other.value)]
        return any(
            self.differences.is_sum_not_negative(
                other.more + more - one.more,
                [(v, f) for v, f in ((value, 1), (one.value, -1)) if v is not None],
                self.before,
            )
            for value, more in greater
        )


def _tests_around(view: CFGView, loop: CountedLoop) -> Iterator[tuple[Value, Value, int]]:
    """Counters of loops around, values that these are less than by a number or more, and the number."""
    own = loop_forest(view.cfg).headed_by[view.index[loop.header]]
    for outer in own.ancestors() if own is not None else ():
        counted = counted_exit(view, outer) if outer is not own else ""
        if isinstance(counted, str) or counted.tests_next:
            continue
        test, kind = counted.header.terminator.operands[0], counted.predicate
        signed = kind[0] == "s" or (isinstance(test, Instruction) and "samesign" in test.flags)
        if signed and kind[1:] in ("lt", "le"):
            yield counted.counter.phi, counted.bound, 1 if kind[1:] == "lt" else 0

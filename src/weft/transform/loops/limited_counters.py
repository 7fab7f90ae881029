"""Where a loop begins and ends once its counter is limited, computed before it.

The greatest of the least counters and the least of the greatest ones are taken, but for those of which it is known
that others make them needless. ``n`` and ``n - 1`` are such where the loop has an iteration at all: then ``n`` is not
the least number, and ``n - 1`` does not wrap around. Where that is not known, it is asked (`Ends.rests_on_entry`).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.ir import Builder, ConstInt, Instruction, Value
from weft.ir.types import FunctionType
from weft.transform.loops.counter_limits import Limit, Limits


class Ends(Struct, frozen=True):
    """Where a loop begins and ends.

    Parameters
    ----------
    limits
        The loop.
    lows, highs
        What its counter is limited by; where it begins or ends by itself is among them, if that still matters.
    rests_on_entry
        Whether this is right only where the loop has an iteration, of which nothing is known.
    is_entered
        Whether it has one, as is known or asked.
    known
        Values that are limits as they are.
    """

    limits: Limits
    lows: list[Limit]
    highs: list[Limit]
    rests_on_entry: bool
    is_entered: bool
    known: dict[Limit, Value]

    def build(self, builder: Builder) -> tuple[Value, Value]:
        """Compute the first counter, and the bound that the loop's test compares with."""
        return self._choice(builder, "max", self.lows), self._choice(builder, "min", self.highs)

    def _choice(self, builder: Builder, which: str, among: list[Limit]) -> Value:
        chosen: Value | None = None
        for limit in among:
            value = self._value(builder, limit)
            chosen = value if chosen is None else self._call(builder, which, chosen, value)
        assert chosen is not None
        return chosen

    def _value(self, builder: Builder, limit: Limit) -> Value:
        if limit in self.known:
            return self.known[limit]
        limits = self.limits
        more = limit.more - (1 if limits.is_inclusive and not limit.is_low else 0)
        if limit.value is None:
            return ConstInt(limits.type, min(max(more, limits.all.lo), limits.all.hi))
        value = self._certain(builder, limit.value)
        if limit.minus is not None:
            value = self._call(builder, "sub.sat", value, self._certain(builder, limit.minus))
        if not more:
            return value
        exceeds = limits.may_exceed(Limit(limit.is_low, limit.value, more, limit.minus))
        if not exceeds or (self.is_entered and _is_below_bound(limits, limit)):
            flags = ("nsw",) if limits.is_signed else ()
            return builder.binary("add", value, ConstInt(limits.type, more), flags)
        if limits.is_signed or more > 0:
            return self._call(builder, "add.sat", value, ConstInt(limits.type, more))
        return self._call(builder, "sub.sat", value, ConstInt(limits.type, -more))

    def _certain(self, builder: Builder, value: Value) -> Value:
        """A value that is not poison where it was used under a condition only."""
        loop = self.limits.loop
        if value in (loop.bound, loop.counter.start) or self.limits.certain.is_certain(value):
            return value
        return builder.unary("freeze", value)

    def _call(self, builder: Builder, name: str, a: Value, b: Value) -> Value:
        type, sign = self.limits.type, "s" if self.limits.is_signed else "u"
        callee = builder.module.declare(f"llvm.{sign}{name}.i{type.bits}", FunctionType(type, (type, type)))
        return builder.call(callee, (a, b))


def ends_of(limits: Limits, found: Iterable[Limit]) -> Ends:
    """Where a loop begins and ends whose counter has more limits."""
    known: dict[Limit, Value] = {}
    lows, highs = [limits.first], [limits.last]
    for limit in found:
        if limit.is_low:
            lows = _with(limits, lows, limit)
        else:
            highs = _with(limits, highs, _by_bound(limits, limit, known))
    exceeds = any(_is_below_bound(limits, limit) and limits.may_exceed(limit) for limit in highs)
    rests = exceeds and not limits.is_at_most(limits.first, _least_last(limits))
    return Ends(limits, lows, highs, rests, exceeds, known)


def _least_last(limits: Limits) -> Limit:
    """What the end of a loop is that has one iteration, as a limit: one less."""
    last = limits.last
    return Limit(False, last.value, last.more - 1)


def _with(limits: Limits, among: list[Limit], limit: Limit) -> list[Limit]:
    """Limits and another one, without those that others make needless."""

    def implies(one: Limit, other: Limit) -> bool:
        return limits.is_at_most(other, one) if limit.is_low else limits.is_at_most(one, other)

    if any(implies(one, limit) for one in among):
        return among
    return [*(one for one in among if not implies(limit, one)), limit]


def _by_bound(limits: Limits, limit: Limit, known: dict[Limit, Value]) -> Limit:
    """A limit as a number added to the bound of the loop, where it is less and the loop has an iteration."""
    bound = limits.loop.bound
    if limit.value is None or limit.value is bound or limit.minus is not None:
        return limit
    (value, less), (base, more) = limits.apart(limit.value), limits.apart(bound)
    found = Limit(False, bound, less - more)
    if value is not base or base is None or less >= more or not _is_below_bound(limits, found):
        return limit
    below = Limit(False, bound, found.more + limit.more)
    if not limits.can_be_built(below):
        return limit
    flags = limit.value.flags if isinstance(limit.value, Instruction) else ()
    if not limit.more and not limits.is_inclusive and flags in ((), ("nsw",)):
        known[found] = limit.value
    return below


def _is_below_bound(limits: Limits, limit: Limit) -> bool:
    """Whether a limit is less than the bound, and a number of the type if the loop has an iteration."""
    if limit.is_low or limit.value is not limits.loop.bound or limit.minus is not None or limit.more >= 0:
        return False
    least = limits.counters.lo + (0 if limits.is_inclusive else 1)
    behind = 1 if limits.is_inclusive else 0
    return least + limit.more - behind >= limits.all.lo

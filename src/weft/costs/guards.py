"""Guards: divergent conditions of which it is known on which side most threads of a lane group are."""

from __future__ import annotations

from enum import Enum

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.end_decisions import Joined, joined, negated
from weft.ir import Argument, Instruction, Value


class Guard(Enum):
    """A comparison of thread's numbers with a bound."""

    LANE = "lane"
    """Of the place in the lane group, or a mask that the caller gives: some threads pass, some do not."""
    TRUE_INSIDE = "true inside"
    """Most threads are within the bound, where the condition holds."""
    FALSE_INSIDE = "false inside"
    """Most threads are within the bound, where the condition does not hold."""
    ONE = "one"
    """At most one thread of a row is where the condition holds."""


_OPPOSITE: dict[Guard | None, Guard] = {
    Guard.LANE: Guard.LANE,
    Guard.TRUE_INSIDE: Guard.FALSE_INSIDE,
    Guard.FALSE_INSIDE: Guard.TRUE_INSIDE,
}


def guard_of(condition: Value, divergence: Divergence) -> Guard | None:
    """What kind of guard a divergent condition is, if any."""
    if isinstance(condition, Argument):
        return Guard.LANE
    if not isinstance(condition, Instruction):
        return None
    if (opposite := negated(condition)) is not None:
        return _OPPOSITE.get(guard_of(opposite, divergence))
    if (parts := joined(condition)) is not None:
        guard = _of_both(parts, divergence)
        # Of both at once bounds alone are looked for: where single threads pass, a copy of all around is worth more.
        return (
            None
            if parts.strict and any(c.predicate in ("eq", "ne") for c in comparisons_of(condition))
            else guard
        )
    if condition.op != "icmp":
        return None
    a, b = condition.operands
    if _is_lane(a) or _is_bit_of_lane(a):
        return Guard.LANE
    shapes = [divergence.shape(a), divergence.shape(b)]
    if not all(s.is_strided for s in shapes) or shapes[0].is_uniform == shapes[1].is_uniform:
        return None
    if condition.predicate in ("eq", "ne"):
        # A number that cannot be negative is compared so with the bound 0.
        return Guard.ONE if condition.predicate == "eq" else Guard.TRUE_INSIDE
    is_below = condition.predicate in ("slt", "sle", "ult", "ule")
    return Guard.TRUE_INSIDE if is_below == shapes[1].is_uniform else Guard.FALSE_INSIDE


def comparisons_of(condition: Value) -> list[Instruction]:
    """The comparisons that a condition is made of."""
    if (opposite := negated(condition)) is not None:
        return comparisons_of(opposite)
    if (parts := joined(condition)) is not None:
        return comparisons_of(parts.first) + comparisons_of(parts.second)
    return [condition] if isinstance(condition, Instruction) and condition.op == "icmp" else []


def _of_both(condition: Joined, divergence: Divergence) -> Guard | None:
    """What kind of guard two conditions are together, one of which may be uniform: ``a and b``, or ``a or b``."""
    is_either = not condition.both
    both = (condition.first, condition.second)
    parts = {guard_of(v, divergence) for v in both if not divergence.is_uniform(v)}
    bounds = {Guard.TRUE_INSIDE, Guard.FALSE_INSIDE}
    if is_either and len(parts) > 1:
        parts = {Guard.FALSE_INSIDE if p is Guard.ONE else p for p in parts}
    elif Guard.ONE in parts and parts <= {Guard.ONE, *bounds}:
        return Guard.ONE
    if parts == bounds:
        # Bounds on both sides: most threads are in between.
        return Guard.FALSE_INSIDE if is_either else Guard.TRUE_INSIDE
    return parts.pop() if len(parts) == 1 else None


def _is_lane(value: Value) -> bool:
    return isinstance(value, Instruction) and value.callee_name in ("weft.lane.id", "weft.lane.coordinate")


def _is_bit_of_lane(value: Value) -> bool:
    """Whether it is the thread's bit of a number that has one for each lane."""
    if not isinstance(value, Instruction) or value.op != "and":
        return False
    shifted = value.operands[1]
    if not isinstance(shifted, Instruction) or shifted.op != "shl":
        return False
    lane = shifted.operands[1]
    return _is_lane(lane.operands[0] if isinstance(lane, Instruction) and lane.op == "zext" else lane)

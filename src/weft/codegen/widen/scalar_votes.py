"""Votes on comparisons whose ends decide (`weft.analysis.divergence.end_decisions`), by one scalar.

    any(x + lane < n)   →   x < n                   all(x + lane < n)   →   x + W - 1 < n
    any(x + lane == n)  →   n - x <ᵤ W
    any(x + lane < 0)   →   x < 0 or x + W - 1 < 0, whatever wraps around

Of the last kind are the questions of lane groups at no edge (`weft.transform.numbers.inner_versions`), each frozen.
Numbers that are fewer than half of all there are, one behind the other, are not negative if the first and the last are
not.

So guards such as ``if t < width:`` compare a scalar or two where they would compare a register for every few lanes,
pack the results and take their bits.

Precondition: all lanes of the lane group are active where the vote is. Postcondition: an i1 that the vote on vectors
might give; None where that takes vectors. Where some lane's condition is poison that is anything, unless it is frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.divergence.end_decisions import (
    EndDecision,
    Joined,
    end_decision,
    joined,
    negated,
    sign_decision,
)
from weft.ir import FALSE, TRUE, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.types import I1, IntType

if TYPE_CHECKING:
    from weft.codegen.widen.context import Widening


def scalar_vote(w: Widening, condition: Value, *, every: bool, frozen: bool = False) -> Value | None:
    """Whether `condition` holds in every lane, or in any, as a scalar.

    If it is `frozen` it may be poison in some lanes, of which each then has it or not, and the others count.
    """
    if w.mask is not None:
        return None
    if w.is_uniform(condition):
        return _frozen(w, w.scalar(condition)) if frozen else w.scalar(condition)
    if (opposite := negated(condition)) is not None:
        found = scalar_vote(w, opposite, every=not every, frozen=frozen)
        return w.builder.binary("xor", found, TRUE) if found is not None else None
    if (parts := joined(condition)) is not None:
        return _of_parts(w, parts, every=every, frozen=frozen)
    if not isinstance(condition, Instruction):
        return None
    if condition.op == "freeze":
        return scalar_vote(w, condition.operands[0], every=every, frozen=True)
    if condition.op != "icmp":
        return None
    # An end that is looked at as a number that is exact is poison where that lane's is.
    decision = end_decision(w.divergence, condition) if not frozen else None
    if decision is None:
        return _at_sign(w, condition, every=every)
    if not (w.is_uniform(decision.bound) and w.is_scalar(decision.strided)):
        return None
    vote = _at_equality if decision.is_equality else _at_bound
    return vote(w, decision, every=every)


def _frozen(w: Widening, value: Value) -> Value:
    return value if isinstance(value, ConstInt) else w.builder.unary("freeze", value)


def _of_parts(w: Widening, parts: Joined, *, every: bool, frozen: bool) -> Value | None:
    """All lanes have both if all have each; whether some lane does is known where one is the same in all lanes."""
    both = (parts.first, parts.second)
    if parts.both != every and not any(w.is_uniform(part) for part in both):
        return None
    first, second = (scalar_vote(w, part, every=every, frozen=frozen) for part in both)
    if first is None or second is None:
        return None
    if parts.strict:
        return w.builder.binary("and" if parts.both else "or", first, second)
    return w.builder.select(first, *((second, FALSE) if parts.both else (TRUE, second)))


def _at_bound(w: Widening, found: EndDecision, *, every: bool) -> Value:
    offsets = _offsets(w, found.strided)
    # All lanes are below a bound if the last one is, and some lane if the first one is; above it the other way around.
    offset = max(offsets) if found.is_below == every else min(offsets)
    value, type = w.scalar(found.strided), found.strided.type
    if offset:
        assert isinstance(type, IntType)
        flags = ("nsw",) if found.predicate[0] == "s" else ("nuw",) if offset > 0 else ()
        value = w.builder.binary("add", value, ConstInt(type, offset), flags)
    return w.builder.icmp(found.predicate, value, w.scalar(found.bound))


def _at_equality(w: Widening, found: EndDecision, *, every: bool) -> Value | None:
    type, width = found.strided.type, w.lanes.width
    assert isinstance(type, IntType)
    if width < 2 or width >= 1 << type.bits:
        return None
    is_equal = found.predicate == "eq"
    if is_equal == every:
        # Lanes have different numbers: not all are the bound, and some are not.
        return ConstInt(I1, int(not is_equal))
    above, below = w.scalar(found.bound), w.scalar(found.strided)
    if w.divergence.shape(found.strided).strides != (1,):
        above, below = below, above
    distance = w.builder.binary("sub", above, below)
    return w.builder.icmp("ult" if is_equal else "uge", distance, ConstInt(type, width))


def _at_sign(w: Widening, condition: Value, *, every: bool) -> Value | None:
    """Whether numbers that may wrap around are negative, or are not."""
    asked = sign_decision(w.divergence, condition)
    if asked is None or not w.is_scalar(asked.strided):
        return None
    type, offsets = asked.strided.type, _offsets(w, asked.strided)
    assert isinstance(type, IntType)
    least, most = min(offsets), max(offsets)
    if most - least >= 1 << (type.bits - 1):
        return None
    b, value, zero = w.builder, w.scalar(asked.strided), ConstInt(type, 0)
    first, last = (b.binary("add", value, const_int(n, type)) if n else value for n in (least, most))
    signs = first if least == most else b.binary("and" if every == asked.is_below else "or", first, last)
    # Sums that wrap around are poison only where the first lane's number is, of which all others are made.
    return _frozen(w, b.icmp("slt" if asked.is_below else "sge", signs, zero))


def _offsets(w: Widening, strided: Value) -> list[int]:
    return w.lanes.offsets([s for s in w.divergence.shape(strided).strides if isinstance(s, int)])

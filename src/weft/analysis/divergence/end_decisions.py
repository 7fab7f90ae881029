"""Comparisons of numbers that grow from lane to lane with what all lanes share: the ends decide for all of them.

Where lanes hold base + Σ stride·lane (Moll, §10.2) and nothing wraps around, the least and the greatest value are those
at corners of the lane space. So whether ``x + lane < n`` holds in some lane, or in all, is a comparison of one scalar.
Equality needs no exactness: numbers that differ by less than the lanes are different ones.

Pure analysis: `end_decision` finds such comparisons, `is_decided_at_ends` conditions made of them.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence.result import Divergence
from weft.analysis.integers.intervals import SWAPPED
from weft.analysis.shapes.shape import ACTIVE
from weft.ir import FALSE, TRUE, ConstInt, Instruction, Value
from weft.ir.types import I1, IntType


class EndDecision(Struct, frozen=True):
    """A comparison ``strided predicate bound`` whose ends decide.

    Parameters
    ----------
    strided
        What grows from lane to lane, an integer.
    bound
        What all lanes share.
    predicate
        As of ``icmp``.
    """

    strided: Value
    bound: Value
    predicate: str

    @property
    def is_equality(self) -> bool:
        """Whether it asks for one number."""
        return self.predicate in ("eq", "ne")

    @property
    def is_below(self) -> bool:
        """Whether it holds of lesser numbers rather than of greater ones."""
        return self.predicate[1] == "l"


def end_decision(divergence: Divergence, comparison: Instruction) -> EndDecision | None:
    """The ``icmp`` as such a comparison; None where it is none."""
    predicate = comparison.predicate
    assert predicate is not None
    strided, bound = comparison.operands
    if divergence.shape(strided).is_uniform:
        strided, bound, predicate = bound, strided, SWAPPED[predicate]
    shape, type = divergence.shape(strided), strided.type
    if not (divergence.shape(bound).is_uniform and shape.is_strided and isinstance(type, IntType)):
        return None
    found = EndDecision(strided, bound, predicate)
    if found.is_equality:
        return found if shape.strides in ((1,), (-1,)) and type.bits > 1 else None
    exactness = shape.nsw if predicate[0] == "s" else shape.nuw
    return found if exactness >= ACTIVE else None


_SIGNS = {("slt", 0): "slt", ("sle", -1): "slt", ("sge", 0): "sge", ("sgt", -1): "sge"}
"""Comparisons with a number that ask for the sign, and the same with 0."""


def sign_decision(divergence: Divergence, condition: Value) -> EndDecision | None:
    """The condition as a question whether a strided number, which may wrap around, is negative; None if it is none."""
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return None
    strided, bound = condition.operands
    if not isinstance(bound, ConstInt) or not divergence.shape(strided).is_strided:
        return None
    assert isinstance(bound.type, IntType)
    predicate = _SIGNS.get((condition.predicate or "", bound.signed))
    return EndDecision(strided, ConstInt(bound.type, 0), predicate) if predicate is not None else None


class Joined(Struct, frozen=True):
    """Two conditions as one: ``a and b``, or ``a or b``.

    Parameters
    ----------
    first, second
        The conditions; where `first` alone decides, `second` may be poison, unless it is `strict`.
    both
        Whether both have to hold, not just one.
    strict
        Whether it is made of both whatever they are: an ``and`` or ``or``, no ``select``.
    """

    first: Value
    second: Value
    both: bool
    strict: bool


def joined(condition: Value) -> Joined | None:
    """The condition as two; None where it is none of these."""
    if not isinstance(condition, Instruction) or condition.type != I1:
        return None
    if condition.op in ("and", "or"):
        first, second = condition.operands
        return Joined(first, second, condition.op == "and", strict=True)
    if condition.op == "select":
        first, then, otherwise = condition.operands
        if otherwise == FALSE:
            return Joined(first, then, both=True, strict=False)
        if then == TRUE:
            return Joined(first, otherwise, both=False, strict=False)
    return None


def negated(condition: Value) -> Value | None:
    """What the condition is the opposite of, if it is ``xor`` with true."""
    if isinstance(condition, Instruction) and condition.op == "xor" and condition.operands[1] == TRUE:
        return condition.operands[0]
    return None


def is_decided_at_ends(divergence: Divergence, condition: Value) -> bool:
    """Whether it is known of a condition by scalars whether it holds in some lane, and whether in all."""
    if divergence.shape(condition).is_uniform:
        return True
    if (opposite := negated(condition)) is not None:
        return is_decided_at_ends(divergence, opposite)
    if (parts := joined(condition)) is not None:
        both = (parts.first, parts.second)
        uniform = any(divergence.shape(part).is_uniform for part in both)
        return uniform and all(is_decided_at_ends(divergence, part) for part in both)
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return False
    return end_decision(divergence, condition) is not None

"""What is assumed of the threads that ask a question: truth values, and of what they are computed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.ir import Instruction, Value
from weft.ir.types import Type


class Expression(Struct, frozen=True, eq=False):
    """What a value is computed from. `Conditions` makes one object of each: two are equal if they are one.

    Parameters
    ----------
    leaf
        The value, if it is not looked into.
    op, type, attrs
        How it is computed otherwise.
    operands
        From what.
    leaves
        The instructions among the leaves.
    size, number
        How many nodes it has, and when it was made.
    """

    leaf: Value | None
    op: str
    type: Type
    attrs: tuple[tuple[str, object], ...]
    operands: tuple[Expression, ...]
    leaves: frozenset[Instruction]
    size: int
    number: int


class Assumption(Struct, frozen=True):
    """That a truth value is so for the threads that ask.

    Parameters
    ----------
    test
        The truth value.
    holds
        What it is.
    """

    test: Expression
    holds: bool

    @property
    def opposite(self) -> Assumption:
        """That it is the other way round."""
        return Assumption(self.test, not self.holds)


Assumed = tuple[Assumption, ...]
"""Assumptions in the order of their expressions' numbers."""

AnyOf = tuple[Assumed, ...]
"""Threads for which one of several is so, each as a whole; all threads where there is none."""


def any_of(parts: Iterable[Assumed]) -> AnyOf:
    """The threads for which one of `parts` is so; parts that differ in one assumption alone become one without it."""
    found = dict.fromkeys(parts)
    while (pair := _resolvable(found)) is not None:
        both, merged = pair
        for part in both:
            del found[part]
        found[merged] = None
    least = [p for p in found if not any(q is not p and set(q) <= set(p) for q in found)]
    return () if () in found else tuple(sorted(least, key=lambda p: tuple(map(order_of, p))))


def _resolvable(parts: Iterable[Assumed]) -> tuple[tuple[Assumed, Assumed], Assumed] | None:
    known = {frozenset(part): part for part in parts}
    for part in known.values():
        for assumption in part:
            other = known.get(frozenset(part) - {assumption} | {assumption.opposite})
            if other is not None:
                return (part, other), tuple(a for a in part if a is not assumption)
    return None


def order_of(assumption: Assumption) -> tuple[int, bool]:
    """By what assumptions are sorted."""
    return assumption.test.number, assumption.holds

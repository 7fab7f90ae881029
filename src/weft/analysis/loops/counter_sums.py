"""Values of two loops, one in the other, as sums of their counters and of what is known before both.

Questions after the sign of sums of few small natural numbers are answered: they are noted, with the numbers that have
to be natural and small for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.memory.linear_locations import summands
from weft.ir import BasicBlock, ConstInt, Instruction, Value

_MOST_STEPS = 64
_MOST_WEIGHT = 7
"""Sums of so many small natural numbers do not wrap around."""


def is_inside(value: Value, inside: Collection[BasicBlock]) -> bool:
    """Whether a value is computed in one of these blocks."""
    return isinstance(value, Instruction) and value.block in inside


class CounterSums:
    """Values of a loop as sums of counters, and of what is known before it.

    The counter of the inner loop stands for how many iterations came before, the outer one's for itself.

    Attributes
    ----------
    inside
        The blocks of both loops.
    inner
        The inner loop.
    first
        The counter of the outer loop; None where there is none.
    signs, naturals
        Questions that are answered, and the numbers that must be natural and small for that, counters left out.
    """

    def __init__(self, inside: Collection[BasicBlock], inner: CountedLoop, first: Value | None) -> None:
        self.inside = inside
        self.inner = inner
        self.first = first
        self.signs: dict[Instruction, None] = {}
        self.naturals: dict[Value, None] = {}
        self._known: dict[Value, tuple[dict[Value, int], int] | None] = {}

    def trips(self) -> Value | None:
        """How often the inner loop runs, if that is one value known before both."""
        bound, start = self.of(self.inner.bound), self.of(self.inner.counter.start)
        if bound is None or start is None:
            return None
        terms = plus(bound[0], start[0], -1)
        count = bound[1] - start[1]
        if not terms and count > 0:
            return ConstInt(self.inner.counter.type, count)
        if count or list(terms.values()) != [1]:
            return None
        (value,) = terms
        return value if value.type == self.inner.counter.type and not is_inside(value, self.inside) else None

    def of(self, value: Value) -> tuple[dict[Value, int], int] | None:
        """The factors of what a value is a sum of, and a constant; None where it is no such sum."""
        if value not in self._known:
            self._known[value] = None
            self._known[value] = self._of(value)
        return self._known[value]

    def _of(self, value: Value) -> tuple[dict[Value, int], int] | None:
        if isinstance(value, ConstInt):
            return {}, value.signed
        if not is_inside(value, self.inside) or value is self.first:
            return {value: 1}, 0
        assert isinstance(value, Instruction)
        if value is self.inner.counter.phi:
            start = self.of(self.inner.counter.start)
            return None if start is None else (plus(start[0], {value: 1}, 1), start[1])
        if value.op == "select" and (sign := value.operands[0]) is not None and self._is_answered(sign):
            return self.of(value.operands[2])
        parts = summands(value)
        if parts is None:
            return None
        terms: dict[Value, int] = {}
        constant = 0
        for part, factor in parts:
            found = self.of(part)
            if found is None or len(found[0]) > _MOST_STEPS:
                return None
            terms = plus(terms, found[0], factor)
            constant += factor * found[1]
        return terms, constant

    def _is_answered(self, sign: Value) -> bool:
        """Whether a value asks whether a sum of natural numbers is negative."""
        if not isinstance(sign, Instruction) or sign.op != "icmp" or sign.predicate != "slt":
            return False
        if not is_inside(sign, self.inside):
            # Others may ask it where nothing has been tested.
            return False
        number, zero = sign.operands
        if not isinstance(zero, ConstInt) or zero.value or number.type != self.inner.counter.type:
            return False
        found = self.of(number)
        if found is None or not self._is_natural(*found):
            return False
        self.signs[sign] = None
        return True

    def _is_natural(self, terms: Mapping[Value, int], constant: int) -> bool:
        """Whether a sum is one of few small natural numbers."""
        type, counters = self.inner.counter.type, (self.inner.counter.phi, self.first)
        if constant < 0 or constant >= 1 << 20 or any(n < 0 or v.type != type for v, n in terms.items()):
            return False
        if 1 + sum(terms.values()) > _MOST_WEIGHT:
            return False
        self.naturals |= {value: None for value in terms if value not in counters}
        return True


def plus(terms: Mapping[Value, int], others: Mapping[Value, int], factor: int) -> dict[Value, int]:
    """The sum of some terms and so many times others."""
    found = dict(terms)
    for value, count in others.items():
        found[value] = found.get(value, 0) + factor * count
    return {value: count for value, count in found.items() if count}

"""How often the parts of an unrolled loop run, of all the rounds that there are.

The rounds are known as ``T - 1 = (b - a - 1) / s``, for a counter that goes from a to below b in steps of s. All tests
are of T, or of ``T - 1``, or of the dividend.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.types import IntType
from weft.transform.loops.unrolled.shapes import OneBlockLoop
from weft.transform.loops.unrolled.sums import Sum, number, plus, scaled
from weft.transform.loops.unrolled.terms import Terms


class Rounds(Struct, frozen=True):
    """All rounds.

    Parameters
    ----------
    terms
        What values are before the loops.
    factor
        How often the body stands in the unrolled loop, a power of two.
    dividend, step
        ``b - a - 1`` and s.
    """

    terms: Terms
    factor: int
    dividend: Sum
    step: Sum

    def beyond(self, value: Value) -> int | None:
        """By how much a value is more than ``T - 1``, modulo 2 to its width; None where nobody knows."""
        return self._more(self.terms.of(value))

    def _more(self, sum: Sum) -> int | None:
        less = self.dividend if self.step.constant == 1 else self.terms.quotient(self.dividend, self.step)
        return plus(sum, less, -1).constant

    def _is_dividend(self, value: Value) -> bool:
        return self.terms.of(value).key == self.dividend.key

    def asks_for_rest(self, branch: Instruction, there: BasicBlock, rest: int = 0) -> bool:
        """Whether it goes to a block where T modulo the factor is so much, and only then."""
        if branch.op != "br" or len(branch.successors) != 2:
            return False
        test = branch.operands[0]
        if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in ("eq", "ne"):
            return False
        if (test.predicate == "eq") != (branch.successors[0] is there):
            return False
        bits, wanted = test.operands
        if not isinstance(bits, Instruction) or bits.op != "and" or not isinstance(wanted, ConstInt):
            return False
        value, mask = bits.operands
        if not isinstance(mask, ConstInt):
            return False
        beyond, unit = self.beyond(value), 1
        if beyond is None:
            # Bits of the dividend, which is divided by a power of two.
            beyond, unit = 0, self.step.constant or 0
            if not self._is_dividend(value) or unit.bit_count() != 1:
                return False
        return (
            mask.value == (self.factor - 1) * unit
            and wanted.value == (beyond - 1 + rest) % self.factor * unit
        )

    def asks_for_few(self, branch: Instruction, few: BasicBlock) -> bool:
        """Whether it goes to a block where T is less than the factor, and only then."""
        if branch.op != "br" or len(branch.successors) != 2:
            return False
        test = branch.operands[0]
        if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in ("ult", "ugt"):
            return False
        value, bound = test.operands
        if not isinstance(bound, ConstInt) or (test.predicate == "ult") != (branch.successors[0] is few):
            return False
        least = bound.value + (test.predicate == "ugt")
        beyond = self.beyond(value)
        if beyond is None:
            return self._is_dividend(value) and least == (self.factor - 1) * (self.step.constant or 0)
        # T is not zero modulo 2 to its width, as b is more than a.
        return beyond in (0, 1) and least == self.factor - 1 + beyond

    def is_rest(self, sum: Sum) -> bool:
        """Whether it is T modulo the factor."""
        found = masked(self.terms, sum)
        if found is None or found[1] != self.factor - 1:
            return False
        beyond = self._more(found[0])
        return beyond is not None and beyond % self.factor == 1

    def is_whole(self, sum: Sum, is_small: bool) -> bool:
        """Whether it is the largest multiple of the factor up to T; T may be known to be less than 2³¹."""
        total = total_of(self.terms, sum, self.factor)
        if total is None or self._more(total) != 1:
            return False
        found = masked(self.terms, sum)
        if found is None:
            return self.is_rest(plus(total, sum, -1))
        half = 1 << (sum.bits - 1)
        return found[1] == -self.factor or (is_small and found[1] == half - self.factor)


def masked(terms: Terms, sum: Sum) -> tuple[Sum, int] | None:
    """What is masked, and by which bits, if a sum is that."""
    meaning = terms.meaning(sum)
    if not isinstance(meaning, tuple) or meaning[0] != "and":
        return None
    sums = [Sum(products, bits) for bits, products in meaning[-1]]
    for of, mask in (sums, sums[::-1]):
        if mask.constant is not None:
            return of, mask.constant
    return None


def total_of(terms: Terms, sum: Sum, factor: int) -> Sum | None:
    """Of what a sum is to be the largest multiple of the factor up to it."""
    found = masked(terms, sum)
    if found is not None:
        return found[0]
    for product, times in sum.products:
        rest = Sum(((product, 1),), sum.bits)
        within = masked(terms, rest)
        if times == -1 and within is not None and within[1] == factor - 1:
            return plus(sum, rest)
    return None


def rounds_of(terms: Terms, loop: OneBlockLoop, each: int) -> Sum | None:
    """How many rounds a loop that counts does, so many of them at a time."""
    found = counting(terms, loop)
    if found is None:
        return None
    phi, step, bound = found
    if step not in (each, -each):
        return None
    way = plus(bound, terms.of(loop.first(phi)), -1)
    return way if step > 0 else scaled(way, -1)


def counting(terms: Terms, loop: OneBlockLoop) -> tuple[Instruction, int, Sum] | None:
    """The counter by which a loop is left, its step, and the number at which it is left.

    Any comparison of sums is one of the counter with a number, if the counter is in them once.
    """
    branch = loop.body.terminator
    test = branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in ("eq", "ne"):
        return None
    if (test.predicate == "eq") != (branch.successors[0] is loop.exit):
        return None
    if not all(isinstance(v.type, IntType) for v in test.operands):
        return None
    low, high = map(terms.of, test.operands)
    apart = plus(low, high, -1)
    for phi in loop.phis:
        times = {p: f for p, f in apart.products if p == terms.of(phi).products[0][0]}
        if list(times.values()) not in ([1], [-1]):
            continue
        step = plus(terms.of(loop.following(phi)), terms.of(phi), -1)
        (way,) = times.values()
        # ``way·phi + rest`` is zero where the loop is left, and the counter has gone on then.
        rest = plus(apart, terms.of(phi), -way)
        if step.constant is not None and terms.is_known_outside(rest, loop.body):
            return phi, step.constant, plus(scaled(rest, -way), step)
    return None


def rising(loop: OneBlockLoop) -> tuple[Instruction, Value] | None:
    """The counter that a loop compares with a bound to go on, and the bound."""
    branch = loop.body.terminator
    test = branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in ("slt", "sgt"):
        return None
    following, bound = test.operands if test.predicate == "slt" else test.operands[::-1]
    if branch.successors[0] is not loop.body or (isinstance(bound, Instruction) and bound.block is loop.body):
        return None
    return next(((phi, bound) for phi in loop.phis if loop.following(phi) is following), None)


def below(terms: Terms, upper: Value, lower: Value) -> Sum:
    """``upper - lower - 1``."""
    way = plus(terms.of(upper), terms.of(lower), -1)
    return plus(way, number(-1, way.bits))

"""How often the parts of an unrolled loop run, of all the rounds that there are.

The rounds are known as ``T - 1 = (b - a - 1) / s``, for a counter that goes from a to below b in steps of s. All tests
are of T, or of ``T - 1``, or of the dividend.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.transform.loops.unrolled.shapes import OneBlockLoop
from weft.transform.loops.unrolled.sums import Sum, number, plus, quotient
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
        """By how much a value is more than ``T - 1``, modulo 2³²; None where nobody knows."""
        less = self.dividend if self.step.constant == 1 else self.terms.quotient(self.dividend, self.step)
        return plus(self.terms.of(value), less, -1).constant

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
        # T is not 2³², as b is more than a.
        return beyond in (0, 1) and least == self.factor - 1 + beyond

    def is_rest(self, value: Value) -> bool:
        """Whether a value is T modulo the factor."""
        if not isinstance(value, Instruction) or value.op != "and":
            return False
        of, mask = value.operands
        beyond = self.beyond(of)
        if not isinstance(mask, ConstInt) or mask.value != self.factor - 1 or beyond is None:
            return False
        return beyond % self.factor == 1

    def is_whole(self, value: Value, is_small: bool) -> bool:
        """Whether a value is the largest multiple of the factor up to T; T may be known to be less than 2³¹."""
        total = total_of(value)
        if total is None or self.beyond(total) != 1:
            return False
        assert isinstance(value, Instruction)
        second, all = value.operands[1], 1 << self.dividend.bits
        if value.op == "sub":
            return self.is_rest(second)
        return isinstance(second, ConstInt) and (
            second.value == all - self.factor or (is_small and second.value == all // 2 - self.factor)
        )

    def runs(self, loop: OneBlockLoop, times: Value, each: int) -> bool:
        """Whether a loop is left as soon as so many rounds are done, of which it does `each` at a time."""
        found = counting(loop)
        if found is None:
            return False
        phi, step, bound = found
        if step % each:
            return False
        way = plus(self.terms.of(bound), self.terms.of(loop.first(phi)), -1)
        return quotient(way, self.terms.of(times)) == step // each

    def count_of(self, loop: OneBlockLoop) -> Value | None:
        """From where, or to where, a loop counts to be left."""
        found = counting(loop)
        if found is None:
            return None
        phi, _, bound = found
        return bound if isinstance(loop.first(phi), ConstInt) else loop.first(phi)


def total_of(value: Value) -> Value | None:
    """Of what a value is a multiple up to it, if it is one at all."""
    if not isinstance(value, Instruction) or value.op not in ("and", "sub"):
        return None
    return value.operands[0]


def counting(loop: OneBlockLoop) -> tuple[Instruction, int, Value] | None:
    """The counter by which a loop is left, its step, and the number at which it is left."""
    branch = loop.body.terminator
    test = branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in ("eq", "ne"):
        return None
    if (test.predicate == "eq") != (branch.successors[0] is loop.exit):
        return None
    following, bound = test.operands
    if isinstance(bound, Instruction) and bound.block is loop.body:
        return None
    for phi in loop.phis:
        if loop.following(phi) is following and isinstance(following, Instruction) and following.op == "add":
            step = following.operands[1]
            if following.operands[0] is phi and isinstance(step, ConstInt):
                return phi, step.signed, bound
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

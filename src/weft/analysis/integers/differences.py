"""Sums and differences of integers that are not negative, by the conditions between them.

    for i in range(k): r[k - i - 1]          k - i - 1 >= 0, as i < k
    for j in range(taps, n):
        for t in range(taps): x[j - t]       j - t >= 1, as t < taps and taps <= j

Ranges know each number by itself. Here a number is taken apart to a sum, ``k - i - 1``, in which what is subtracted is
replaced by a number that it does not exceed where the question is asked, and what is added by one that it is not less
than, until the ranges of what is left show that the sum is not negative (R. Bodik, R. Gupta, V. Sarkar, "ABCD:
eliminating array bounds checks on demand", PLDI 2000, where such bounds are the edges of a graph). Bounds are the
conditions that hold there, the operands of minima and maxima, and where counters begin that only rise, or only fall.

Only sums that do not wrap around are taken apart, which ranges and flags tell: then the sum of numbers of n bits is the
number of n bits. As with ranges, an answer holds for every thread and every execution in which no value is poison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import NamedTuple

from weft.analysis.integers.intervals import Interval, full
from weft.analysis.integers.ranges import Ranges
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.types import IntType

MAX_STEPS = 4
"""Replacements that lead to an answer."""

MAX_TERMS = 4
"""Numbers that a sum has; of longer ones nothing is known."""

MAX_DEPTH = 6
"""How deep a sum is taken apart."""

BUDGET = 48
"""Sums that are looked at for an answer."""

_SUMS = frozenset(("add", "sub", "mul", "shl", "or", "xor", "sext", "zext"))


class Sum(NamedTuple):
    """A constant and numbers, each times a factor that is not zero."""

    constant: int
    terms: tuple[tuple[Value, int], ...] = ()

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """Return this sum and so many times another."""
        factors = dict(self.terms)
        for value, times in other.terms:
            factors[value] = factors.get(value, 0) + factor * times
        kept = tuple((value, times) for value, times in factors.items() if times)
        return Sum(self.constant + factor * other.constant, kept)


class Differences:
    """Answers by the ranges of a function, and the conditions that they know."""

    __slots__ = ("_ranges", "_sums")

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._sums: dict[Value, Sum] = {}

    def is_not_negative(self, value: Value, block: BasicBlock) -> bool:
        """Whether a number is known not to be negative in threads that run `block`."""
        return self._holds(self._sum_of(value), block, MAX_STEPS, set())

    def is_sum_not_negative(
        self, constant: int, terms: Iterable[tuple[Value, int]], block: BasicBlock
    ) -> bool:
        """Whether a constant and numbers times factors are known not to be negative together, as `is_not_negative`.

        A number that is compared with something is not taken apart, and what exceeds it is replaced by it.
        """
        terms = tuple(terms)
        compared = {v for value, _ in terms for v in self._compared(value, block, MAX_DEPTH)}
        total = Sum(constant)
        for value, times in terms:
            total = total.plus(self._down_to(value, compared, MAX_DEPTH), times)
        if self._holds(total, block, MAX_STEPS, set()):
            return True
        factors = dict(total.terms)
        for value in compared:
            for above, distance in self._upper_numbers(value, block):
                times = factors.get(above, 0)
                least = Sum(distance, ((value, 1),))
                lower = total.plus(_number(above), -times).plus(least, times)
                if times > 0 and self._holds(lower, block, MAX_STEPS, set()):
                    return True
        return False

    def _compared(self, value: Value, block: BasicBlock, depth: int) -> Iterator[Value]:
        """The parts of a sum of which conditions are known, but for those in one of these."""
        if self._ranges.bounds_of(value, block):
            yield value
        elif depth and isinstance(value, Instruction) and value.op in _SUMS:
            for part in value.operands:
                if isinstance(part, Instruction):
                    yield from self._compared(part, block, depth - 1)

    def _down_to(self, value: Value, kept: Set[Value], depth: int) -> Sum:
        """A number as a sum of such that are kept, and others."""
        if isinstance(value, ConstInt):
            return Sum(value.signed)
        apart = None
        if depth and value not in kept:
            apart = self._take_apart(value, lambda part: self._down_to(part, kept, depth - 1))
        return apart or _number(value)

    def _upper_numbers(self, value: Value, block: BasicBlock) -> Iterator[tuple[Value, int]]:
        """Numbers that another one does not exceed, with how much less it is at least."""
        for _, predicate, other, _ in self._ranges.bounds_of(value, block):
            is_signed = predicate in ("slt", "sle", "eq")
            if is_signed or (predicate in ("ult", "ule") and self._range(other, block).lo >= 0):
                yield other, 1 if predicate in ("slt", "ult") else 0

    def _holds(self, total: Sum, block: BasicBlock, steps: int, seen: set[Sum]) -> bool:
        if len(total.terms) > MAX_TERMS or len(seen) == BUDGET or total in seen:
            return False
        seen.add(total)
        if total.constant + sum(self._least(v, times, block) for v, times in total.terms) >= 0:
            return True
        if steps == 0:
            return False
        return any(
            self._holds(total.plus(_number(value), -times).plus(bound, times), block, steps - 1, seen)
            for value, times in total.terms
            for bound in (self._lower(value, block) if times > 0 else self._upper(value, block))
        )

    def _least(self, value: Value, times: int, block: BasicBlock | None) -> int:
        """The least that a number times a factor can be."""
        known = self._range(value, block)
        return times * (known.lo if times > 0 else known.hi)

    def _range(self, value: Value, block: BasicBlock | None) -> Interval:
        assert isinstance(value.type, IntType)
        return self._ranges.at(value, block) or full(value.type.bits)

    def _upper(self, value: Value, block: BasicBlock) -> Iterator[Sum]:
        """Sums that a number does not exceed."""
        for other, distance in self._upper_numbers(value, block):
            yield self._sum_of(other).plus(Sum(-distance))
        yield from self._ends(value, "llvm.smin.", -1)

    def _lower(self, value: Value, block: BasicBlock) -> Iterator[Sum]:
        """Sums that a number is not less than."""
        for _, predicate, other, _ in self._ranges.bounds_of(value, block):
            is_signed = predicate in ("sgt", "sge", "eq")
            if is_signed or (predicate in ("ugt", "uge") and self._range(value, block).lo >= 0):
                yield self._sum_of(other).plus(Sum(1 if predicate in ("sgt", "ugt") else 0))
        yield from self._ends(value, "llvm.smax.", 1)

    def _ends(self, value: Value, limit: str, direction: int) -> Iterator[Sum]:
        """The operands of a minimum or maximum, and where a counter of this direction begins."""
        if not isinstance(value, Instruction):
            return
        if value.op == "call" and (value.callee_name or "").startswith(limit):
            yield from map(self._sum_of, value.args)
        elif value.op == "phi":
            begins = [v for v, _ in value.incoming() if not self._moves(v, value, direction)]
            if len(begins) == 1 and begins[0] is not value and len(value.operands) > 1:
                yield self._sum_of(begins[0])

    def _moves(self, value: Value, phi: Instruction, direction: int) -> bool:
        """Whether what comes around is the φ and a constant, or a number, of this sign."""
        if not isinstance(value, Instruction) or value is phi:
            return value is phi
        rest = self._sum_of(value).plus(_number(phi), -1)
        if any(v is phi for v, _ in rest.terms) or len(rest.terms) > MAX_TERMS:
            return False
        least = direction * rest.constant
        return least + sum(self._least(v, direction * times, value.block) for v, times in rest.terms) >= 0

    def _sum_of(self, value: Value, depth: int = MAX_DEPTH) -> Sum:
        """A number as a sum, taken apart as far as nothing wraps around."""
        if isinstance(value, ConstInt):
            return Sum(value.signed)
        known = self._sums.get(value)
        if known is None:
            apart = self._take_apart(value, lambda part: self._sum_of(part, depth - 1)) if depth else None
            known = apart or _number(value)
            if depth == MAX_DEPTH:
                self._sums[value] = known
        return known

    def _take_apart(self, value: Value, sum_of: Callable[[Value], Sum]) -> Sum | None:
        if not isinstance(value, Instruction) or not isinstance(value.type, IntType):
            return None
        if value.op in ("sext", "zext"):
            operand = value.operands[0]
            is_same = value.op != "zext" or "nneg" in value.flags or self._range(operand, value.block).lo >= 0
            return sum_of(operand) if is_same else None
        if value.op not in _SUMS:
            return None
        parts = _parts_of(value)
        if parts is None:
            return None
        constant, factors = parts
        if value.op in ("add", "sub", "mul", "shl") and "nsw" not in value.flags:
            whole, least, most = full(value.type.bits), 0, 0
            for operand, times in factors:
                least += self._least(operand, times, value.block)
                most -= self._least(operand, -times, value.block)
            if least < whole.lo or most > whole.hi:
                return None
        total = Sum(constant)
        for operand, times in factors:
            total = total.plus(sum_of(operand), times)
        return total


def _number(value: Value) -> Sum:
    return Sum(0, ((value, 1),))


def _parts_of(value: Instruction) -> tuple[int, list[tuple[Value, int]]] | None:
    """What an instruction is as a constant and operands times factors, if it does not wrap around."""
    left, right = value.operands
    assert isinstance(value.type, IntType)
    match value.op:
        case "add":
            return 0, [(left, 1), (right, 1)]
        case "sub":
            return 0, [(left, 1), (right, -1)]
        case "or" if "disjoint" in value.flags:
            return 0, [(left, 1), (right, 1)]
        case "xor" if isinstance(right, ConstInt) and right.signed == -1:
            return -1, [(left, -1)]
        case "mul" if isinstance(right, ConstInt):
            return 0, [(left, right.signed)]
        case "shl" if isinstance(right, ConstInt) and right.value < value.type.bits - 1:
            return 0, [(left, 1 << right.value)]
        case _:
            return None

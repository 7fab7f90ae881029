"""What is a choice at an edge alone: ``max(x - r, 0)``, ``min(x + r, n - 1)``, ``(x + k) % n`` and their like.

Choices are minima and maxima with what is uniform, remainders by it, and selects by a comparison with it of which one
arm alone has a known stride. The number is computed at the function's beginning, or is such a one and the counter of a
loop whose ends are known there, as in ``for k in range(-r, r + 1): ... a[(x + k) % n]``: then it is asked of both ends.
Where the least is not more than the greatest, and they are as far apart as the ends, no sum between wraps around.
The counter may have fewer bits than the number, as an ``int`` of C beside an id of 64, and known numbers added to it.

Precondition: P-LLVM without predicates, shadows and guards. `inner_versions` makes copies of what is found.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import INVERTED
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.ir import Constant, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.constants import is_zero
from weft.ir.effects import is_speculatable
from weft.ir.types import I1, IntType
from weft.transform.numbers.front_versions import straight_blocks

_STEPS = 6
"""In how many steps a number may be computed, to be computed earlier."""

_LIMITS = {"llvm.smax": "slt", "llvm.smin": "sgt", "llvm.umax": "ult", "llvm.umin": "ugt"}
"""What must not hold of the number and the limit."""

LESS = ("slt", "sle")
"""What a number less than its limit fulfils."""

_MORE = ("sgt", "sge")

_COUNTING_UP = (*LESS, "ult", "ne")
"""What loops go on by from the lesser end to the greater one, which are asked for that as signed numbers."""


class EdgeNumber(Struct, frozen=True):
    """A number that lanes have a known distance apart: the sum of what is known early, and of a counter.

    Parameters
    ----------
    terms
        What is known early. Terms and ends that have fewer bits than the number are signed.
    first, last
        The counter's first value, and its last one, which is less by 1 if `behind`.
    """

    terms: tuple[Value, ...]
    first: Value | None = None
    last: Value | None = None
    behind: bool = False

    @property
    def values(self) -> Iterator[Value]:
        """All that is to be known early."""
        yield from self.terms
        if self.first is not None and self.last is not None:
            yield from (self.first, self.last)


class EdgeChoice(Struct, frozen=True):
    """A choice, and what it is where no lane is at an edge.

    Parameters
    ----------
    instruction, usual
        The choice, and what it is then.
    number, limit
        What is compared; without a number the limit is a truth value that all lanes share, compared with true.
    fails
        What must not hold of the number and the limit for any lane.
    is_natural
        Whether the number must not be negative either.
    """

    instruction: Instruction
    usual: Value
    number: EdgeNumber | None
    limit: Value
    fails: str
    is_natural: bool


def edge_choices(
    function: Function, divergence: Divergence, *, behind_guards: bool = False
) -> list[EdgeChoice]:
    """Return what lanes choose at an edge alone, those first that others are made of.

    Behind guards that will be bounds of rows calls may be early, too, such as the maximum of a length and 1.
    """
    return _Search(function, divergence, behind_guards).choices()


class _Search:
    """Finds the choices of a function."""

    def __init__(self, function: Function, divergence: Divergence, behind_guards: bool) -> None:
        self._function, self._divergence = function, divergence
        self._early = (ConstInt, Function) if behind_guards else (ConstInt,)
        self._view = cfg_of(function)
        self._counters = {loop.counter.phi: loop for loop in _counted(self._view)}
        self._numbers: dict[Value, EdgeNumber | None] = {}
        self._found: dict[Instruction, EdgeChoice] = {}
        self._there = set(self._before_choices())

    def choices(self) -> list[EdgeChoice]:
        """All of them, those first that others are made of."""
        for instruction in self._function.instructions():
            if self._may_be_choice(instruction):
                self._number(instruction)
        return list(self._found.values())

    def _before_choices(self) -> Iterator[Instruction]:
        """What runs before the first branch and the first choice."""
        for block in straight_blocks(self._function):
            for instruction in block.instructions:
                if self._may_be_choice(instruction):
                    return
                yield instruction

    def _may_be_choice(self, value: Instruction) -> bool:
        if value.op not in ("srem", "urem", "select") and _limit(value) is None:
            return False
        return not self._divergence.shape(value).is_strided

    def _number(self, value: Value) -> EdgeNumber | None:
        """What a number is where no lane is at an edge; None where that is not known, or it is an address."""
        if value.type == I1:
            return None
        if value not in self._numbers:
            self._numbers[value] = None
            self._numbers[value] = self._found_number(value)
        return self._numbers[value]

    def _found_number(self, value: Value) -> EdgeNumber | None:
        if isinstance(value, Instruction) and self._may_be_choice(value):
            choice = self._choice(value)
            if choice is None:
                return None
            self._found[value] = choice
            return self._number(choice.usual)
        if not isinstance(value.type, IntType):
            return None
        if self._divergence.shape(value).is_strided and self._is_early(value):
            return EdgeNumber((value,))
        if isinstance(value, Instruction) and value.op == "add":
            for number, other in (value.operands, reversed(value.operands)):
                if (found := self._sum(value, number, other)) is not None:
                    return found
        return None

    def _sum(self, value: Instruction, number: Value, other: Value) -> EdgeNumber | None:
        if (known := self._number(number)) is None:
            return None
        self._number(other)
        if isinstance(other, Instruction) and other in self._found:
            other = self._found[other].usual
        if not self._is_uniform(other):
            return None
        if is_zero(other):
            return known
        if self._is_early(other):
            return EdgeNumber((*known.terms, other), known.first, known.last, known.behind)
        counter, more = self._without_known(other)
        loop = self._counters.get(counter) if isinstance(counter, Instruction) else None
        if loop is None or known.first is not None or not _is_in_body(value, loop):
            return None
        start, bound = loop.counter.start, loop.bound
        if not (self._is_early(start) and self._is_early(bound)) or bound.type != counter.type:
            return None
        return EdgeNumber((*known.terms, *more), start, bound, not _reaches_bound(loop))

    def _without_known(self, number: Value) -> tuple[Value, list[Value]]:
        """What is left of a number without its extension and what is known early, and that."""
        extended, known = False, []
        while isinstance(number, Instruction):
            if not extended and (number.op == "sext" or (number.op == "zext" and "nneg" in number.flags)):
                extended, number = True, number.operands[0]
                continue
            # An extended sum is that of what is extended where it does not wrap around.
            if number.op != "add" or (extended and "nsw" not in number.flags):
                break
            early = [v for v in number.operands if self._is_uniform(v) and self._is_early(v)]
            if len(early) != 1:
                break
            known += early
            number = number.operands[1 - number.operands.index(early[0])]
        return number, known

    def _choice(self, value: Instruction) -> EdgeChoice | None:
        if value.op == "select":
            return self._select(value)
        a, b = value.operands[:2]
        if value.op in ("srem", "urem"):
            return self._asked(value, a, a, b, "sge", True)
        fails = _limit(value)
        assert fails is not None
        for number, limit in ((a, b), (b, a)):
            if found := self._asked(value, number, number, limit, fails, fails[0] == "u"):
                return found
        return None

    def _select(self, value: Instruction) -> EdgeChoice | None:
        condition, *arms = value.operands
        if is_zero(arms[1]) and (found := self._from_the_end(value, condition, arms[1])) is not None:
            return found
        moving = [self._moves(arm) for arm in arms]
        if moving[0] == moving[1]:
            return None
        usual = arms[moving.index(True)]
        if self._is_uniform(condition) and self._is_early(condition):
            return EdgeChoice(value, usual, None, condition, "eq" if usual is arms[1] else "ne", False)
        if not isinstance(condition, Instruction) or condition.op != "icmp":
            return None
        number, limit = condition.operands
        fails = INVERTED[condition.predicate] if usual is arms[0] else condition.predicate
        if fails not in (*LESS, *_MORE, "eq"):
            return None
        return self._asked(value, usual, number, limit, fails, False)

    def _from_the_end(self, value: Instruction, condition: Value, zero: Value) -> EdgeChoice | None:
        """What is added to an index that counts from the end, or to a remainder that is negative.

        Of a remainder it may be asked whether it and the divisor have different signs, and it is not 0.
        """
        if isinstance(condition, Instruction) and condition.op == "and":
            condition = next((v for v in condition.operands if _asks_for_sign(v)), condition)
        if not (isinstance(condition, Instruction) and _asks_for_sign(condition)):
            return None
        number, limit = condition.operands
        if isinstance(number, Instruction) and number.op == "xor":
            a, b = number.operands
            self._number(a)
            remainder = self._found.get(a) if isinstance(a, Instruction) else None
            if remainder is None or not remainder.is_natural or remainder.limit is not b:
                return None
            # Both are asked for their signs.
            number = a
        return self._asked(value, zero, number, limit, "slt", False)

    def _moves(self, value: Value) -> bool:
        """Whether lanes have a known distance, other than 0, of a value where none is at an edge."""
        shape = self._divergence.shape(value)
        return not shape.is_uniform and (shape.is_strided or self._number(value) is not None)

    def _asked(
        self, value: Instruction, usual: Value, number: Value, limit: Value, fails: str, is_natural: bool
    ) -> EdgeChoice | None:
        found = self._number(number)
        if found is None or self._is_uniform(number):
            return None
        if not (self._is_uniform(limit) and self._is_early(limit)):
            return None
        if found.first is not None and fails == "eq":
            return None
        return EdgeChoice(value, usual, found, limit, fails, is_natural)

    def _is_uniform(self, value: Value) -> bool:
        return self._divergence.shape(value).is_uniform

    def _is_early(self, value: Value, steps: int = _STEPS) -> bool:
        """Whether a value may be computed before the first choice."""
        if not isinstance(value, Instruction):
            return not isinstance(value, Constant) or isinstance(value, self._early)
        if value in self._there:
            return True
        if not steps or value.is_phi or self._may_be_choice(value) or not is_speculatable(value):
            return False
        return all(self._is_early(v, steps - 1) for v in value.operands)


def _limit(value: Instruction) -> str | None:
    """What must not hold of the operands of a minimum or maximum if it is to be the first one."""
    if value.op != "call":
        return None
    return _LIMITS.get((value.callee_name or "").rpartition(".")[0])


def _asks_for_sign(value: Value) -> bool:
    return (
        isinstance(value, Instruction)
        and value.op == "icmp"
        and value.predicate == "slt"
        and is_zero(value.operands[1])
    )


def _counted(view: CFGView) -> Iterator[CountedLoop]:
    """The loops that count up by ones."""
    for loop in loop_forest(view.cfg).loops:
        found = counted_loop(view, loop, computed=True)
        if not isinstance(found, CountedLoop) or found.counter.step != 1:
            continue
        # A counter that goes one beyond its bound may wrap around.
        if found.predicate in _COUNTING_UP and not (found.predicate == "sle" and _is_tested_late(found)):
            yield found


def _is_tested_late(loop: CountedLoop) -> bool:
    """Whether the body comes before the test of the same value, as in ``do ... while (k++ < n)``."""
    return not loop.top_tested and not loop.tests_next


def _reaches_bound(loop: CountedLoop) -> bool:
    """Whether the body runs where the counter is at its bound."""
    return loop.predicate == "sle" or _is_tested_late(loop)


def _is_in_body(value: Instruction, loop: CountedLoop) -> bool:
    """Whether a value is computed only where the loop goes on: elsewhere the counter may be at its bound."""
    return value.block in loop.blocks and not (loop.top_tested and value.block is loop.header)

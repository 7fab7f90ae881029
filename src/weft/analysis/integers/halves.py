"""Ranges of what searches by halves carry: the ends of a range that only comes together.

    low, high = 0, n - 1
    while high - low > 1:                0 <= low <= middle <= high < n, as far as the loop goes on
        middle = (low + high) // 2
        if a[middle] > x: high = middle
        else: low = middle

Each end by itself becomes what lies between both, of which ranges know nothing: the lower end is no less than it was
because the loop goes on only while the other is above it. So both are looked at together. Suppose that the lower end
is between 0 and H + 1, and the upper one no more than H, the most that either is at first. While the loop goes on, the
middle is between them, and what is next, an end or the middle or one beyond it, is as was supposed.

An answer holds, as with ranges, for every execution in which the value is not poison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weft.analysis.integers.intervals import INVERTED, SWAPPED, Interval, full, join
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

MAX_CHOICES = 16
"""Selects and φs that are followed to what an end becomes."""


class _Ends(NamedTuple):
    """Two φs of a loop's header of which one is no more than the other while the loop goes on.

    Parameters
    ----------
    low, high
        They.
    difference
        The subtraction of one from the other that tells; None where they are compared themselves.
    """

    low: Instruction
    high: Instruction
    difference: Instruction | None


def halved_ranges(loop: Loop, view: CFGView, known: Mapping[Value, Interval]) -> dict[Instruction, Interval]:
    """The ranges of the ends and middles of a search by halves; none for any other loop."""
    if loop.is_irreducible:
        return {}
    inside = {view.blocks[b] for b in loop.blocks}
    header = view.blocks[loop.header]
    for ends in _ordered_ends(header, inside):
        found = _ranges(ends, header, inside, known)
        if found:
            return found
    return {}


def _ordered_ends(header: BasicBlock, inside: set[BasicBlock]) -> Iterator[_Ends]:
    """The φs that the test in the header compares, if the loop goes on while one is no more than the other."""
    branch = header.terminator
    staying = [b in inside for b in branch.blocks]
    test = branch.operands[0] if len(staying) == 2 and branch.op == "br" else None
    if not isinstance(test, Instruction) or test.op != "icmp" or sum(staying) != 1:
        return
    predicate = test.predicate if staying[0] else INVERTED[test.predicate]
    left, right = test.operands
    if predicate in ("slt", "sle"):
        predicate, left, right = SWAPPED[predicate], right, left
    if predicate not in ("sgt", "sge"):
        return
    phis = set(header.phis())
    difference = None
    if (
        isinstance(left, Instruction)
        and left.op == "sub"
        and isinstance(right, ConstInt)
        and right.signed >= 0
    ):
        difference = left
        left, right = left.operands
    if left in phis and right in phis:
        assert isinstance(left, Instruction) and isinstance(right, Instruction)
        yield _Ends(right, left, difference)


def _ranges(
    ends: _Ends, header: BasicBlock, inside: set[BasicBlock], known: Mapping[Value, Interval]
) -> dict[Instruction, Interval]:
    type = ends.low.type
    assert isinstance(type, IntType)
    low, high = (_start(phi, inside, known) for phi in (ends.low, ends.high))
    if low is None or high is None or low.lo < 0:
        return {}
    whole, most = full(type.bits), max(low.hi, high.hi)
    lower, upper = Interval(0, most + 1), Interval(min(high.lo, -1), most)
    if upper.hi > whole.hi - 1:
        return {}
    wraps = ends.difference is not None and upper.lo - lower.hi < whole.lo
    if wraps and ends.difference is not None and "nsw" not in ends.difference.flags:
        return {}
    middles = {
        i
        for block in inside
        if block is not header
        for i in block.instructions
        if i.type == type and _is_middle(i, ends, lower.hi + upper.hi <= whole.hi)
    }
    if not _becomes(ends.low, middles, 1, inside) or not _becomes(ends.high, middles, -1, inside):
        return {}
    return {ends.low: lower, ends.high: upper, **dict.fromkeys(middles, Interval(0, most))}


def _start(phi: Instruction, inside: set[BasicBlock], known: Mapping[Value, Interval]) -> Interval | None:
    """The range of a φ when the loop begins."""
    found = None
    for value, source in phi.incoming():
        if source not in inside:
            own = Interval(value.signed, value.signed) if isinstance(value, ConstInt) else known.get(value)
            if own is None:
                return None
            found = join(found, own)
    return found


def _is_middle(value: Instruction, ends: _Ends, fits: bool) -> bool:
    """Whether a number is between the ends if these are in order: half of their sum, or of what is between them."""
    if (half := _halved(value)) is not None:
        sum = half.op == "add" and (fits or "nsw" in half.flags)
        return sum and set(half.operands) == {ends.low, ends.high}
    if value.op != "add":
        return False
    for low, more in (value.operands, value.operands[::-1]):
        between = _halved(more) if low is ends.low and isinstance(more, Instruction) else None
        if between is not None and between.op == "sub" and list(between.operands) == [ends.high, ends.low]:
            return True
    return False


def _halved(value: Instruction) -> Instruction | None:
    """What a number that is not negative is half of."""
    by = {"ashr": 1, "lshr": 1, "sdiv": 2, "udiv": 2}.get(value.op)
    if by is None:
        return None
    whole, count = value.operands
    if isinstance(count, ConstInt) and count.value == by and isinstance(whole, Instruction):
        return whole
    return None


def _becomes(phi: Instruction, middles: set[Instruction], step: int, inside: set[BasicBlock]) -> bool:
    """Whether an end stays as it is, or becomes the middle or one beyond it."""
    work = [value for value, source in phi.incoming() if source in inside]
    seen: set[Value] = set()
    while work:
        value = work.pop()
        if value is phi or value in middles or value in seen:
            continue
        seen.add(value)
        if not isinstance(value, Instruction) or value.block not in inside or len(seen) > MAX_CHOICES:
            return False
        if value.op == "select":
            work += value.operands[1:]
        elif value.op == "phi" and value.block is not phi.block:
            work += value.operands
        elif not _is_beyond(value, middles, step):
            return False
    return True


def _is_beyond(value: Instruction, middles: set[Instruction], step: int) -> bool:
    if value.op not in ("add", "sub"):
        return False
    left, right = value.operands
    if not isinstance(right, ConstInt) or left not in middles:
        return False
    return right.signed == (step if value.op == "add" else -step)

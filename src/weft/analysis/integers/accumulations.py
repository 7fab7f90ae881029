"""Ranges of what loops add up: the bounds of what is added in a round, times the rounds that there can be.

    around = 0                                      around is in [0, 9 * 255]
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            around += cells[y + dy, x + dx]         of which each is a byte

A fixed point over intervals widens such a sum to all that its type has. Here the φ of a loop's header is its start plus
what each round adds, a chain of sums, choices and loops inside that lead from the φ to what it takes behind the round.
Rounds are counted by a φ of the same header that moves by a constant within a known range.

Sums are taken in whole numbers. Where the result fits into the type, so did each step modulo its size, whatever parts
of a round did: the claim holds although nothing says that additions do not wrap around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.analysis.integers.intervals import Interval, full, join
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

MAX_STEPS = 64
"""Instructions looked at for one sum."""


class LoopSums:
    """The sums of one function's loops, by the ranges that are known of other values."""

    __slots__ = ("_innermost", "_known", "_rounds", "_steps", "_view")

    def __init__(self, view: CFGView, known: Mapping[Value, Interval]) -> None:
        self._view = view
        self._known = known
        self._innermost = loop_forest(view.cfg).innermost
        self._rounds: dict[Loop, int | None] = {}
        self._steps = 0

    def of(self, phi: Instruction) -> Interval | None:
        """The range of a φ of a loop's header; None if it is no sum, or may not fit into its type."""
        loop = self._headed(phi.block)
        if loop is None or phi.shadow is not None:
            return None
        start: Interval | None = None
        for value, source in phi.incoming():
            if self._view.index[source] not in loop.blocks:
                arriving = self._range(value)
                if arriving is None:
                    return None
                start = join(start, arriving)
        self._steps = MAX_STEPS
        change = self._in_all_rounds(loop, phi)
        if start is None or change is None:
            return None
        assert isinstance(phi.type, IntType)
        found, whole = _sum(start, change), full(phi.type.bits)
        return found if whole.lo <= found.lo and found.hi <= whole.hi else None

    def _headed(self, block: BasicBlock | None) -> Loop | None:
        """The loop that a block is the only entry of."""
        if block is None or block not in self._view.index:
            return None
        number = self._view.index[block]
        loop = self._innermost[number]
        return loop if loop is not None and not loop.is_irreducible and loop.header == number else None

    def _range(self, value: Value) -> Interval | None:
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        return self._known.get(value)

    def _in_all_rounds(self, loop: Loop, phi: Instruction) -> Interval | None:
        """By how much a φ of the header may differ from what it was in the first round."""
        each: Interval | None = None
        for value, source in phi.incoming():
            if self._view.index[source] in loop.blocks:
                change = self._change(value, phi)
                if change is None:
                    return None
                each = join(each, change)
        rounds = self.rounds(loop)
        if each is None or rounds is None:
            return None
        return Interval(min(0, rounds * each.lo), max(0, rounds * each.hi))

    def _change(self, value: Value, since: Instruction) -> Interval | None:
        """What has been added to a φ where it has become `value`; None if that is no such sum."""
        if value is since:
            return Interval(0, 0)
        self._steps -= 1
        if not isinstance(value, Instruction) or value.type != since.type or self._steps < 0:
            return None
        if value.op in ("add", "sub"):
            return self._added(value, since)
        if value.op == "select":
            return self._joined(value.operands[1:], since)
        if value.op != "phi" or value.shadow is not None:
            return None
        loop = self._headed(value.block)
        if loop is None:
            return self._joined(value.operands, since)
        around = self._headed(since.block)
        if around is None or loop is around or not around.contains(loop):
            return None
        entering = [v for v, source in value.incoming() if self._view.index[source] not in loop.blocks]
        before, inside = self._joined(entering, since), self._in_all_rounds(loop, value)
        return None if before is None or inside is None else _sum(before, inside)

    def _added(self, value: Instruction, since: Instruction) -> Interval | None:
        first, second = value.operands
        for whole, part in ((first, second), (second, first)):
            if value.op == "sub" and whole is second:
                break
            added = self._range(part)
            before = None if added is None else self._change(whole, since)
            if added is not None and before is not None:
                return _sum(before, added if value.op == "add" else Interval(-added.hi, -added.lo))
        return None

    def _joined(self, values: Sequence[Value], since: Instruction) -> Interval | None:
        result: Interval | None = None
        for value in values:
            change = self._change(value, since)
            if change is None:
                return None
            result = join(result, change)
        return result

    def rounds(self, loop: Loop) -> int | None:
        """How often the loop goes back to its header at most; None if nobody knows."""
        if loop not in self._rounds:
            counts = [self._counted_by(phi, loop) for phi in self._view.blocks[loop.header].phis()]
            self._rounds[loop] = min((c for c in counts if c is not None), default=None)
        return self._rounds[loop]

    def _counted_by(self, phi: Instruction, loop: Loop) -> int | None:
        if not isinstance(phi.type, IntType) or phi.type.bits < 32 or phi.shadow is not None:
            return None
        interval, step = self._known.get(phi), 0
        for value, source in phi.incoming():
            if self._view.index[source] not in loop.blocks:
                continue
            number = _step_from(value, phi)
            if number is None or number == 0 or step not in (0, number):
                return None
            step = number
        if interval is None or step == 0:
            return None
        # One step beyond the range does not lead into it again from its other end.
        if (1 << phi.type.bits) - (interval.hi - interval.lo + 1) < abs(step):
            return None
        return (interval.hi - interval.lo) // abs(step)


def _step_from(value: Value, phi: Instruction) -> int | None:
    """The constant that is added to a φ."""
    if not isinstance(value, Instruction) or value.op not in ("add", "sub"):
        return None
    first, second = value.operands
    if first is phi and isinstance(second, ConstInt):
        return second.signed if value.op == "add" else -second.signed
    if value.op == "add" and second is phi and isinstance(first, ConstInt):
        return first.signed
    return None


def _sum(a: Interval, b: Interval) -> Interval:
    return Interval(a.lo + b.lo, a.hi + b.hi)

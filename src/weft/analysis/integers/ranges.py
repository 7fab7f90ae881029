"""Integer ranges over a function's control flow.

A range is an `Interval`, and it holds for every thread and every execution of the instruction in which the value is
not poison: it says nothing of how threads are related. It is found by a sparse fixed point over SSA values and stack
objects (`stored_numbers`) with widening at φs and loads, then narrowed; the ends of what loops search by halves are
bounded together (`halves`), sums of loops by what a round adds (`accumulations`), other numbers of loops of few rounds
by following these (`recurrences`), numbers that go around in several φs and in stack objects by what all rounds add
(`drifts`), counters of 64 bits by what years would add (`patience`), and those of 32 by the stack objects of which they
are places (`heights`). Conditions that dominate a use refine it there (``i < n`` says ``i <= INT_MAX - 1`` even if
nothing is known of n, which is what keeps ``i + 1`` from wrapping).

Symbolic bounds: `bounds_of` lists the conditions themselves, for those who can use ``i < n`` as it is.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import cast

from msgspec import Struct

from weft.analysis.conditions import Condition, Conditions
from weft.analysis.integers.accumulations import LoopSums
from weft.analysis.integers.converted_floats import is_conversion, limits_of
from weft.analysis.integers.declared_ranges import attributed
from weft.analysis.integers.drifts import Drifts
from weft.analysis.integers.halves import halved_ranges
from weft.analysis.integers.heights import heights
from weft.analysis.integers.intervals import Interval, full, join, meet, widen
from weft.analysis.integers.patience import patient_bounds
from weft.analysis.integers.range_rules import TELLING, RangeRules, Refined, Rule, evaluate, read, told_of
from weft.analysis.integers.recurrences import Recurrences
from weft.analysis.integers.stored_numbers import Stored, StoredNumbers
from weft.graph.block_index import BlockIndex
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

WIDEN_AFTER = 2
"""Changes of a φ or a load after which it is widened."""

NARROWING_PASSES = 3

_LESSENING = ("lshr", "ashr", "udiv", "sdiv")


class Supposed(Struct, frozen=True):
    """The ranges of some instructions as they follow from others, which may be supposed to be known.

    Parameters
    ----------
    base
        The ranges of all values.
    rules
        What gives those of the instructions, in their order.
    """

    base: Mapping[Value, Interval]
    rules: list[tuple[Instruction, Rule | Interval]]

    def known(self, supposed: Mapping[Value, Interval]) -> Mapping[Value, Interval]:
        """The ranges of all values if these are supposed to be known."""
        found = dict(supposed)
        known = ChainMap(found, cast(dict[Value, Interval], self.base))
        for instruction, rule in self.rules:
            assert isinstance(instruction.type, IntType)
            found[instruction] = evaluate(rule, known) or full(instruction.type.bits)
        return known


class Ranges:
    """Ranges of the integers of one function."""

    __slots__ = (
        "_base",
        "_caps",
        "_changes",
        "_conditions",
        "_dependents",
        "_order",
        "_position",
        "_rules",
        "_stored",
    )

    def __init__(self, function: Function, view: CFGView, index: BlockIndex) -> None:
        self._conditions = Conditions(view, dominator_tree(view.cfg))
        self._base: dict[Value, Interval] = {}
        self._changes: dict[Instruction, int] = {}
        self._caps = patient_bounds(view, function.layout) | heights(view, function.layout)
        for argument in function.args:
            if isinstance(argument.type, IntType):
                self._base[argument] = attributed(argument.attributes, argument.type.bits) or full(
                    argument.type.bits
                )
        self._order = [
            i for b in index.order for i in view.blocks[b].instructions if isinstance(i.type, IntType)
        ]
        numbers = StoredNumbers(function, view)
        self._stored = self._find_stored(function, numbers)
        self._rules = RangeRules(self._conditions, self._stored)
        self._position: dict[Value, int] = {instruction: k for k, instruction in enumerate(self._order)}
        self._dependents = self._find_dependents()
        rules = [self._rules.rule(instruction) for instruction in self._order]
        self._solve(rules)
        self._narrow(rules, [i for i, count in self._changes.items() if count > WIDEN_AFTER])
        self._bring_halves_down(view, rules)
        self._bound_sums(function, view, rules, numbers)

    def of(self, value: Value) -> Interval | None:
        """The range of a value where it is defined; None when nothing is known of it."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        found = self._base.get(value)
        return None if found is None or _is_full(found, value) else found

    def at(self, value: Value, block: BasicBlock | None) -> Interval | None:
        """The range of a value for the threads that run `block`; None when nothing is known of it."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        found = self._base.get(value)
        if found is None:
            return None
        if block is not None and isinstance(seen := self._rules.seen(value, block), Refined):
            found = read(seen, self._base)
        return None if found is None or _is_full(found, value) else found

    def supposing(self, order: Sequence[Instruction]) -> Supposed:
        """What ranges instructions would have if those of others were known; operands come first in `order`."""
        return Supposed(self._base, [(i, self._rules.rule(i)) for i in order if isinstance(i.type, IntType)])

    def bounds_of(self, value: Value, block: BasicBlock) -> list[Condition]:
        """The conditions that hold for `value` in `block`, with what it is compared to."""
        return self._conditions.holding(value, block)

    def bounds_arriving(self, value: Value, source: BasicBlock, target: BasicBlock) -> list[Condition]:
        """The conditions that hold for `value` in threads that come from `source` to `target`."""
        return [*self._conditions.holding(value, source), *self._conditions.on_edge(value, source, target)]

    def _solve(self, rules: list[Rule | Interval]) -> None:
        """Raise the ranges, which start with no value, until nothing changes.

        Each instruction is visited in its turn, and again as soon as one before it, or itself, sees a change.
        """
        order, base = self._order, self._base
        queued = bytearray(len(order))
        heap: list[int] = []

        def settle(at: int, turn: int, known: Interval | None = None) -> None:
            new = evaluate(rules[at], base) if known is None else known
            while True:
                if self._rise(order[at], new):
                    for other in self._users(order[at]):
                        if other <= turn and not queued[other]:
                            queued[other] = 1
                            heappush(heap, other)
                if not heap:
                    return
                at = heappop(heap)
                queued[at] = 0
                new = evaluate(rules[at], base)

        for turn in range(len(order)):
            settle(turn, turn)
        for at, value in enumerate(order):
            if value.op in ("phi", "load") and value not in self._base:
                # Nothing but poison arrives, and freezing it gives any value.
                assert isinstance(value.type, IntType)
                settle(at, len(order), full(value.type.bits))

    def _users(self, instruction: Instruction) -> list[int]:
        """The positions of the instructions whose ranges follow from that of another."""
        position = self._position
        found = [position[user] for user in instruction.users if user in position]
        comparing = self._dependents.get(instruction)
        if comparing is not None:
            found += [position[user] for user in comparing]
        return found

    def _find_stored(self, function: Function, numbers: StoredNumbers) -> dict[Instruction, Stored]:
        """What loads read that read what the function has stored."""
        if not any(i.op == "alloca" for i in function.instructions()):
            return {}
        loads = {i: numbers.of(i) for i in self._order if i.op == "load"}
        return {load: stored for load, stored in loads.items() if stored is not None}

    def _find_dependents(self) -> dict[Value, list[Instruction]]:
        """Per value those that follow from its range though they do not use it.

        That are users of others that are compared with it, loads of what is stored, and conversions of what is
        compared with it as a float.
        """
        found: dict[Value, list[Instruction]] = {}
        for load, stored in self._stored.items():
            for store in stored.stores:
                assert store.block is not None
                value = store.stored_value
                numbers = [number for number, _ in self._rules.told_by(value)]
                compared = (c.other for n in numbers for c in self._conditions.holding(n, store.block))
                for other in (value, *compared):
                    if isinstance(other, Instruction):
                        found.setdefault(other, []).append(load)
        for conversion in filter(is_conversion, self._order):
            block = conversion.block
            assert block is not None
            for integer in limits_of(conversion, partial(self._conditions.holding, block=block))[1]:
                numbers = [number for number, _ in self._rules.told_by(integer)]
                compared = (c.other for n in numbers for c in self._conditions.holding(n, block))
                for other in (integer, *compared):
                    if isinstance(other, Instruction):
                        found.setdefault(other, []).append(conversion)
        for value in dict.fromkeys(value for value, _ in self._conditions.all()):
            operand = value
            for _ in range(TELLING + 1):
                for user in operand.instruction_users():
                    if user in self._position:
                        for condition in self._seen_by(user, operand, value):
                            if isinstance(condition.other, Instruction):
                                found.setdefault(condition.other, []).append(user)
                if (part := told_of(operand)) is None:
                    break
                operand = part[0]
        return found

    def _seen_by(self, user: Instruction, operand: Value, value: Value) -> Iterator[Condition]:
        """The conditions on a value, its operand or that extended, that refine the operand."""
        assert user.block is not None
        if user.op != "phi":
            yield from self._conditions.holding(value, user.block)
            return
        for incoming, source in user.incoming():
            if incoming is operand:
                yield from self._conditions.holding(value, source)
                yield from self._conditions.on_edge(value, source, user.block)

    def _rise(self, instruction: Instruction, new: Interval | None) -> bool:
        old, cap = self._base.get(instruction), self._caps.get(instruction)
        joined = join(old, new if cap is None else meet(new, cap))
        if joined is old or joined is None:
            return False
        count = self._changes.get(instruction, 0) + 1
        self._changes[instruction] = count
        if instruction.op in ("phi", "load") and count > WIDEN_AFTER:
            assert isinstance(instruction.type, IntType)
            joined = widen(old, joined, instruction.type.bits)
            if cap is not None:
                joined = meet(joined, cap)
            assert joined is not None
        self._base[instruction] = joined
        return True

    def _bound_sums(
        self, function: Function, view: CFGView, rules: list[Rule | Interval], numbers: StoredNumbers
    ) -> None:
        """Bring down sums of loops whose rounds can be counted, and what follows from them."""
        phis = [i for i in self._order if i.op == "phi"]
        if not any(self._is_large(phi) or self._may_vanish(phi) for phi in phis):
            return
        sums = LoopSums(view, self._base)
        lower: list[Instruction] = []
        for phi in filter(self._has_no_end, phis):
            if (found := sums.of(phi)) is not None:
                lower += self._bring_down(phi, found)
        self._narrow(rules, lower)
        self._follow_rounds(view, rules, sums.rounds)
        drifts = Drifts(function, view, self._base, sums.rounds, numbers)
        for phi in phis:
            if self._is_large(phi) and (drift := drifts.of(phi)) is not None:
                bounds, bounded = drift
                lower = [user for number in bounded for user in self._bring_down(number, bounds)]
                self._narrow(rules, lower)

    def _bring_halves_down(self, view: CFGView, rules: list[Rule | Interval]) -> None:
        """Bring down the ends of ranges that loops search by halves, and what follows from them."""
        for loop in loop_forest(view.cfg).loops:
            lower: list[Instruction] = []
            for number, bounds in halved_ranges(loop, view, self._base).items():
                lower += self._bring_down(number, bounds)
            self._narrow(rules, lower)

    def _follow_rounds(
        self, view: CFGView, rules: list[Rule | Interval], rounds: Callable[[Loop], int | None]
    ) -> None:
        """Bring down what loops of few rounds carry, and what follows from it."""
        innermost = loop_forest(view.cfg).innermost
        large: dict[int, list[Instruction]] = {}
        for phi in self._order:
            if phi.op == "phi" and phi.block is not None and (self._is_large(phi) or self._may_vanish(phi)):
                large.setdefault(view.index[phi.block], []).append(phi)
        loops = [loop for n in sorted(large) if (loop := innermost[n]) is not None and loop.header == n]
        if not loops:
            return
        recurrences = Recurrences(view, self._base, dict(zip(self._order, rules, strict=True)))
        for loop in loops:
            found = recurrences.of(loop, rounds(loop), large[loop.header])
            lower = [user for phi, bounds in found.items() for user in self._bring_down(phi, bounds)]
            self._narrow(rules, lower)

    def _bring_down(self, instruction: Instruction, bounds: Interval) -> list[Instruction]:
        """Let an instruction have bounds; the users for which that says something new."""
        old = self._base.get(instruction)
        new = meet(old, bounds)
        if new is None or new == old:
            return []
        self._base[instruction] = new
        return [self._order[k] for k in self._users(instruction)]

    def _is_large(self, phi: Instruction) -> bool:
        """Whether a number may not fit in 32 bits, or is all that its type has."""
        found = self._base.get(phi)
        return found is not None and (found.lo < -(1 << 31) or found.hi >= 1 << 31 or self._has_no_end(phi))

    def _may_vanish(self, phi: Instruction) -> bool:
        """Whether a number is shifted away round after round, or divided, and might become 0 for all that is known."""
        found = self._base.get(phi)
        parts = [v for v in phi.operands if isinstance(v, Instruction) and v.op in _LESSENING]
        return found is not None and found.lo == 0 < found.hi and any(v.operands[0] is phi for v in parts)

    def _has_no_end(self, phi: Instruction) -> bool:
        assert isinstance(phi.type, IntType)
        found, whole = self._base.get(phi), full(phi.type.bits)
        if found is None:
            return False
        cap = self._caps.get(phi, whole)
        return found.lo in (whole.lo, cap.lo) or found.hi in (whole.hi, cap.hi)

    def _narrow(self, rules: list[Rule | Interval], first: Iterable[Instruction]) -> None:
        """Once more from above: what widening overshot comes down, and stays an upper bound."""
        again = {self._position[i] for i in first}
        for _ in range(NARROWING_PASSES):
            heap, again = sorted(again), set()
            queued = set(heap)
            while heap:
                at = heappop(heap)
                instruction = self._order[at]
                old = self._base.get(instruction)
                new = meet(old, evaluate(rules[at], self._base))
                if new is None or new == old:
                    continue
                self._base[instruction] = new
                for other in self._users(instruction):
                    if other <= at:
                        again.add(other)
                    elif other not in queued:
                        queued.add(other)
                        heappush(heap, other)


def _is_full(interval: Interval, value: Value) -> bool:
    return isinstance(value.type, IntType) and interval == full(value.type.bits)

"""Ranges of what loops of few rounds carry, round after round.

    node = 0                                                    node is in [0, 62]
    for _ in range(6):
        node = 2 * node + 1 if goes_left else 2 * node + 2
    leaves[node - 63]                                           node is in [63, 126]

A fixed point over intervals widens such a number to all that its type has, and it is no sum that `accumulations` could
bound by its rounds. Here the intervals of all that arrives in the φs of the header are carried through the loop as
often as that goes around: a φ is in the interval of one of the rounds. Where the only way out is taken in rounds that
are known, what is handed on to behind the loop is in the intervals of these.

Each step is a rule of the fixed point, so that wrap-around is seen where it is. What is not computed in the loop itself
has the range that is known of it, and so has what is loaded, which any round may have stored. What a loop that is
tested at its head computes behind that has no value in the round in which all leave: the distance of
``while d < n: offset >>= 1; …; d *= 2`` never becomes 0.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import cast

from weft.analysis.integers.intervals import Interval, full, join, meet
from weft.analysis.integers.range_rules import Operand, Rule, evaluate, read
from weft.graph.loops import Loop, loop_forest
from weft.ir import ConstInt, Instruction, Poison, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

MOST_ROUNDS = 64
"""Of loops that are followed; what is doubled as often fits into no type."""

MOST_STEPS = 64
"""Instructions that a round is followed through."""

Rules = Mapping[Instruction, Rule | Interval]


class Recurrences:
    """What loops of one function carry, and hand on.

    Parameters
    ----------
    known
        The ranges of all integers.
    rules
        What gives the range of each instruction, in an order in which operands come first, those of φs apart.
    """

    __slots__ = ("_innermost", "_known", "_rules", "_view")

    def __init__(self, view: CFGView, known: Mapping[Value, Interval], rules: Rules) -> None:
        self._view = view
        self._known = known
        self._rules = rules
        self._innermost = loop_forest(view.cfg).innermost

    def of(
        self, loop: Loop, rounds: int | None, wanted: Collection[Instruction]
    ) -> dict[Instruction, Interval]:
        """The ranges of φs of a loop's header and of its exit, and of what these are computed by.

        None once those of the `wanted` cannot be less.

        `rounds` says how often it goes back to its header at most; where that is not known, or much, it may show when
        the loop is followed.
        """
        if loop.is_irreducible:
            return {}
        if rounds is not None and rounds > MOST_ROUNDS:
            rounds = None
        around = {
            phi: back
            for phi in self._view.blocks[loop.header].phis()
            if phi in self._known and (back := self._arriving(phi, loop, inside=True)) is not None
        }
        now = {phi: start for phi in around if (start := self._start(phi, loop)) is not None}
        exit, handed_on = self._exit(loop)
        steps = self._between(loop, [*around, *handed_on.values(), *exit.values()])
        if steps is None:
            return {}
        header = self._view.blocks[loop.header]
        at_head = loop.exiting == (loop.header,)
        found: dict[Instruction, Interval] = {}
        for turn in range(MOST_ROUNDS + 1):
            _join_to(found, now)
            if all(phi not in found or found[phi] == self._known[phi] for phi in wanted):
                return {}
            within: dict[Value, Interval] = {**now}
            seen = ChainMap(within, cast(dict[Value, Interval], self._known))
            for step in steps:
                assert isinstance(step.type, IntType)
                within[step] = evaluate(self._rules[step], seen) or full(step.type.bits)
            leaves = self._leaves(exit, seen)
            reached = [s for s in steps if s.block is header] if leaves and at_head else steps
            _join_to(found, {step: within[step] for step in reached})
            if rounds is None and (leaves is None or (turn == MOST_ROUNDS and not leaves)):
                return {}
            if leaves is not False:
                _join_to(found, {phi: _range(value, seen) for phi, value in handed_on.items()})
            if leaves is True or turn == rounds:
                break
            now = {phi: self._next(phi, around[phi], seen) for phi in now}
        return {phi: bounds for phi, bounds in found.items() if bounds != self._known.get(phi)}

    def _arriving(self, phi: Instruction, loop: Loop, inside: bool) -> list[Operand] | None:
        """What arrives at a φ from inside of its loop, or from before it; None if that is not known one by one."""
        rule = self._rules.get(phi)
        if not isinstance(rule, Rule) or phi.shadow is not None:
            return None
        sources = [source for value, source in phi.incoming() if not isinstance(value, Poison)]
        return [
            operand
            for operand, source in zip(rule.operands, sources, strict=True)
            if (self._view.index[source] in loop.blocks) == inside
        ]

    def _start(self, phi: Instruction, loop: Loop) -> Interval | None:
        """What a φ is in the first round; None if nothing is known of it."""
        result: Interval | None = None
        for operand in self._arriving(phi, loop, inside=False) or ():
            found = read(operand, self._known)
            if found is None:
                return None
            result = join(result, found)
        return result

    def _next(self, phi: Instruction, around: list[Operand], seen: Mapping[Value, Interval]) -> Interval:
        """What a φ is in the round after one in which values are as `seen`."""
        result: Interval | None = None
        for operand in around:
            result = join(result, read(operand, seen))
        return meet(result, self._known[phi]) or self._known[phi]

    def _exit(self, loop: Loop) -> tuple[dict[bool, Value], dict[Instruction, Value]]:
        """The only way out, by whether its condition holds, and what φs behind it get.

        Nothing if there are several, or a round may pass it by.
        """
        if len(loop.exit_edges) != 1:
            return {}, {}
        ((leaving, target),) = loop.exit_edges
        block, exit = self._view.blocks[leaving], self._view.blocks[target]
        every_round = leaving == loop.header or loop.latches == (leaving,)
        if not every_round or self._innermost[leaving] is not loop or len(exit.predecessors) != 1:
            return {}, {}
        branch = block.terminator
        if branch.op != "br" or len(branch.blocks) != 2 or branch.blocks[0] is branch.blocks[1]:
            return {}, {}
        phis = {
            phi: phi.incoming_value(block) for phi in exit.phis() if phi in self._known and phi.shadow is None
        }
        return {branch.blocks[0] is exit: branch.operands[0]}, phis

    def _leaves(self, exit: Mapping[bool, Value], seen: Mapping[Value, Interval]) -> bool | None:
        """Whether all leave the loop, or none; None if that is not known."""
        for taken, condition in exit.items():
            found = _range(condition, seen)
            if found is not None and found.lo == found.hi:
                return (found.lo != 0) == taken
        return None

    def _between(self, loop: Loop, ends: list[Value]) -> list[Instruction] | None:
        """What the loop itself computes of a round that such values depend on, in order; None if that is too much."""
        header = self._view.blocks[loop.header]
        found: set[Instruction] = set()
        work = [
            v
            for end in ends
            for v in (
                end.operands
                if isinstance(end, Instruction) and end.is_phi and end.block is header
                else (end,)
            )
        ]
        while work:
            value = work.pop()
            if not isinstance(value, Instruction) or value in found or value not in self._rules:
                continue
            if value.block is None or self._innermost[self._view.index[value.block]] is not loop:
                continue
            # What is loaded may have been stored in any round.
            if (value.is_phi and value.block is header) or value.op == "load":
                continue
            if len(found) == MOST_STEPS:
                return None
            found.add(value)
            work += value.operands
        return [i for i in self._rules if i in found]


def _join_to(found: dict[Instruction, Interval], more: Mapping[Instruction, Interval | None]) -> None:
    for phi, bounds in more.items():
        joined = join(found.get(phi), bounds) if bounds is not None else full(cast(IntType, phi.type).bits)
        assert joined is not None
        found[phi] = joined


def _range(value: Value, seen: Mapping[Value, Interval]) -> Interval | None:
    if isinstance(value, ConstInt):
        return Interval(value.signed, value.signed)
    return seen.get(value)

"""What branch conditions say of integers and floats in the blocks behind them.

A block that is entered from one branch only, over one of its edges, knows the branch's condition, and so do all
blocks it dominates. Where blocks have predicates, threads that are passive at a branch follow the others and may
become active again: what the branch tested holds for a block's threads only if the branch had no predicate, or the
same one.

Of floats only the order is noted, by the predicates of signed integers; it holds where neither of the two is NaN.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.graph.dominators import DominatorTree
from weft.ir import FALSE, TRUE, Argument, BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

MAX_DEPTH = 8
"""How deep conjunctions are taken apart."""

MAX_HOLDING = 4
"""How many of the conditions that hold for a value in a block are used, the nearest first."""

MAX_USERS = 32
"""A value with more users is not compared with other instructions, whose every change would concern all of them."""


class Condition(NamedTuple):
    """``value predicate other`` holds for the threads of every block that `block` dominates.

    `mask` is the block predicate of the branch. Of floats it holds unless one of them is NaN.
    """

    block: int
    predicate: str
    other: Value
    mask: Value | None


class _Edge(NamedTuple):
    """A branch's edge; `is_only_way`: nothing else leads to its target."""

    source: int
    target: int
    mask: Value | None
    is_only_way: bool


class Conditions:
    """The conditions on each integer and float value of a function."""

    __slots__ = (
        "_behind",
        "_compared",
        "_frozen",
        "_holding",
        "_on_edge",
        "_parents",
        "_preorder",
        "dominators",
        "view",
    )

    def __init__(self, view: CFGView, dominators: DominatorTree) -> None:
        self.view = view
        self.dominators = dominators
        self._behind: dict[Value, list[Condition]] = {}
        self._on_edge: dict[tuple[Value, int, int], list[Condition]] = {}
        self._frozen: dict[Value, list[tuple[_Edge, str, Value]]] = {}
        for source, targets in enumerate(view.cfg.succs):
            if len(targets) > 1 and dominators.reaches(source):
                for target in set(targets):
                    if targets.count(target) == 1 or view.blocks[source].terminator.op == "switch":
                        self._note(source, target)
        self._compared = {value for value, _ in self.all()}
        self._preorder = _preorder(dominators, len(view.blocks))
        self._holding: dict[tuple[Value, int], list[Condition]] = {}
        self._parents: dict[Value, list[int]] = {}
        for value, conditions in self._behind.items():
            conditions.sort(key=lambda c: self._preorder[c.block])
            self._parents[value] = self._chain(conditions)

    def _chain(self, conditions: list[Condition]) -> list[int]:
        """For each condition the position of the nearest one before it whose block dominates its own; -1 for none."""
        parents: list[int] = []
        for position, condition in enumerate(conditions):
            above = position - 1
            while above >= 0 and not self.dominators.dominates(conditions[above].block, condition.block):
                above = parents[above]
            parents.append(above)
        return parents

    def all(self) -> Iterator[tuple[Value, Condition]]:
        """Every condition, with the value it is about."""
        for value, behind in self._behind.items():
            yield from ((value, c) for c in behind)
        for (value, _, _), on_edge in self._on_edge.items():
            yield from ((value, c) for c in on_edge)

    def compares(self, value: Value) -> bool:
        """Whether there is a condition on `value` anywhere."""
        return value in self._compared

    def on_edge(self, value: Value, source: BasicBlock, target: BasicBlock) -> list[Condition]:
        """The conditions on `value` that the branch at the end of `source` adds for those who go to `target`."""
        return self._on_edge.get((value, self.view.index[source], self.view.index[target]), _NONE)

    def holding(self, value: Value, block: BasicBlock) -> list[Condition]:
        """The conditions on `value` that hold in `block`."""
        if value not in self._behind:
            return _NONE
        number = self.view.index[block]
        known = self._holding.get((value, number))
        if known is None:
            known = self._holding[value, number] = self._find(value, number, block.predicate)
        return known

    def frozen(self, value: Value, block: BasicBlock, target: BasicBlock | None = None) -> list[Condition]:
        """The conditions on `value` that hold in `block`, or for those who go on to `target`, unless it is poison.

        They were asked by a comparison that is frozen. Where the value is poison it may say anything, and of what the
        value was made of nothing is told.
        """
        found: list[Condition] = []
        for edge, predicate, bound in self._frozen.get(value, ()):
            number = self.view.index[block]
            behind = edge.is_only_way and self.dominators.dominates(edge.target, number)
            crossed = target is not None and (edge.source, edge.target) == (number, self.view.index[target])
            if (behind and edge.mask in (None, block.predicate)) or (crossed and edge.mask is None):
                found.append(Condition(edge.target, predicate, bound, edge.mask))
        return found

    def _find(self, value: Value, number: int, mask: Value | None) -> list[Condition]:
        """Walk up the chain of conditions, from the last one that can dominate the block."""
        conditions, parents = self._behind[value], self._parents[value]
        at = bisect_right(conditions, self._preorder[number], key=lambda c: self._preorder[c.block]) - 1
        found: list[Condition] = []
        while at >= 0 and len(found) < MAX_HOLDING:
            condition = conditions[at]
            if self.dominators.dominates(condition.block, number) and condition.mask in (None, mask):
                found.append(condition)
            at = parents[at]
        return found

    def _note(self, source: int, target: int) -> None:
        blocks = self.view.blocks
        branch, goal, mask = blocks[source].terminator, blocks[target], blocks[source].predicate
        edge = _Edge(source, target, mask, len(self.view.cfg.preds[target]) == 1)
        if branch.op == "br":
            self._take_apart(branch.operands[0], goal is branch.blocks[0], edge, 0)
        elif branch.op == "switch":
            value, cases = branch.operands[0], branch.attrs["cases"]
            assert isinstance(value.type, IntType)
            leading = [c for c, block in zip(cases, branch.blocks[1:], strict=True) if block is goal]
            if goal is branch.blocks[0]:
                for case in (c for c in cases if c not in leading):
                    self._add(value, edge, "ne", ConstInt(value.type, case))
            elif len(leading) == 1:
                self._add(value, edge, "eq", ConstInt(value.type, leading[0]))

    def _take_apart(self, value: Value, holds: bool, edge: _Edge, depth: int) -> None:
        """Note what `value` being true, or false, says."""
        if not isinstance(value, Instruction) or depth > MAX_DEPTH:
            return
        if value.op == "icmp":
            left, right = value.operands
            if isinstance(left.type, IntType):
                predicate = value.predicate if holds else INVERTED[value.predicate]
                self._add(left, edge, predicate, right)
                self._add(right, edge, SWAPPED[predicate], left)
        elif value.op == "freeze" and _is_comparison(comparison := value.operands[0]):
            assert isinstance(comparison, Instruction)
            number, bound = comparison.operands
            predicate = comparison.predicate if holds else INVERTED[comparison.predicate]
            if number.tracks_users:
                self._frozen.setdefault(number, []).append((edge, predicate, bound))
        elif value.op == "call" and value.callee_name == "weft.any" and not holds:
            self._take_apart(value.args[0], False, edge, depth + 1)
        elif value.op == "fcmp":
            if (order := _ORDERS.get(value.predicate[1:])) is not None:
                left, right = value.operands
                predicate = order if holds else INVERTED[order]
                self._add(left, edge, predicate, right)
                self._add(right, edge, SWAPPED[predicate], left)
        elif value.op == "xor" and value.operands[1] == TRUE:
            self._take_apart(value.operands[0], not holds, edge, depth + 1)
        elif _is_conjunction(value) if holds else _is_disjunction(value):
            first, second = value.operands[0], value.operands[2 if not holds and value.op == "select" else 1]
            self._take_apart(first, holds, edge, depth + 1)
            self._take_apart(second, holds, edge, depth + 1)

    def _add(self, value: Value, edge: _Edge, predicate: str, other: Value) -> None:
        if not value.tracks_users:
            return
        if isinstance(other, Instruction) and (isinstance(value, Argument) or len(value.users) > MAX_USERS):
            return
        condition = Condition(edge.target, predicate, other, edge.mask)
        if edge.is_only_way:
            self._behind.setdefault(value, []).append(condition)
        if edge.mask is None:
            self._on_edge.setdefault((value, edge.source, edge.target), []).append(condition)


_NONE: list[Condition] = []

_ORDERS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
"""The predicate of integers that stands for a comparison of floats, ordered or not."""


def _preorder(dominators: DominatorTree, blocks: int) -> list[int]:
    """The position of each block in a depth-first walk of the dominator tree; -1 for blocks not in it."""
    positions = [-1] * blocks
    work = [dominators.root]
    for position in range(blocks):
        if not work:
            break
        node = work.pop()
        positions[node] = position
        work.extend(reversed(dominators.children[node]))
    return positions


def _is_comparison(value: Value) -> bool:
    """Whether a value is a comparison with a constant, which is poison only where the number is."""
    if not isinstance(value, Instruction) or value.op != "icmp" or "samesign" in value.flags:
        return False
    return isinstance(value.operands[1], ConstInt)


def _is_conjunction(value: Instruction) -> bool:
    return value.op == "and" or (value.op == "select" and value.operands[2] == FALSE)


def _is_disjunction(value: Instruction) -> bool:
    return value.op == "or" or (value.op == "select" and value.operands[1] == TRUE)

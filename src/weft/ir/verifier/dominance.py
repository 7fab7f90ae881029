"""Definitions dominate their uses, predicates their blocks, shadows the block of their φ."""

from __future__ import annotations

from collections.abc import Iterator

from weft.graph.dominators import DominatorTree, dominator_tree
from weft.ir.block import BasicBlock
from weft.ir.cfg_view import cfg_of
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.values import Value
from weft.ir.verifier.problem import Problem


def check_dominance(function: Function) -> Iterator[Problem]:
    """Uses in blocks that the entry does not reach are not looked at, as in LLVM."""
    view = cfg_of(function)
    order = _Order(dominator_tree(view.cfg), view.index)
    for block in function.blocks:
        if not order.tree.reaches(view.index[block]):
            continue
        order.enter(block)
        yield from _check_predicate(function, block, order)
        for instruction in block.instructions:
            if instruction.is_phi:
                yield from _check_phi(function, instruction, order)
                continue
            for used in instruction.used_values():
                if not order.before(used, instruction):
                    message = f"%{used.name} does not dominate this use"
                    yield Problem(message, function.name, instruction)


class _Order:
    """Which definitions come before a point; `positions` are those of the block looked at."""

    def __init__(self, tree: DominatorTree, index: dict[BasicBlock, int]) -> None:
        self.tree = tree
        self.index = index
        self.positions: dict[Instruction, int] = {}

    def enter(self, block: BasicBlock) -> None:
        self.positions = {instruction: i for i, instruction in enumerate(block.instructions)}

    def before(self, value: Value, user: Instruction) -> bool:
        if not isinstance(value, Instruction):
            return True
        assert user.block is not None
        if value.block is user.block:
            return self.positions[value] < self.positions[user]
        return self.above(value, user.block)

    def above(self, value: Value, block: BasicBlock) -> bool:
        """Whether the value is defined in another block, which dominates `block`."""
        if not isinstance(value, Instruction):
            return True
        assert value.block is not None
        return self.tree.strictly_dominates(self.index[value.block], self.index[block])

    def at_end(self, value: Value, block: BasicBlock) -> bool:
        """Whether the value is defined at the end of `block`, or the entry does not reach `block`."""
        if not isinstance(value, Instruction) or not self.tree.reaches(self.index[block]):
            return True
        assert value.block is not None
        return self.tree.dominates(self.index[value.block], self.index[block])


def _check_phi(function: Function, phi: Instruction, order: _Order) -> Iterator[Problem]:
    for value, source in phi.incoming():
        if not order.at_end(value, source):
            yield Problem(f"%{value.name} is not defined at the end of %{source.name}", function.name, phi)
    assert phi.block is not None
    if phi.shadow is not None and not order.above(phi.shadow, phi.block):
        message = f"the shadow %{phi.shadow.name} is not defined above the φ's block"
        yield Problem(message, function.name, phi)


def _check_predicate(function: Function, block: BasicBlock, order: _Order) -> Iterator[Problem]:
    predicate = block.predicate
    if predicate is None or not isinstance(predicate, Instruction) or predicate.block is block:
        return
    if not order.above(predicate, block):
        message = f"the predicate %{predicate.name} does not dominate the block"
        yield Problem(message, function.name, block=block)

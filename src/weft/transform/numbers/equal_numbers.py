"""A number that differs from lane to lane, behind a branch that says that it equals one that all lanes have.

``if j == k:`` lets the thread of column k do what is to be done once. Whatever the source says there, LLVM writes j for
k or k for j, as it likes; with j, what one thread does has addresses and bounds of each lane's own:

    if j == k:  for i in range(j, n): t += a[i, j]²    →    if j == k:  for i in range(k, n): t += a[i, k]²

Precondition: none. Postcondition: behind such branches the number of all lanes is used. Preserves the program under FR
and OBL, for any threads: whoever is there has both numbers alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.divergence import Divergence
from weft.graph.dominators import dominator_tree
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import is_zero
from weft.ir.types import I1, IntType


def use_common_numbers(function: Function, divergence: Divergence) -> bool:
    """Use numbers that all lanes have where they are known to equal others; whether any was.

    The analysis holds no longer then.
    """
    found = [
        (own, common, target)
        for block in function.blocks
        for equal, target in _holds(block)
        for own, common in _told(equal, block, divergence)
    ]
    if not found:
        return False
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    changed = False
    for own, common, target in found:
        first = view.index[target]
        for user in list(own.instruction_users()):
            if user.is_phi:
                for source in [s for v, s in user.incoming() if v is own]:
                    if dominators.dominates(first, view.index[source]):
                        user.set_operand(user.blocks.index(source), common)
                        changed = True
            elif user.block is not None and dominators.dominates(first, view.index[user.block]):
                user.replace_operand(own, common)
                changed = True
    return changed


def _holds(block: BasicBlock) -> Iterator[tuple[Instruction, BasicBlock]]:
    """The comparisons that are known to have found numbers alike, with where control goes then, and from here alone."""
    branch = block.terminator
    if branch.op != "br" or len(branch.blocks) != 2 or branch.blocks[0] is branch.blocks[1]:
        return
    for target, wanted in zip(branch.blocks, ("eq", "ne"), strict=True):
        if len(target.predecessors) != 1:
            continue
        work: list[Value] = [branch.operands[0]]
        while work:
            condition = work.pop()
            if not isinstance(condition, Instruction):
                continue
            if condition.op == "icmp" and condition.predicate == wanted:
                yield condition, target
            elif wanted == "eq" and condition.type == I1 and _is_both(condition):
                work += condition.operands[:2]


def _is_both(condition: Instruction) -> bool:
    """Whether it is true only where its first two operands are."""
    return condition.op == "and" or (condition.op == "select" and is_zero(condition.operands[2]))


def _told(equal: Instruction, block: BasicBlock, divergence: Divergence) -> Iterator[tuple[Value, Value]]:
    """The number of each lane's own, and that of all lanes, if there is one of either."""
    first, second = equal.operands
    if not isinstance(first.type, IntType):
        return
    for own, common in ((first, second), (second, first)):
        if isinstance(own, ConstInt) or divergence.shape_in(own, block).is_uniform:
            continue
        if divergence.shape_in(common, block).is_uniform:
            yield own, common

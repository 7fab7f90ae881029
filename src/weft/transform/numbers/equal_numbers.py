"""A number that differs from lane to lane, behind a branch that says that it equals one that all lanes have.

``if j == k:`` lets the thread of column k do what is to be done once. Whatever the source says there, LLVM writes j for
k or k for j, as it likes; with j, what one thread does has addresses and bounds of each lane's own:

    if j == k:  for i in range(j, n): t += a[i, j]²    →    if j == k:  for i in range(k, n): t += a[i, k]²

So do numbers that have been computed of it before, where they are looked up as well: they are computed again, of the
number of all lanes. What is done there is then one thread's, and no access under a mask:

    i = 128 * gid + tid                                    i = 128 * gid + tid
    if tid == 127:  tile[tid + 2] = a[i + 1]          →    if tid == 127:  tile[129] = a[128 * gid + 127 + 1]

Precondition: none. Postcondition: behind such branches the number of all lanes is used. Preserves the program under FR
and OBL, for any threads: whoever is there has both numbers alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.divergence import Divergence
from weft.graph.dominators import dominator_tree
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import Constant, is_zero
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.types import I1, IntType

MOST_STEPS = 8
"""Of what is computed again."""


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
    found += [case for block in function.blocks for case in _cases(block, divergence)]
    if not found:
        return False
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    changed = False
    for own, common, target in found:
        region = {b for b in function.blocks if dominators.dominates(view.index[target], view.index[b])}
        changed |= _Again(own, common, target, region, divergence).compute()
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


class _Again:
    """Computes numbers of all lanes behind a branch of what each lane has computed in front of it."""

    def __init__(
        self, own: Value, common: Value, target: BasicBlock, region: set[BasicBlock], divergence: Divergence
    ) -> None:
        self.own, self.target, self.region, self.divergence = own, target, region, divergence
        self.builder = Builder.after_phis(target)
        self.known: dict[Value, Value] = {own: common}

    def compute(self) -> bool:
        """Use such numbers; whether there were any."""
        wanted = [
            (user, number, value)
            for block in self.region
            for user in block.non_phis()
            for number, value in enumerate(user.operands)
            if self._is_wanted(value)
        ]
        for user, number, value in wanted:
            user.set_operand(number, self._built(value))
        return bool(wanted)

    def _is_wanted(self, value: Value) -> bool:
        is_own = isinstance(value, Instruction) and value.block not in self.region and value is not self.own
        return is_own and not self._is_common(value) and self._is_computed(value, MOST_STEPS)

    def _is_common(self, value: Value) -> bool:
        return isinstance(value, Constant) or self.divergence.shape_in(value, self.target).is_uniform

    def _is_computed(self, value: Value, steps: int) -> bool:
        """Whether it is computed of the number, and of what all lanes have, in a few steps."""
        if value in self.known or self._is_common(value):
            return True
        if not isinstance(value, Instruction) or value.is_phi or not steps or not is_speculatable(value):
            return False
        if is_convergent(value) or value.type.is_vector:
            return False
        return all(self._is_computed(operand, steps - 1) for operand in value.operands)

    def _built(self, value: Value) -> Value:
        found = self.known.get(value)
        if found is not None:
            return found
        if self._is_common(value):
            return value
        assert isinstance(value, Instruction)
        made = value.clone()
        for number, operand in enumerate(value.operands):
            made.set_operand(number, self._built(operand))
        self.known[value] = self.builder.insert(made)
        return made


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


def _cases(block: BasicBlock, divergence: Divergence) -> Iterator[tuple[Value, Value, BasicBlock]]:
    """Numbers of each lane's own that a switch compares, what they are there, and where control goes then."""
    switch = block.terminator
    if switch.op != "switch" or divergence.shape_in(switch.operands[0], block).is_uniform:
        return
    own, targets = switch.operands[0], switch.blocks
    assert isinstance(own.type, IntType)
    for number, target in zip(switch.attrs["cases"], targets[1:], strict=True):
        if target.predecessors == [block] and targets.count(target) == 1:
            yield own, ConstInt(own.type, number), target


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

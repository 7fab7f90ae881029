"""SSA repair: restore single assignment after a value got several definitions.

Contract. Before: a variable has definitions in several blocks (each valid to the end of its block), and uses
refer to any of them. After: each given use reads the definition that reaches it, through φs placed where
definitions meet. φs are created on demand, walking predecessors from the use (Braun et al., CC 2013), and φs
that merge one value only are removed again by ``simplify``, which looks at each once. Under FR and OBL: no instruction
runs elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.graph.dominators import DominatorTree, dominator_tree
from weft.ir import BasicBlock, Function, Instruction, Poison, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import Type


class ReachingDefinition:
    """Answers which value of one variable reaches a point, building φs as needed.

    Parameters
    ----------
    type
        The variable's type.
    at_end
        For each block that defines the variable, the value it has at the block's end.
    name
        Name hint for new φs.
    unreached
        The value where no definition reaches; poison by default.
    predecessors
        Those of blocks that were asked for, for several variables of a function whose edges stay. By default each
        question looks at the block's users, φs of the blocks behind it among them.
    """

    __slots__ = (
        "_fresh",
        "_predecessors",
        "_replaced",
        "_unfilled",
        "at_end",
        "at_start",
        "name",
        "new_phis",
        "type",
        "unreached",
    )

    def __init__(
        self,
        type: Type,
        at_end: Mapping[BasicBlock, Value],
        name: str = "",
        unreached: Value | None = None,
        predecessors: dict[BasicBlock, list[BasicBlock]] | None = None,
    ) -> None:
        self.type = type
        self.at_end: dict[BasicBlock, Value] = dict(at_end)
        self.at_start: dict[BasicBlock, Value] = {}
        self.name = name
        self.new_phis: dict[Instruction, None] = {}
        self.unreached = unreached if unreached is not None else Poison(type)
        self._unfilled: list[Instruction] = []
        self._fresh: dict[Instruction, None] = {}
        """φs that `simplify` has not seen yet: others merge several values, and go on to."""
        self._replaced: dict[Value, Value] = {}
        """What stands for φs that are gone, which the tables may still have."""
        self._predecessors = predecessors

    def end_of(self, block: BasicBlock) -> Value:
        """The value at the end of `block`."""
        value = self.set_in(block)
        return value if value is not None else self.start_of(block)

    def set_in(self, block: BasicBlock) -> Value | None:
        """The value that `block` gives the variable; None where it gives none."""
        value = self.at_end.get(block)
        return value if value is None else self._settled(value)

    def _settled(self, value: Value) -> Value:
        """What stands for a value by now."""
        replaced = self._replaced
        if value not in replaced:
            return value
        found = replaced[value]
        while found in replaced:
            found = replaced[found]
        replaced[value] = found
        return found

    def start_of(self, block: BasicBlock) -> Value:
        """The value at the start of `block`, before any definition in it."""
        value = self._find(block)
        while self._unfilled:
            self._fill(self._unfilled.pop())
        return value

    def _find(self, block: BasicBlock) -> Value:
        """Walk up single predecessors to a known value, and remember it on the way back."""
        path: dict[BasicBlock, None] = {}
        current = block
        while (value := self.at_start.get(current)) is None:
            path[current] = None
            predecessors = self._before(current)
            if len(predecessors) == 1 and predecessors[0] not in path:
                current = predecessors[0]
                if (value := self.set_in(current)) is not None:
                    break
            elif predecessors:
                value = self._place_phi(current)
                break
            else:
                value = self.unreached
                break
        value = self._settled(value)
        for visited in path:
            self.at_start[visited] = value
        return value

    def _before(self, block: BasicBlock) -> list[BasicBlock]:
        if self._predecessors is None:
            return block.predecessors
        known = self._predecessors.get(block)
        if known is None:
            known = self._predecessors[block] = block.predecessors
        return known

    def _place_phi(self, block: BasicBlock) -> Instruction:
        phi = block.insert(0, Instruction("phi", self.type, name=self.name))
        self.new_phis[phi] = self._fresh[phi] = None
        self._unfilled.append(phi)
        return phi

    def _fill(self, phi: Instruction) -> None:
        block = phi.block
        assert block is not None
        sources = [p for p in self._before(block) for target in p.terminator.successors if target is block]
        for source in sources:
            value = self.set_in(source)
            if value is None:
                value = self._find(source)
            phi.add_incoming(value, source)

    def simplify(self) -> None:
        """Remove placed φs that merge a single value (or themselves), until none is left."""
        pending, self._fresh = self._fresh, {}
        while pending:
            phi, _ = pending.popitem()
            others = {v: None for v in phi.operands if v is not phi}
            if len(others) > 1:
                continue
            value = next(iter(others), self.unreached)
            pending.update((u, None) for u in phi.instruction_users() if u in self.new_phis and u is not phi)
            phi.replace_all_uses(value)
            self._replaced[phi] = value
            del self.new_phis[phi]
            phi.erase()


def rewrite_uses(variable: Value, users: Sequence[Instruction], reaching: ReachingDefinition) -> None:
    """Let each use of `variable` by `users` read the definition that reaches it.

    A user that is no φ reads the value at the start of its block, so the caller leaves out users that stand
    below a definition in the same block.
    """
    for user in users:
        block = user.block
        assert block is not None
        if user.is_phi:
            for i, (value, source) in enumerate(list(user.incoming())):
                if value is variable:
                    user.set_operand(i, reaching.end_of(source))
            if user.shadow is variable:
                user.set_shadow(reaching.start_of(block))
        else:
            user.replace_operand(variable, reaching.start_of(block))
    reaching.simplify()


def repair_dominance(function: Function) -> None:
    """Where a definition no longer dominates a use, the value is poison on the paths around it."""
    view = cfg_of(function)
    dominators = dominator_tree(view.cfg)
    for block in list(function.blocks):
        for value in list(block.instructions):
            stray = [u for u in value.instruction_users() if _uses_undominated(value, u, dominators, view)]
            if stray:
                reaching = ReachingDefinition(value.type, {block: value}, value.name)
                rewrite_uses(value, stray, reaching)


def _uses_undominated(
    value: Instruction, user: Instruction, dominators: DominatorTree, view: CFGView
) -> bool:
    assert value.block is not None and user.block is not None
    here = view.index[value.block]
    if not user.is_phi:
        return not dominators.dominates(here, view.index[user.block])
    return any(
        v is value and not dominators.dominates(here, view.index[source]) for v, source in user.incoming()
    )

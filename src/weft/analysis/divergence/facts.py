"""What an analysis asks of a function whatever the threads are: analyses of one function can share it."""

from __future__ import annotations

from functools import cached_property

from weft.analysis.branch_probability import BranchProbability
from weft.analysis.control_divergence import ControlDivergence
from weft.analysis.divergence.loop_uses import uses_behind_loops
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.liveness import Liveness, liveness
from weft.analysis.memory.stack_objects import StackObjects
from weft.analysis.memory.write_back import accesses_before_stores
from weft.graph.dominators import post_dominator_tree
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of


class FunctionFacts:
    """Facts of a function as it is, each found when it is first asked for. They hold until it is changed.

    Parameters
    ----------
    function
        The function.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.view: CFGView = cfg_of(function)

    @cached_property
    def propagation(self) -> ControlDivergence:
        """What divergent branches do, with the loops and the block index of the function."""
        return ControlDivergence(self.view.cfg)

    @cached_property
    def instructions(self) -> list[Instruction]:
        """The instructions that the entry reaches, in the order of the block index."""
        blocks = self.view.blocks
        return [i for b in self.propagation.index.order for i in blocks[b].instructions]

    @cached_property
    def positions(self) -> dict[Instruction, int]:
        """The place of each in that order."""
        return {instruction: k for k, instruction in enumerate(self.instructions)}

    @cached_property
    def objects(self) -> StackObjects:
        """The stack objects."""
        return StackObjects(self.function, self.view)

    @cached_property
    def ranges(self) -> Ranges:
        """What numbers values can be."""
        return ranges_of(self.function, self.view)

    @cached_property
    def probability(self) -> BranchProbability:
        """How likely edges are taken."""
        cfg = self.view.cfg
        return BranchProbability(self.view, self.propagation.loops, post_dominator_tree(cfg))

    @cached_property
    def liveness(self) -> Liveness:
        """Which values are live where."""
        return liveness(self.function)

    @cached_property
    def uses_behind_loops(self) -> dict[Loop, list[Instruction]]:
        """Per loop the uses of its values outside of it."""
        return uses_behind_loops(self.view, self.propagation.loops.innermost)

    @cached_property
    def far_users(self) -> set[Instruction]:
        """All of these."""
        return {user for users in self.uses_behind_loops.values() for user in users}

    @cached_property
    def accesses_before_stores(self) -> dict[Instruction, list[Instruction]]:
        """Accesses to the places of stores that may be written back."""
        return accesses_before_stores(self.view)

    @cached_property
    def predicated(self) -> list[BasicBlock]:
        """The blocks that have a predicate."""
        return [block for block in self.view.blocks if block.predicate is not None]

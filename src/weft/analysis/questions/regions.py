"""The region of a function in which an inserted load adds no divergence (paper 004, §5.1).

CDRND, the *control dependence region of non-divergence*, is in the paper the set of nodes that depend on non-divergent
branches only, by control dependence on the graph augmented by ENTRY, a branch that does not diverge. A block that
depends on a uniform branch inside of an arm of a divergent one is in it by that definition, and is run by a part of
the threads. Here dependence is transitive: a block is in the region if no chain of control dependences leads from a
divergent branch to it. The dependences on ENTRY, which is not divergent, need not be built.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.graph.control_dependence import ControlDependence, control_dependence
from weft.graph.dominators import dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView

DivergentBranch = Callable[[BasicBlock], bool]
"""Whether threads that leave a block together may do so by different edges."""


class Regions:
    """Where blocks stand: by dominators, loops and control dependence.

    Attributes
    ----------
    view
        The function's graph.
    dependence
        Control dependence.
    divergent
        The blocks that end in a divergent branch.
    """

    __slots__ = ("_loops", "_partial", "dependence", "divergent", "dominators", "view")

    def __init__(self, view: CFGView, is_divergent: DivergentBranch) -> None:
        self.view = view
        self.dominators = dominator_tree(view.cfg)
        self._loops = loop_forest(view.cfg)
        self.dependence: ControlDependence = control_dependence(view.cfg)
        branches = [b for b in range(len(view.cfg)) if len(set(view.cfg.succs[b])) > 1]
        self.divergent = {b for b in branches if is_divergent(view.blocks[b])}
        self._partial = self.dependence.iterated(self.divergent)

    def in_region(self, block: BasicBlock) -> bool:
        """Whether the block is in the CDRND."""
        return self.view.index[block] not in self._partial

    def edge_in_region(self, source: BasicBlock, target: BasicBlock) -> bool:
        """Whether a block on the edge, or at the end of `source` if that has no other, is in the CDRND."""
        if len(source.successors) == 1:
            return self.in_region(source)
        if self.view.index[source] in self.divergent:
            return False
        return self.in_region(source)

    def depends(self, block: BasicBlock, branch: BasicBlock) -> bool:
        """Whether the block is control dependent on the branch at the end of the other."""
        index = self.view.index
        return index[branch] in self.dependence.on[index[block]]

    def is_divergent(self, block: BasicBlock) -> bool:
        """Whether the block ends in a divergent branch."""
        return self.view.index[block] in self.divergent

    def is_valid(self, value: Value, block: BasicBlock) -> bool:
        """Whether a value that was computed before is still the same, and may be named, at the beginning of a block."""
        if not isinstance(value, Instruction):
            return True
        assert value.block is not None
        here, there = self.view.index[value.block], self.view.index[block]
        if here == there or not self.dominators.dominates(here, there):
            return False
        loop = self._loops.innermost[here]
        return loop is None or there in loop.blocks

    def dominates(self, value: Value, block: BasicBlock) -> bool:
        """Whether a value is there at the end of a block."""
        if not isinstance(value, Instruction):
            return True
        assert value.block is not None
        return self.dominators.dominates(self.view.index[value.block], self.view.index[block])

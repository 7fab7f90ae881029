"""A function whose edges linearization has redrawn (Moll, ch. 8): old graph, new graph, old branches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from weft.graph.block_index import BlockIndex, block_index
from weft.graph.dominators import DominatorTree, dominator_tree, post_dominator_tree
from weft.graph.loops import LoopForest, loop_forest
from weft.ir import BasicBlock, Builder, Function, Value
from weft.ir.cfg_view import cfg_of
from weft.transform.linearization.partial_linearization import partially_linearize
from weft.transform.loops.divergent_loops import BranchDivergence


class Branch(Struct):
    """A block's terminator as it was.

    Parameters
    ----------
    targets
        Its targets in order, a switch's default first.
    condition
        Its condition or switch value.
    cases
        For a switch, the values that lead to each target but do not belong to the default.
    """

    targets: list[BasicBlock]
    condition: Value | None = None
    cases: dict[BasicBlock, list[int]] | None = None

    @classmethod
    def of(cls, block: BasicBlock) -> Branch:
        """The branch at the end of `block`."""
        terminator = block.terminator
        targets = list(terminator.blocks)
        if terminator.op not in ("br", "switch") or not terminator.operands:
            return cls(targets)
        if terminator.op == "br":
            return cls(targets, terminator.operands[0])
        cases: dict[BasicBlock, list[int]] = {}
        for case, target in zip(terminator.attrs["cases"], targets[1:], strict=True):
            cases.setdefault(target, []).append(case)
        return cls(targets, terminator.operands[0], cases)


class RedrawnGraph(Struct, frozen=True):
    """Blocks by number, with what was known of them before their edges changed.

    Parameters
    ----------
    function, blocks
        The function, and its blocks by number.
    number
        The number of each block.
    index, loops, dominators, post_dominators
        Of the graph as it was.
    branches
        The terminators as they were.
    old_preds, new_preds
        Predecessors of each block, then and now.
    new_dominators
        Of the graph as it is.
    divergent, uniform
        The blocks that ended in a divergent branch, and those that ended in a uniform one to several targets.
    predecessors
        Of blocks as they are, as far as somebody has asked.
    """

    function: Function
    blocks: Sequence[BasicBlock]
    number: dict[BasicBlock, int]
    index: BlockIndex
    loops: LoopForest
    dominators: DominatorTree
    post_dominators: DominatorTree
    branches: list[Branch]
    old_preds: list[tuple[int, ...]]
    new_preds: list[tuple[int, ...]]
    new_dominators: DominatorTree
    divergent: frozenset[int] = field(default_factory=frozenset)
    uniform: frozenset[int] = field(default_factory=frozenset)
    predecessors: dict[BasicBlock, list[BasicBlock]] = field(default_factory=dict)

    def is_intact(self, i: int) -> bool:
        """Whether block `i` has the predecessors it had."""
        return self.old_preds[i] == self.new_preds[i]

    def is_folded(self, i: int) -> bool:
        """Whether the branch at the end of block `i` is gone."""
        return len(set(self.branches[i].targets)) > 1 and len(self.blocks[i].terminator.blocks) == 1

    def equivalent_above(self, i: int) -> int | None:
        """A block that runs for the same threads as block `i` and comes before it."""
        above = self.dominators.idom[i]
        inner = self.loops.innermost[above]
        while inner is not None and i not in inner.blocks:
            # A loop that was entered is left by the threads that entered: look at it from outside.
            above = inner.header
            inner = inner.parent
        same_level = inner is self.loops.innermost[i]
        return above if same_level and self.post_dominators.dominates(i, above) else None

    @property
    def kept(self) -> int:
        """How many uniform branches are still branches."""
        return sum(not self.is_folded(i) for i in self.uniform)


def redraw(
    function: Function, divergence: BranchDivergence, known_uniform: Collection[BasicBlock]
) -> RedrawnGraph:
    """Give every block its successors in the partially linearized graph; φs are left alone.

    Branches of the blocks in `known_uniform` are uniform even where `divergence` cannot tell.
    """
    view = cfg_of(function)
    cfg, blocks = view.cfg, view.blocks
    dominators, loops = dominator_tree(cfg), loop_forest(cfg)
    index = block_index(cfg, dominators, loops)
    choosing = [i for i in index.order if len(set(cfg.succs[i])) > 1]
    divergent = frozenset(
        i for i in choosing if blocks[i] not in known_uniform and divergence.is_divergent_branch(blocks[i])
    )
    back_edges = {(latch, loop.header) for loop in loops.loops for latch in loop.latches}
    redrawn = partially_linearize(cfg.succs, index.order, divergent, back_edges)
    branches = [Branch.of(b) for b in blocks]
    for i in index.order:
        _redirect(blocks[i], [blocks[t] for t in redrawn[i]])
    new_cfg = cfg_of(function).cfg
    return RedrawnGraph(
        function, blocks, {b: i for i, b in enumerate(blocks)}, index, loops, dominators,
        post_dominator_tree(cfg), branches, [tuple(sorted(set(p))) for p in cfg.preds],
        [tuple(sorted(set(p))) for p in new_cfg.preds], dominator_tree(new_cfg), divergent,
        frozenset(choosing) - divergent,
    )  # fmt: skip


def _redirect(block: BasicBlock, targets: list[BasicBlock]) -> None:
    terminator = block.terminator
    if not targets or targets == terminator.blocks:
        return
    if len(set(targets)) == 1:
        loc = terminator.loc
        terminator.erase()
        Builder(block).br(targets[0]).loc = loc
        return
    for k, target in enumerate(targets):
        terminator.set_block(k, target)

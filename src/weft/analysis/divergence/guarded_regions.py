"""The regions that divergent branches guard, as candidates for gadgets (`boscc`; Moll, §9.2)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.graph.dominators import NONE, DominatorTree, dominator_tree, post_dominator_tree
from weft.graph.loops import LoopForest, loop_forest
from weft.ir import BasicBlock, Function
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.intrinsics import IntrinsicKind, kind_of


class Region(Struct, eq=False):
    """What a divergent branch guards.

    Parameters
    ----------
    source, entrance
        The edge over which the region is entered.
    behind
        Where control goes on.
    blocks
        The region itself; grows by what is put into it.
    own
        Its first blocks that lie in no loop of the region: such a loop tests its mask itself.
    may_copy
        Whether a copy keeps loops in their form.
    """

    source: BasicBlock
    entrance: BasicBlock
    behind: BasicBlock
    blocks: dict[BasicBlock, None]
    own: list[BasicBlock]
    may_copy: bool


def guarded_regions(function: Function, is_divergent: Callable[[BasicBlock], bool]) -> list[Region]:
    """The regions of `function` that could get a gadget: entered by one edge, and left within their loop.

    `is_divergent` says of a block whether threads may leave it by different edges.
    """
    return _Finder(function).run(is_divergent)


class _Finder:
    def __init__(self, function: Function) -> None:
        self.view: CFGView = cfg_of(function)
        cfg = self.view.cfg
        self.loops: LoopForest = loop_forest(cfg)
        self.dominators: DominatorTree = dominator_tree(cfg)
        self.post_dominators: DominatorTree = post_dominator_tree(cfg)

    def run(self, is_divergent: Callable[[BasicBlock], bool]) -> list[Region]:
        found: list[Region] = []
        for source, block in enumerate(self.view.blocks):
            targets = set(self.view.cfg.succs[source])
            if len(targets) < 2 or not self.dominators.reaches(source):
                continue
            if is_divergent(block):
                regions = (self._region(source, target) for target in sorted(targets))
                found += [r for r in regions if r is not None]
        return found

    def _region(self, source: int, entrance: int) -> Region | None:
        view, loops = self.view, self.loops
        level = loops.innermost[source]
        if set(view.cfg.preds[entrance]) != {source} or loops.innermost[entrance] is not level:
            return None
        members = self.dominators.region(entrance)
        blocks = [view.blocks[b] for b in members]
        if all(len(b.instructions) == 1 for b in blocks) or any(map(_has_barrier, blocks)):
            return None
        inside = set(members)
        behind = self.post_dominators.idom[entrance]
        while behind in inside:
            behind = self.post_dominators.idom[behind]
        if behind in (NONE, len(view.cfg)) or loops.innermost[behind] is not level or loops.headed_by[behind]:
            return None
        exits = {t for b in members for t in view.cfg.succs[b]} - inside
        may_copy = all(loops.innermost[t] is level and not loops.headed_by[t] for t in exits) and not any(
            i.op == "alloca" for b in blocks for i in b.instructions
        )
        own = [view.blocks[b] for b in members if loops.innermost[b] is level]
        return Region(
            view.blocks[source],
            view.blocks[entrance],
            view.blocks[behind],
            dict.fromkeys(blocks),
            own,
            may_copy,
        )


def _has_barrier(block: BasicBlock) -> bool:
    return any(kind_of(i.callee_name) is IntrinsicKind.BARRIER for i in block.instructions)

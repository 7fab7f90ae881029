"""Control dependence (Ferrante, Ottenstein, Warren: *The Program Dependence Graph*, TOPLAS 1987).

Block ``k`` is control dependent on edge ``a -> b`` if ``k`` post-dominates ``b`` but not strictly ``a``:
taking that edge decides that ``k`` runs (Moll §2.3; a block may depend on itself, through a loop).
Post-dominance follows the convention of `weft.graph.dominators` for loops that cannot be left. Blocks
that the entry does not reach depend on nothing, and nothing on them.

This relation is about whether a block runs *at all*. Whether it runs for *all threads at once* is another
question, answered by `weft.analysis.control_divergence`: in a loop, a block may post-dominate a divergent
branch and still run for some threads now and for the others an iteration later.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.graph.cfg import CFG
from weft.graph.dominators import DominatorTree, dominance_frontier, post_dominator_tree

__all__ = ["ControlDependence", "control_dependence"]


class ControlDependence:
    """The control dependence relation in both directions.

    Attributes
    ----------
    on
        Per block, the blocks whose terminators it depends on.
    dependents
        Per block, the blocks that depend on its terminator.
    """

    __slots__ = ("dependents", "on")

    def __init__(self, on: Iterable[Iterable[int]]) -> None:
        self.on: tuple[tuple[int, ...], ...] = tuple(map(tuple, on))
        dependents: list[list[int]] = [[] for _ in self.on]
        for block, branches in enumerate(self.on):
            for branch in branches:
                dependents[branch].append(block)
        self.dependents: tuple[tuple[int, ...], ...] = tuple(map(tuple, dependents))

    def iterated(self, branches: Iterable[int]) -> set[int]:
        """Every block that depends on one of `branches`, on the branch of such a block, and so on."""
        found: set[int] = set()
        work = list(branches)
        while work:
            for block in self.dependents[work.pop()]:
                if block not in found:
                    found.add(block)
                    work.append(block)
        return found


def control_dependence(cfg: CFG, post_dominators: DominatorTree | None = None) -> ControlDependence:
    """Control dependence as the dominance frontier of the reverse graph."""
    tree = post_dominators or post_dominator_tree(cfg)
    return ControlDependence(dominance_frontier(tree, cfg.succs)[: len(cfg)])

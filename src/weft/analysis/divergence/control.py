"""The part of the analysis' state that is about control (Moll, Def. 19: sdep*, tdep*, adep*, cdep*).

Blocks are numbers of the control-flow graph. A *dims* is a set of dimensions of the lane space as a bit mask:
threads that differ only in the other coordinates stay together at the branches in question.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from weft.analysis.control_divergence import ControlDivergence, Edge
from weft.graph.loops import Loop
from weft.ir.cfg_view import CFGView

Groups = tuple[frozenset[int], ...]


class ControlState:
    """Which branches are divergent, and what follows for blocks and edges.

    Attributes
    ----------
    divergent
        Divergent branches by their block, with the dims in which threads part.
    joins
        Per join block the branches that threads may come from apart, each with the groups of predecessors
        (`SyncResult.disjoint_preds`).
    exits
        Per divergent exit edge the branches that make it so, each with the outermost loop that threads leave over
        it in different iterations.
    parted
        Per block, along which dims only a part of the function's threads may arrive at it.
    predicated
        Per block, along which dims its block predicate varies.
    """

    __slots__ = (
        "_left", "_propagation", "divergent", "exits", "joins", "parted", "partial_entry", "predicated", "view",
    )  # fmt: skip

    def __init__(self, view: CFGView, propagation: ControlDivergence, partial_entry: int = 0) -> None:
        self.view = view
        self.partial_entry = partial_entry
        self._propagation = propagation
        self.divergent: dict[int, int] = {}
        self.joins: dict[int, dict[int, Groups]] = {}
        self.exits: dict[Edge, dict[int, Loop]] = {}
        self._left: dict[Loop, int] = {}
        self.parted = [0] * len(view.cfg)
        self.predicated = [0] * len(view.cfg)

    @property
    def propagation(self) -> ControlDivergence:
        """The control-divergence analysis, with the loops and the block index of the function."""
        return self._propagation

    def diverge(self, block: int, dims: int) -> tuple[set[int], set[Edge], set[int]]:
        """Note that threads part in `block`; the joins, exit edges and partial blocks that this affects."""
        known = self.divergent.get(block, 0)
        if dims | known == known:
            return set(), set(), set()
        self.divergent[block] = known | dims
        effects = self._propagation.joins(block)
        for join, groups in effects.disjoint_preds.items():
            self.joins.setdefault(join, {})[block] = groups
        for edge, loop in effects.divergent_exits.items():
            self.exits.setdefault(edge, {})[block] = loop
            self._left[loop] = self._left.get(loop, 0) | known | dims
        partial: set[int] = set()
        for affected in effects.activation_dependent:
            if self.parted[affected] | dims != self.parted[affected]:
                self.parted[affected] |= dims
                partial.add(affected)
        return set(effects.disjoint_preds), set(effects.divergent_exits), partial

    def control(self, block: int) -> int:
        """Along which dims only a part of all threads may arrive at a block: its control mask varies."""
        return self.parted[block] | self.partial_entry

    def partial(self, block: int) -> int:
        """Along which dims the block may run for a part of the threads only: its activation varies."""
        return self.control(block) | self.predicated[block]

    def joined(self, block: int, arriving: Mapping[int, Hashable]) -> int:
        """Along which dims threads may come together in `block` from predecessors with different `arriving`.

        Predecessors that are not in `arriving` bring nothing that counts.
        """
        dims = 0
        for branch in self.parting_branches(block, arriving):
            dims |= self.divergent[branch]
        return dims

    def parting_branches(self, block: int, arriving: Mapping[int, Hashable]) -> Iterator[int]:
        """The divergent branches because of which threads come together with different `arriving`."""
        for branch, groups in self.joins.get(block, {}).items():
            sources = 0
            values: set[Hashable] = set()
            for group in groups:
                brought = {arriving[p] for p in group if p in arriving}
                sources += bool(brought)
                values |= brought
            if sources > 1 and len(values) > 1:
                yield branch

    def left_apart(self, edge: Edge, defined: int) -> int:
        """Along which dims what block `defined` computes may be of different iterations behind an exit edge."""
        dims = 0
        for branch, loop in self.exits.get(edge, {}).items():
            if defined in loop.blocks:
                dims |= self.divergent[branch]
        return dims

    def outside_apart(self, defined: int, used: int) -> int:
        """As `left_apart`, for a use in block `used`, whichever exits lead there."""
        dims = 0
        loop = self._propagation.loops.innermost[defined]
        while loop is not None and used not in loop.blocks:
            dims |= self._left.get(loop, 0)
            loop = loop.parent
        return dims

    def divergent_exits_of(self, loop: Loop) -> set[Edge]:
        """The exit edges of `loop` over which threads may leave in different iterations."""
        found: set[Edge] = set()
        for edge in loop.exit_edges:
            for branch, outermost in self.exits.get(edge, {}).items():
                if outermost.contains(loop) and loop in self._propagation.joins(branch).divergent_loops:
                    found.add(edge)
        return found

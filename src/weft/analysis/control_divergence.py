"""What a divergent branch does to control flow: sync, temporal and activation dependence (Moll ch. 7).

Given that the threads that run block ``b`` together may leave it to different successors, and that every
other branch is uniform (threads that run it *together* leave it together), `ControlDivergence.joins` tells

* which blocks join disjoint paths (sync dependence): threads may enter such a block together from
  different predecessors, so its φs become varying;
* over which exit edges of which loops threads may leave in different iterations (temporal dependence): what
  is defined inside and used behind such an edge becomes varying;
* which blocks may run for some of the threads only (activation dependence).

The effects of several divergent branches are the union of the effects of each: two threads that are apart
choose freely at every branch, divergent or not, so only the branch that parted them matters.

The schedule is the one of `weft.graph.block_index`: loops run until no thread is left in them, iterations
begin for all threads together.

Method
------
Moll's *DomMap* gives every block that threads may reach apart a label such that two blocks have different
labels exactly if there are disjoint paths to them (Theorem 2): the successors of ``b`` start with labels of
their own, a block passes its label on, and a block that receives different labels is a join and starts a
new one. The sweep goes once over the level of ``b``, that is the blocks of its innermost loop with inner
loops taken as single nodes, in the order of the compact block index. An exit edge whose label differs from
the one that arrives at the latch is divergent: threads leave over it while others go on (axiom 2). If there
is one, the sweep is repeated a level further out, from the loop as a *partially divergent node* (Definition
21): its divergent exit edges start with labels of their own, and all others, which threads only ever take
together, share one. Once all paths have met in one block and none has left the level, nothing is apart any
more and the sweep ends; that makes the blocks passed exactly those that are activation dependent. In
Moll's terms, `_Sweep.run` is *local_joins*, `_Query.leave_loop` *local_exits*, `_Query.run` *global_joins*.

This differs from the printed listings, which assume unique latches and an exit block of its own for every
exiting block. Here both may be shared: labels belong to edges, a loop header joins its back edges, and an
exit block joins a divergent exit edge with any other exit edge of the loop. And control dependence on ``b``
(Listing 3, line 26) is not activation dependence: with several branches in an iteration, a block may
post-dominate ``b`` and still run now for some threads, an iteration later for others.

The later formulation by Rosemann, Moll and Hack (*An Abstract Interpretation for SPMD Divergence on
Reducible Control Flow Graphs*, POPL 2021; LLVM's uniformity analysis descends from it) lets labels flow over
back edges to the loop header and from it to all exits. The label of the header there plays the part of the
shared label of uniform exits here.

Irreducible loops are treated conservatively: if threads are apart inside one, or may enter one apart, then
each of its blocks is a join of all its predecessors and all its exit edges are divergent.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from weft.graph.block_index import BlockIndex, block_index
from weft.graph.cfg import CFG
from weft.graph.loops import Loop, LoopForest, loop_forest

__all__ = ["ControlDivergence", "SyncResult"]

Edge = tuple[int, int]

UNIFORM_EXITS = -1
"""The label shared by the uniform exit edges of a divergent loop (Moll's ``u``)."""


class SyncResult(Struct, frozen=True):
    """The effects of one divergent branch.

    Attributes
    ----------
    disjoint_preds
        Each join block with its predecessors, grouped: threads may come together from predecessors of
        different groups, but never from different ones of one group, nor from predecessors in no group. A φ
        whose operands within the groups are all the same does not become varying by the join.
    divergent_exits
        Each divergent edge ``(exiting block, exit block)`` with the outermost loop that threads may leave
        over it in different iterations. Values defined in that loop (inner loops included) vary behind the
        edge; values defined around it do not.
    divergent_loops
        Loops that have a divergent exit edge, inner ones before those around them.
    activation_dependent
        Blocks that may run for a part of the threads only.
    apart
        The activation dependent blocks that may run while other threads still wait elsewhere, other than to
        return. The rest of the activation dependent blocks are skipped only by threads that have returned.
    """

    disjoint_preds: Mapping[int, tuple[frozenset[int], ...]]
    divergent_exits: Mapping[Edge, Loop]
    divergent_loops: tuple[Loop, ...]
    activation_dependent: frozenset[int]
    apart: frozenset[int]

    @property
    def join_blocks(self) -> frozenset[int]:
        """Blocks whose φs may become varying because threads enter from different predecessors."""
        return frozenset(self.disjoint_preds)


class ControlDivergence:
    """Answers what a divergent branch in a block would affect; each answer is computed once.

    Parameters
    ----------
    cfg, loops, index
        The control flow; the rest is computed from it where it is not given.
    returning
        Blocks from which threads do nothing but return: who waits at one is not `SyncResult.apart` from others.
    """

    __slots__ = ("_known", "_start", "cfg", "index", "loops", "returning")

    def __init__(
        self,
        cfg: CFG,
        loops: LoopForest | None = None,
        index: BlockIndex | None = None,
        returning: Collection[int] = frozenset(),
    ) -> None:
        self.cfg = cfg
        self.returning = returning
        self.loops = loops or loop_forest(cfg)
        self.index = index or block_index(cfg, loops=self.loops)
        number = self.index.number
        self._start = {loop: min(number[block] for block in loop.entries) for loop in self.loops.loops}
        self._known: dict[int, SyncResult] = {}

    def joins(self, block: int) -> SyncResult:
        """The effects of a divergent terminator in `block`; none if the entry does not reach it."""
        result = self._known.get(block)
        if result is None:
            result = self._known[block] = _Query(self, self._start).run(block)
        return result


class _Query:
    """One query, from the level of the branch outwards."""

    __slots__ = (
        "apart",
        "cfg",
        "divergent_exits",
        "divergent_loops",
        "groups",
        "last_label",
        "loops",
        "number",
        "partial",
        "returning",
        "start",
    )

    def __init__(self, facts: ControlDivergence, start: Mapping[Loop, int]) -> None:
        self.cfg = facts.cfg
        self.loops = facts.loops
        self.number = facts.index.number
        self.returning = facts.returning
        self.start = start
        self.groups: dict[int, tuple[frozenset[int], ...]] = {}
        self.divergent_exits: dict[Edge, Loop] = {}
        self.divergent_loops: list[Loop] = []
        self.partial: set[int] = set()
        self.apart: set[int] = set()
        self.last_label = UNIFORM_EXITS

    def own_labels(self, edges: Iterable[Edge]) -> dict[Edge, int]:
        """A new label for each edge: negative, as joins are labelled by block number."""
        labels: dict[Edge, int] = {}
        for edge in edges:
            self.last_label -= 1
            labels[edge] = self.last_label
        return labels

    def run(self, block: int) -> SyncResult:
        level = self.loops.innermost[block]
        starts: dict[Edge, int] = {}
        if self.number[block] >= 0:
            starts = self.own_labels((block, target) for target in self.cfg.distinct_succs(block))
        while len(set(starts.values())) > 1:
            if level is None:
                _Sweep(self, None).run(starts)
                break
            divergent = self.leave_loop(level, starts)
            starts = self.own_labels(divergent)
            if divergent:
                starts |= {edge: UNIFORM_EXITS for edge in level.exit_edges if edge not in starts}
            level = level.parent
        return SyncResult(
            self.groups,
            self.divergent_exits,
            tuple(self.divergent_loops),
            frozenset(self.partial),
            frozenset(self.apart),
        )

    def leave_loop(self, loop: Loop, starts: Mapping[Edge, int]) -> list[Edge]:
        """Propagate `starts` through one iteration of `loop`; the exit edges that are divergent."""
        if loop.is_irreducible:
            return self.leave_irreducible(loop)
        sweep = _Sweep(self, loop)
        sweep.run(starts)
        going_on = sweep.join(loop.header, sweep.latched) if sweep.latched else None
        divergent = [edge for edge, label in sweep.left.items() if label != going_on]
        if divergent:
            self.diverge(loop, divergent)
        return divergent

    def leave_irreducible(self, loop: Loop) -> list[Edge]:
        """Assume the worst of a loop in which threads are apart; its exit edges."""
        for block in loop.blocks:
            preds = [p for p in self.cfg.distinct_preds(block) if self.number[p] >= 0]
            if len(preds) > 1:
                self.groups[block] = tuple(frozenset((p,)) for p in preds)
        self.diverge(loop, loop.exit_edges)
        # Those inside may be in different blocks of it, wherever the others have gone.
        self.apart |= loop.blocks
        return list(loop.exit_edges)

    def diverge(self, loop: Loop, exits: Sequence[Edge]) -> None:
        self.divergent_loops.append(loop)
        self.divergent_exits.update(dict.fromkeys(exits, loop))
        self.partial |= loop.blocks
        if any(target not in self.returning for _, target in exits):
            self.apart |= loop.blocks


class _Sweep:
    """Labels pushed once through the acyclic graph of one level.

    Attributes
    ----------
    latched
        What arrives at the end of the iteration: the label of each back edge.
    left
        What leaves the level: the label of each exit edge.
    flying
        Per label, over how many edges threads with it have come to where they wait now, other than to return.
    """

    __slots__ = ("arrivals", "flying", "latched", "left", "level", "pending", "query")

    def __init__(self, query: _Query, level: Loop | None) -> None:
        self.query = query
        self.level = level
        self.latched: dict[Edge, int] = {}
        self.left: dict[Edge, int] = {}
        # Nodes that wait, a heap of (number of the first block, entry block): the numbers differ.
        self.pending: list[tuple[int, int]] = []
        self.arrivals: dict[int, dict[Edge, int]] = {}
        """Per waiting node, known by its number, the label that arrives over each edge."""
        self.flying: dict[int, int] = {}

    def run(self, starts: Mapping[Edge, int]) -> None:
        """Push `starts` and all that follows, until nothing is pending or all threads are together."""
        query = self.query
        returned = False
        for (source, target), label in starts.items():
            self.push(source, target, label)
        while self.pending:
            number, block = heapq.heappop(self.pending)
            arrivals = self.arrivals.pop(number)
            self.land(block, arrivals.values())
            loop = self.inner_loop(block)
            if loop and loop.is_irreducible and len(set(arrivals.values())) > 1:
                for edge, label in query.own_labels(query.leave_irreducible(loop)).items():
                    self.push(*edge, label)
                continue
            label = self.join(block, arrivals)
            if not (self.pending or self.latched or self.left or returned):
                return
            blocks = loop.blocks if loop else (block,)
            query.partial.update(blocks)
            if self.flying.keys() - {label}:
                query.apart.update(blocks)
            if loop:
                for source, target in loop.exit_edges:
                    self.push(source, target, label)
            else:
                for target in query.cfg.succs[block]:
                    self.push(block, target, label)
                returned |= not query.cfg.succs[block]

    def push(self, source: int, target: int, label: int) -> None:
        """Let `label` arrive over an edge."""
        if target not in self.query.returning:
            self.flying[label] = self.flying.get(label, 0) + 1
        if self.level is not None:
            if target not in self.level.blocks:
                self.left[source, target] = label
                return
            if target == self.level.header:
                self.latched[source, target] = label
                return
        loop = self.inner_loop(target)
        number = self.query.start[loop] if loop else self.query.number[target]
        waiting = self.arrivals.get(number)
        if waiting is None:
            self.arrivals[number] = {(source, target): label}
            heapq.heappush(self.pending, (number, target))
        else:
            waiting[source, target] = label

    def land(self, block: int, labels: Iterable[int]) -> None:
        """Threads that waited at `block` run it now."""
        if block not in self.query.returning:
            for label in labels:
                self.flying[label] -= 1
                if not self.flying[label]:
                    del self.flying[label]

    def join(self, block: int, arrivals: Mapping[Edge, int]) -> int:
        """The label of `block`, given those that arrive over its edges; if they differ, it is a join."""
        labels = set(arrivals.values())
        if len(labels) == 1:
            return labels.pop()
        self.query.groups[block] = tuple(
            frozenset(source for (source, _), arrived in arrivals.items() if arrived == label)
            for label in dict.fromkeys(arrivals.values())
        )
        return self.query.number[block]

    def inner_loop(self, block: int) -> Loop | None:
        """The loop that stands for `block` in this level, as an edge from the level can only enter it."""
        loop = self.query.loops.headed_by[block]
        return loop if loop is not self.level else None

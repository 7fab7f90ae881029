"""Gates of a control-flow graph: what decides over which edges threads arrive somewhere.

Tu and Padua (*Efficient Building and Placing of Gating Functions*, PLDI 1995) find the gating function of a φ as the
path expressions from the immediate dominator of its block to the block's incoming edges, regions that all paths run
through being cut short. Here each level of the graph (`weft.graph.levels`) is searched backwards from these edges,
where a region with one way in and one way out costs a single step, and the gates are built from the end, so that
what follows a path is shared, not copied. The search looks at nothing but the decisions of the gating function and
the edges between them: the time is linear in the size of the result but for sorting.

In a level inner loops are single nodes. Which way threads go on behind a loop is decided by the edge over which they
leave it, and this again by decisions in the loop: some threads may leave while others go on.

Gates are exact on reducible graphs: what they name decides for some threads. In an irreducible loop they name all that
may decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from weft.analysis.gated.gates import NEVER, Edge, Gamma, Gate, GateTable, parts
from weft.graph.block_index import BlockIndex, block_index
from weft.graph.cfg import CFG
from weft.graph.levels import Level, Node, levels, node_at
from weft.graph.loops import Loop, LoopForest, loop_forest

LEAVE = "leave"
"""Outcome: the thread leaves the loop by one of the edges in question. To begin the next iteration is an outcome
that is named by the loop itself."""


class Gating:
    """Answers which decisions lead where, for one graph.

    Attributes
    ----------
    table
        Makes the gates.
    steps
        Edges looked at so far: what the search costs.
    """

    __slots__ = (
        "_decisions",
        "_exits",
        "_irreducible",
        "_leaving",
        "_levels",
        "cfg",
        "index",
        "loops",
        "steps",
        "table",
    )

    def __init__(self, cfg: CFG, loops: LoopForest | None = None, index: BlockIndex | None = None) -> None:
        self.cfg = cfg
        self.loops = loops or loop_forest(cfg)
        self.index = index or block_index(cfg, loops=self.loops)
        self.table = GateTable()
        self.steps = 0
        self._levels = levels(cfg, self.loops, self.index)
        self._decisions: dict[Gate, tuple[int, ...]] = {}
        self._irreducible: dict[Loop, tuple[int, ...]] = {}
        self._exits: dict[tuple[Loop, int], tuple[Edge, ...]] = {}
        self._leaving: dict[tuple[Loop, tuple[Edge, ...]], Gate] = {}

    def level(self, region: Loop | None) -> Level:
        return self._levels[region]

    def gate(self, region: Loop | None, start: Node, arrivals: Mapping[Edge, Gate]) -> Gate:
        """What happens to a thread at node `start` of the level of `region`, where the edges in `arrivals` have gates.

        All these edges start in the level (or in a loop that is one of its nodes), behind `start`, which dominates
        their sources. What happens to threads that take none of them is `NEVER`.
        """
        level = self._levels[region]
        first = level.position[start]
        deciding = self._deciding(level, first, arrivals)
        reached: dict[int, Gate] = {}
        result: Gate = NEVER
        for node in sorted(deciding, reverse=True):
            arms = []
            for edge, target in level.edges[node]:
                arrived = arrivals.get(edge)
                arms.append((edge, reached.get(target, NEVER) if arrived is None else arrived))
            result = reached[deciding[node]] = self.table.gamma(level.nodes[node], arms)
            self.steps += len(arms)
        return result

    def _deciding(self, level: Level, first: int, arrivals: Mapping[Edge, Gate]) -> dict[int, int]:
        """The nodes between `first` and the given edges that decide whether, or over which, they are taken.

        Each with the node from which all paths lead to it: whoever looks at one, looks at the other.
        """
        region = level.region
        deciding: dict[int, int] = {}
        work = [level.position[node_at(self.loops, region, source)] for source, _ in arrivals]
        while work:
            node = work.pop()
            self.steps += 1
            if node in deciding:
                continue
            top = deciding[node] = level.top(node)
            if not level.dominates(top, first):
                work.extend(level.preds[top])
        return deciding

    def arriving(self, block: int) -> Gate:
        """What decides over which edge a thread comes to `block`: each outcome is an edge.

        For the header of a reducible loop these are the edges into the loop.
        """
        loop = self.loops.headed_by[block]
        around = self.irreducible_around(loop)
        if around is not None:
            # Threads enter an inner loop while others go on in it: neither begins an iteration with the other.
            return self._unknown(around, self._edges_to(block))
        edges = self._edges_to(block, loop)
        region = self.loops.innermost[block] if loop is None else loop.parent
        if len(edges) == 1:
            return self.table.leaf(edges[0])
        if region is not None and region.is_irreducible:
            return self._unknown(region, edges)
        level = self._levels[region]
        start = level.nodes[level.idom(level.position[block if loop is None else loop])]
        return self.gate(region, start, {edge: self.table.leaf(edge) for edge in edges})

    def going_on(self, loop: Loop) -> Gate:
        """What decides over which back edge a thread begins the next iteration of a reducible loop."""
        edges = [(latch, loop.header) for latch in loop.latches]
        if len(edges) == 1:
            return self.table.leaf(edges[0])
        return self.gate(loop, loop.header, {edge: self.table.leaf(edge) for edge in edges})

    def irreducible_around(self, loop: Loop | None) -> Loop | None:
        """The innermost irreducible loop among `loop` and those around it."""
        while loop is not None and not loop.is_irreducible:
            loop = loop.parent
        return loop

    def _unknown(self, loop: Loop, edges: Iterable[Edge]) -> Gate:
        """A gate in an irreducible loop: all that goes on in the loop may decide."""
        return self.table.gamma(loop, [(edge, self.table.leaf(edge)) for edge in edges])

    def _edges_to(self, block: int, outside: Loop | None = None) -> list[Edge]:
        """The edges to a block that threads may take, but for those from the inside of a loop."""
        sources = (p for p in self.cfg.distinct_preds(block) if self.index.number[p] >= 0)
        return [(p, block) for p in sources if outside is None or p not in outside]

    def exits_to(self, loop: Loop, block: int) -> tuple[Edge, ...]:
        """The exit edges over which threads come from `loop` to `block`, which its header dominates, outside of it."""
        if len(loop.exit_edges) == 1:
            return loop.exit_edges
        known = self._exits.get((loop, block))
        if known is None:
            known = self._exits[loop, block] = self._exits_to(loop, block)
        return known

    def _exits_to(self, loop: Loop, block: int) -> tuple[Edge, ...]:
        region = loop.parent
        if region is not None and region.is_irreducible:
            return loop.exit_edges
        if region is None or block in region.blocks:
            level = self._levels[region]
            target = level.position[node_at(self.loops, region, block)]
            leading = [e for p in set(level.preds[target]) for e, to in level.edges[p] if to == target]
        else:
            leading = list(self.exits_to(region, block))
        gate = self.gate(region, loop, dict.fromkeys(leading, self.table.leaf(LEAVE)))
        if isinstance(gate, Gamma) and gate.decision is loop:
            return tuple(edge for edge, arm in gate.arms if arm is not NEVER)
        return loop.exit_edges

    def leaving(self, loop: Loop, exits: Iterable[Edge]) -> Gate:
        """What decides, in each iteration of a loop, between the given exit edges and going on."""
        exits = tuple(exits)
        known = self._leaving.get((loop, exits))
        if known is None:
            known = self._in_iteration(loop, dict.fromkeys(exits, self.table.leaf(LEAVE)))
            self._leaving[loop, exits] = known
        return known

    def _in_iteration(self, loop: Loop, exits: dict[Edge, Gate]) -> Gate:
        going_on = self.table.leaf(loop)
        if loop.is_irreducible:
            back = ((latch, entry) for latch in loop.latches for entry in loop.entries)
            return self.table.gamma(loop, [*exits.items(), (next(back), going_on)])
        latches = dict.fromkeys(((latch, loop.header) for latch in loop.latches), going_on)
        return self.gate(loop, loop.header, exits | latches)

    def decisions(self, gate: Gate) -> tuple[int, ...]:
        """The blocks whose terminators decide between outcomes of `gate`, for threads to which one of them happens.

        Threads that start together, and go the same way at each of these terminators whenever they execute it
        together, have the same outcome.
        """
        gate = self.table.thin(gate)
        known = self._decisions.get(gate)
        if known is None:
            known = self._decisions[gate] = tuple(dict.fromkeys(self._find_decisions(gate)))
        return known

    def _find_decisions(self, gate: Gate) -> Iterator[int]:
        seen: set[Gate] = set()
        work = [gate]
        while work:
            for part in parts(work.pop(), seen):
                seen.add(part)
                if not isinstance(part, Gamma):
                    continue
                if isinstance(part.decision, int):
                    yield part.decision
                elif part.decision.is_irreducible:
                    yield from self._within(part.decision)
                else:
                    exits = {edge: arm for edge, arm in part.arms if arm is not NEVER}
                    work.append(self.table.thin(self._in_iteration(part.decision, exits)))

    def _within(self, loop: Loop) -> tuple[int, ...]:
        """What decides where threads are in an irreducible loop: by which entry they came, and all that parts them."""
        known = self._irreducible.get(loop)
        if known is None:
            found = dict.fromkeys((*self._entry_decisions(loop), *self._parting(loop)))
            known = self._irreducible[loop] = tuple(found)
        return known

    def _parting(self, loop: Loop) -> Iterator[int]:
        """The blocks in an irreducible loop after which threads may be in different places of it."""
        for node in self._levels[loop].nodes:
            if isinstance(node, int):
                if len(self.cfg.distinct_succs(node)) > 1:
                    yield node
            elif len(node.exit_edges) < 2:
                # Threads leave it over the one edge, together in the end.
                continue
            elif node.is_irreducible:
                yield from self._parting(node)
            else:
                arms = [(edge, self.table.leaf(edge)) for edge in node.exit_edges]
                yield from self.decisions(self.table.gamma(node, arms))

    def _entry_decisions(self, loop: Loop) -> tuple[int, ...]:
        region = loop.parent
        if region is not None and region.is_irreducible:
            return self._within(region)
        arrivals = {
            edge: self.table.leaf(entry) for entry in loop.entries for edge in self._edges_to(entry, loop)
        }
        level = self._levels[region]
        above = level.idom(level.position[loop])
        # A loop that stands first is entered by the function's entry only.
        return self.decisions(self.gate(region, level.nodes[above], arrivals)) if above >= 0 else ()

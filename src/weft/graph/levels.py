"""The levels of a graph: each region without its back edges, inner loops taken as single nodes.

A *region* is the whole graph or a loop. Its *level* (see `weft.graph.block_index`) is an acyclic graph: the nodes
are the blocks of the region that are in no inner loop, and the outermost inner loops; what runs in one iteration,
once per node. Edges that leave the region or go back to its entry lead to a node ``end`` of their own. A node may
have several edges to the same node: they remain apart, each with the edge of the whole graph that it stands for.

Dominance in a level is that of the whole graph. Post-dominance is not: here it means "on every way to the end of
this iteration".
"""

from __future__ import annotations

from weft.graph.block_index import BlockIndex
from weft.graph.cfg import CFG
from weft.graph.dominators import dominator_tree, post_dominator_tree
from weft.graph.loops import Loop, LoopForest

__all__ = ["Level", "levels"]

Edge = tuple[int, int]
Node = int | Loop


class Level:
    """One level.

    Attributes
    ----------
    region
        The loop, or None for the whole graph.
    nodes
        The nodes in topological order; the first dominates all others unless `region` is irreducible.
    position
        The place of each node in `nodes`.
    edges
        Per node, by position, its edges: the edge of the whole graph and the position of the node it leads to, or
        ``len(nodes)`` for the end.
    preds
        Per node, by position, the positions from which edges come.
    """

    __slots__ = ("_dominators", "_top", "edges", "nodes", "position", "preds", "region")

    def __init__(
        self, region: Loop | None, nodes: list[Node], edges: dict[Node, list[tuple[Edge, Node | None]]]
    ):
        self.region = region
        self.nodes = tuple(nodes)
        self.position = {node: i for i, node in enumerate(nodes)}
        end = len(nodes)
        self.edges = tuple(
            tuple((edge, end if to is None else self.position[to]) for edge, to in edges.get(node, ()))
            for node in nodes
        )
        graph = CFG([[to for _, to in leaving] for leaving in self.edges] + [[]])
        self.preds = graph.preds
        self._dominators = dominator_tree(graph)
        after = post_dominator_tree(graph)
        self._top = list(range(len(nodes)))
        for node in range(1, len(nodes)):
            above = self._dominators.idom[node]
            if above >= 0 and after.dominates(node, above):
                self._top[node] = self._top[above]

    @property
    def end(self) -> int:
        """The position of the end."""
        return len(self.nodes)

    def top(self, node: int) -> int:
        """The highest dominator of `node` from which every path leads to `node`."""
        return self._top[node]

    def idom(self, node: int) -> int:
        """The immediate dominator of a node, both by position."""
        return self._dominators.idom[node]

    def dominates(self, a: int, b: int) -> bool:
        """Whether `a` dominates `b`, both by position."""
        return self._dominators.dominates(a, b)


def levels(cfg: CFG, loops: LoopForest, index: BlockIndex) -> dict[Loop | None, Level]:
    """Every level of the part of the graph that the entry reaches."""
    nodes: dict[Loop | None, list[Node]] = {None: []}
    nodes.update((loop, []) for loop in loops.loops)
    edges: dict[Loop | None, dict[Node, list[tuple[Edge, Node | None]]]] = {region: {} for region in nodes}
    for block in index.order:
        loop = loops.innermost[block]
        if loop is not None and not nodes[loop]:
            # Loops are compact, and begin with an entry, which is in no inner loop.
            nodes[loop.parent].append(loop)
        nodes[loop].append(block)
        for target in cfg.distinct_succs(block):
            _add_edge(edges, loops, (block, target))
    return {region: Level(region, members, edges[region]) for region, members in nodes.items()}


def _add_edge(
    edges: dict[Loop | None, dict[Node, list[tuple[Edge, Node | None]]]], loops: LoopForest, edge: Edge
) -> None:
    """Enter an edge into the level of its source and of each loop that it leaves."""
    source, target = edge
    node: Node = source
    level = loops.innermost[source]
    while level is not None and target not in level.blocks:
        edges[level].setdefault(node, []).append((edge, None))
        node, level = level, level.parent
    going_back = level is not None and target in level.entries
    to = None if going_back else node_at(loops, level, target)
    edges[level].setdefault(node, []).append((edge, to))


def node_at(loops: LoopForest, level: Loop | None, block: int) -> Node:
    """The node of a level that is `block` or the inner loop that contains it."""
    node: Node = block
    loop = loops.innermost[block]
    while loop is not level:
        assert loop is not None, f"block {block} is not in {level}"
        node, loop = loop, loop.parent
    return node

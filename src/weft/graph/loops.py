"""The loop nesting forest, for reducible and irreducible graphs.

A loop is a strongly connected component of the graph from which, for each loop around it, the edges into
that loop's entries have been taken away (Steensgaard's forest; see Ramalingam: *On Loops, Dominators, and
Dominance Frontiers*, TOPLAS 2002). The definition does not depend on a search order. A loop with one entry
is the natural loop of all back edges to that entry, so on reducible graphs this is the forest of natural
loops of Moll §2.4, with natural loops of one header merged. A loop with several entries is irreducible.

No block is an entry of two loops. Blocks that the graph's entry does not reach are in no loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.graph.cfg import CFG, reverse_postorder, strongly_connected_components

__all__ = ["Loop", "LoopForest", "is_reducible", "loop_forest"]


class Loop:
    """One loop.

    Attributes
    ----------
    header
        The first entry in reverse postorder; the only one unless the loop is irreducible.
    entries
        Blocks with an edge from outside (or the graph's entry), in reverse postorder.
    blocks
        All blocks, those of inner loops included.
    latches
        Blocks with an edge to an entry from inside.
    exit_edges
        Edges ``(exiting block, exit block)`` that leave the loop, each once.
    depth
        1 for an outermost loop.
    parent, children
        The loop around it, None for none, and those directly in it.
    """

    __slots__ = ("blocks", "children", "depth", "entries", "exit_edges", "header", "latches", "parent")

    def __init__(self, cfg: CFG, members: list[int], entries: tuple[int, ...], parent: Loop | None) -> None:
        """`members` and `entries` in reverse postorder; `members` holds the blocks of the loop."""
        self.header = entries[0]
        self.entries = entries
        self.blocks = frozenset(members)
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 1
        self.children: list[Loop] = []
        starts = set(entries)
        latches: list[int] = []
        exit_edges: dict[tuple[int, int], None] = {}
        for block in members:
            for target in cfg.succs[block]:
                if target not in self.blocks:
                    exit_edges[block, target] = None
                elif target in starts and (not latches or latches[-1] != block):
                    latches.append(block)
        self.latches = tuple(latches)
        self.exit_edges = tuple(exit_edges)

    @property
    def is_irreducible(self) -> bool:
        """Whether the loop can be entered at more than one block."""
        return len(self.entries) > 1

    @property
    def exiting(self) -> tuple[int, ...]:
        """Blocks inside with an edge to the outside."""
        return tuple(dict.fromkeys(source for source, _ in self.exit_edges))

    @property
    def exits(self) -> tuple[int, ...]:
        """Blocks outside with an edge from the inside."""
        return tuple(dict.fromkeys(target for _, target in self.exit_edges))

    def __contains__(self, block: object) -> bool:
        return block in self.blocks

    def contains(self, other: Loop) -> bool:
        """Whether `other` is this loop or inside it."""
        return other.depth >= self.depth and other.header in self.blocks

    def ancestors(self) -> Iterator[Loop]:
        """Yield this loop, then the loop around it, and so on outwards."""
        loop: Loop | None = self
        while loop is not None:
            yield loop
            loop = loop.parent

    def __repr__(self) -> str:
        kind = "irreducible loop" if self.is_irreducible else "loop"
        return f"<{kind} at {self.header}: {sorted(self.blocks)}>"


class LoopForest:
    """All loops of a graph.

    Parameters
    ----------
    size
        How many blocks the graph has.

    Attributes
    ----------
    loops
        Every loop, outer ones before the loops inside them.
    innermost
        Per block the innermost loop around it, or None.
    headed_by
        Per block the loop of which it is an entry, or None.
    """

    __slots__ = ("headed_by", "innermost", "loops")

    def __init__(self, size: int, loops: list[Loop]) -> None:
        self.loops = tuple(loops)
        innermost: list[Loop | None] = [None] * size
        headed_by: list[Loop | None] = [None] * size
        for loop in loops:
            for block in loop.blocks:
                innermost[block] = loop
            for block in loop.entries:
                headed_by[block] = loop
        self.innermost = tuple(innermost)
        self.headed_by = tuple(headed_by)

    @property
    def roots(self) -> tuple[Loop, ...]:
        """The outermost loops."""
        return tuple(loop for loop in self.loops if loop.parent is None)

    @property
    def is_reducible(self) -> bool:
        """Whether every loop has a single entry."""
        return not any(loop.is_irreducible for loop in self.loops)

    def depth(self, block: int) -> int:
        """The number of loops around `block`."""
        loop = self.innermost[block]
        return loop.depth if loop else 0

    def is_back_edge(self, source: int, target: int) -> bool:
        """Whether this edge of the graph goes from inside a loop to one of the loop's entries."""
        loop = self.headed_by[target]
        return loop is not None and source in loop.blocks

    def common(self, a: Loop | None, b: Loop | None) -> Loop | None:
        """The innermost loop that contains both, or None."""
        while a is not b:
            if b is None or (a is not None and a.depth > b.depth):
                assert a is not None
                a = a.parent
            else:
                b = b.parent
        return a


def loop_forest(cfg: CFG) -> LoopForest:
    """All loops of a graph, which are looked for once."""
    if not isinstance(cfg.loops, LoopForest):
        cfg.loops = _find_loops(cfg)
    return cfg.loops


def _find_loops(cfg: CFG) -> LoopForest:
    """Find the loops: components of the whole graph, then of each loop without the edges to its entries."""
    if not cfg.succs:
        return LoopForest(0, [])
    order = reverse_postorder(cfg.succs)
    position = [-1] * len(cfg)
    for index, block in enumerate(order):
        position[block] = index
    loops: list[Loop] = []
    inside = list(cfg.succs)
    work: list[tuple[list[int], Loop | None]] = [(order, None)]
    while work:
        region, parent = work.pop()
        found: list[Loop] = []
        for component in strongly_connected_components(inside, region):
            if len(component) == 1 and component[0] not in inside[component[0]]:
                continue
            component.sort(key=position.__getitem__)
            loop = Loop(cfg, component, _entries(cfg, component, position), parent)
            found.append(loop)
            starts = set(loop.entries)
            for block in loop.latches:
                inside[block] = tuple(target for target in inside[block] if target not in starts)
        found.sort(key=lambda loop: position[loop.header])
        loops.extend(found)
        if parent:
            parent.children.extend(found)
        work.extend((sorted(loop.blocks, key=position.__getitem__), loop) for loop in reversed(found))
    return LoopForest(len(cfg), loops)


def is_reducible(cfg: CFG) -> bool:
    """Whether every cycle can be entered at one block only."""
    return loop_forest(cfg).is_reducible


def _entries(cfg: CFG, component: list[int], position: list[int]) -> tuple[int, ...]:
    """Blocks of a component with an edge from a live block outside of it, in reverse postorder."""
    members = set(component)
    return tuple(
        block
        for block in component
        if block == 0 or any(position[p] >= 0 and p not in members for p in cfg.preds[block])
    )

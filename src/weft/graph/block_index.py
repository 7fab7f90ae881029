"""The compact block index (Moll §2.5): the order in which lock-step execution runs blocks.

Contract
--------
Let a *region* be a loop or the whole graph, and let the *level* of a region be its blocks and inner loops,
each inner loop taken as one node. For every graph:

1. **Topological.** Every edge but the back edges (edges to an entry of a loop from inside it) goes up.
2. **Loops are compact.** The blocks of every loop are consecutive, the header of a reducible loop first.
3. **Dominance regions are compact within their region.** For every node of a level, what it dominates in
   that level is consecutive. For a block outside all loops this is all it dominates.

Moll (§2.5) asks for more: every set of dominated blocks is to be consecutive, including what a block
inside a loop dominates outside of it. Such an index need not exist. In ::

    h -> a b;  a -> x l;  b -> y l;  l -> h

the loop is ``{h, a, b, l}``; the latch ``l`` lies behind both ``a`` and ``b``, and ``x``, ``y`` lie behind
the loop. Then ``{a, x}`` and ``{b, y}`` cannot both be consecutive. Nothing needs it: control that has left
a loop belongs to the level outside, where the loop is one node, and that node's region is consecutive.

The schedule
------------
Threads wait at edges; the edge of least *slot* runs next. The slot of an edge is that of its target, but a
thread that takes a back edge waits behind all blocks of the loop, as if the loop had a unique latch (Moll
§2.4 assumes one). So all threads in a loop begin the next iteration together, also if the loop has several
latches, and they leave the loop's level only when no thread is left in the loop. On a graph with unique
latches this is "the pending block of least index runs next".
"""

from __future__ import annotations

from weft.graph.cfg import CFG, postorder
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, LoopForest, loop_forest

__all__ = ["BlockIndex", "block_index"]


class BlockIndex:
    """A compact block index.

    Attributes
    ----------
    order
        The reached blocks by increasing index.
    number
        The index of each block; -1 if the entry does not reach it.
    """

    __slots__ = ("_latch_slot", "_loops", "_slot", "number", "order")

    def __init__(self, size: int, loops: LoopForest, sequence: list[int | Loop]) -> None:
        """`sequence` lists the blocks in order, and each loop behind its last block."""
        self._loops = loops
        self._slot = [-1] * size
        self._latch_slot: dict[int, int] = {}
        for slot, item in enumerate(sequence):
            if isinstance(item, Loop):
                self._latch_slot.update(dict.fromkeys(item.entries, slot))
            else:
                self._slot[item] = slot
        self.order = tuple(item for item in sequence if not isinstance(item, Loop))
        number = [-1] * size
        for index, block in enumerate(self.order):
            number[block] = index
        self.number = tuple(number)

    def slot(self, source: int, target: int) -> int:
        """The priority at which a thread waits that goes from `source` to `target`: least runs first."""
        if self._loops.is_back_edge(source, target):
            return self._latch_slot[target]
        return self._slot[target]

    def entry_slot(self, block: int) -> int:
        """The priority of a thread that waits at `block` and did not come over a back edge."""
        return self._slot[block]

    def latch_slot(self, loop: Loop) -> int:
        """The priority of a thread that waits to begin the next iteration of `loop`."""
        return self._latch_slot[loop.header]


def block_index(
    cfg: CFG, dominators: DominatorTree | None = None, loops: LoopForest | None = None
) -> BlockIndex:
    """Number the blocks that the entry reaches.

    At each level, nodes are arranged as a tree by their immediate dominators in that level and listed depth
    first, siblings in topological order. An edge into what a node dominates ends at that node, so it comes
    from a sibling (or from below one) or from the parent: the list is topological.
    """
    if not cfg.succs:
        return BlockIndex(0, LoopForest(0, []), [])
    loops = loops or loop_forest(cfg)
    dominators = dominators or dominator_tree(cfg)
    below, roots = _level_trees(cfg, dominators, loops)
    sequence: list[int | Loop] = []
    first = loops.headed_by[0]
    # A loop stands on the stack twice: first to be opened, then, marked closed, to end.
    work: list[tuple[int | Loop, bool]] = [(first if first else 0, False)]
    while work:
        node, closed = work.pop()
        if closed:
            sequence.append(node)
            continue
        work.extend((child, False) for child in reversed(below.get(node, ())))
        if isinstance(node, Loop):
            work.append((node, True))
            work.extend((root, False) for root in reversed(roots[node]))
        else:
            sequence.append(node)
    return BlockIndex(len(cfg), loops, sequence)


def _level_trees(
    cfg: CFG, dominators: DominatorTree, loops: LoopForest
) -> tuple[dict[int | Loop, list[int | Loop]], dict[Loop, list[int | Loop]]]:
    """Per node its children in the dominator tree of its level, and per loop the roots of its level."""
    below: dict[int | Loop, list[int | Loop]] = {}
    roots: dict[Loop, list[int | Loop]] = {loop: [] for loop in loops.loops}
    for block in reversed(postorder(_acyclic(cfg, loops))):
        level = loops.innermost[block]
        node: int | Loop = block
        headed = loops.headed_by[block]
        if headed is not None:
            roots[headed].append(block)
            if block != headed.header:
                continue
            node, level = headed, headed.parent
        idom = dominators.idom[block]
        if idom < 0:
            continue
        if level is not None and idom not in level.blocks:
            roots[level].append(node)
        else:
            below.setdefault(_node_at(level, idom, loops), []).append(node)
    return below, roots


def _node_at(level: Loop | None, block: int, loops: LoopForest) -> int | Loop:
    """The node of `level` that is, or contains, `block`."""
    node: int | Loop = block
    loop = loops.innermost[block]
    while loop is not level:
        assert loop is not None
        node, loop = loop, loop.parent
    return node


def _acyclic(cfg: CFG, loops: LoopForest) -> list[list[int]]:
    """The graph without back edges; who enters an irreducible loop enters it at each of its entries.

    The latter makes any topological order of the result one of every level, too: all that precedes an
    irreducible loop precedes each of its blocks.
    """
    forward: list[list[int]] = []
    for block, targets in enumerate(cfg.succs):
        kept: list[int] = []
        for target in targets:
            headed = loops.headed_by[target]
            if headed is None:
                kept.append(target)
            elif block not in headed.blocks:
                kept.extend(headed.entries)
        forward.append(kept)
    return forward

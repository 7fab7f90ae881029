"""Dominator and post-dominator trees, and dominance frontiers.

Immediate dominators are found by Semi-NCA (Georgiadis, Tarjan, Werneck: *Finding Dominators in Practice*,
2006): one depth-first search, semidominators with path compression, then the nearest common ancestor by
walking up. It is as short as the iterative method of Cooper, Harvey and Kennedy and has no bad cases in
real code.

Post-dominance needs one exit. A *virtual exit*, numbered ``len(cfg)``, succeeds

* every block without a successor, and
* for every cycle that cannot be left (a strongly connected component without an edge out), each latch: the
  sources of the edges to the component's first block in reverse postorder.

So an endless loop is treated as if it could be left at the end of each iteration: a block that runs in
every iteration post-dominates the header, one that does not, does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.graph.cfg import CFG, reachable, reverse_postorder, strongly_connected_components

__all__ = ["DominatorTree", "dominance_frontier", "dominator_tree", "post_dominator_tree"]

NONE = -1
"""In `DominatorTree.idom`: no immediate dominator (the root, and blocks the root does not reach)."""


class DominatorTree:
    """A dominator tree with constant-time queries.

    Parameters
    ----------
    root, idom
        As below.
    order
        The nodes that the root reaches, dominators first.

    Attributes
    ----------
    root
        The entry, or for post-dominators the virtual exit ``len(cfg)``.
    idom
        Immediate dominator of each node, -1 for the root and for nodes the root does not reach.
    children
        Nodes immediately dominated by each node, in depth-first order of the graph.
    """

    __slots__ = ("_enter", "_leave", "children", "idom", "root")

    def __init__(self, root: int, idom: Sequence[int], order: Sequence[int]) -> None:
        self.root = root
        self.idom: tuple[int, ...] = tuple(idom)
        children: list[list[int]] = [[] for _ in idom]
        for node in order:
            if idom[node] != NONE:
                children[idom[node]].append(node)
        self.children: tuple[tuple[int, ...], ...] = tuple(map(tuple, children))
        self._number(order)

    def _number(self, order: Sequence[int]) -> None:
        # With subtree sizes known, a parent can hand each child its interval: no second search is needed.
        size = [0] * len(self.idom)
        for node in reversed(order):
            size[node] += 1
            if self.idom[node] != NONE:
                size[self.idom[node]] += size[node]
        enter = [0] * len(self.idom)
        for node in order:
            start = enter[node] + 1
            for child in self.children[node]:
                enter[child] = start
                start += size[child]
        self._enter = enter
        # An unreached node has size 0, so its interval is empty and it dominates nothing.
        self._leave = [first + extent for first, extent in zip(enter, size, strict=True)]

    def reaches(self, node: int) -> bool:
        """Whether `node` is in the tree at all."""
        return node == self.root or self.idom[node] != NONE

    def dominates(self, a: int, b: int) -> bool:
        """Whether `a` dominates `b`, as every node does itself. False unless the root reaches both."""
        return self._enter[a] <= self._enter[b] < self._leave[a] and self._enter[b] < self._leave[b]

    def strictly_dominates(self, a: int, b: int) -> bool:
        """Whether `a` dominates `b` and differs from it."""
        return a != b and self.dominates(a, b)

    def region(self, node: int) -> list[int]:
        """Every node that `node` dominates, itself first, dominators before what they dominate."""
        nodes = [node]
        for member in nodes:
            nodes.extend(self.children[member])
        return nodes


def dominator_tree(cfg: CFG) -> DominatorTree:
    """Dominators of each block that the entry reaches."""
    if not isinstance(cfg.dominators, DominatorTree):
        cfg.dominators = _tree(cfg.succs, cfg.preds, 0)
    return cfg.dominators


def post_dominator_tree(cfg: CFG) -> DominatorTree:
    """Post-dominators over the virtual exit described above; blocks the entry does not reach are left out."""
    if not isinstance(cfg.post_dominators, DominatorTree):
        cfg.post_dominators = _post_dominators(cfg)
    return cfg.post_dominators


def _post_dominators(cfg: CFG) -> DominatorTree:
    exit_node = len(cfg)
    ends = _virtual_exit_preds(cfg)
    live = reachable(cfg.succs) if cfg.succs else bytearray()
    # Dead predecessors would show up as reached from the exit; they say nothing about executions.
    backward = [tuple(p for p in preds if live[p]) for preds in cfg.preds]
    backward.append(tuple(ends))
    is_end = set(ends)
    forward = [(*succs, exit_node) if b in is_end else succs for b, succs in enumerate(cfg.succs)]
    forward.append(())
    return _tree(backward, forward, exit_node)


def dominance_frontier(tree: DominatorTree, preds: Sequence[Sequence[int]]) -> list[list[int]]:
    """Per node, the nodes it does not strictly dominate but of which it dominates a predecessor.

    `preds` are the predecessors in the tree's own direction: `CFG.preds` for a dominator tree,
    `CFG.succs` for a post-dominator tree (the virtual exit, in no frontier, may be missing from it).
    """
    idom = tree.idom
    frontier: list[list[int]] = [[] for _ in idom]
    for node, sources in enumerate(preds):
        if not tree.reaches(node):
            continue
        for runner in sources:
            while tree.reaches(runner) and runner != idom[node]:
                here = frontier[runner]
                if here and here[-1] == node:
                    break
                here.append(node)
                runner = idom[runner]
    return frontier


def _virtual_exit_preds(cfg: CFG) -> list[int]:
    if not cfg.succs:
        return []
    order = reverse_postorder(cfg.succs)
    ends = [block for block in order if not cfg.succs[block]]
    leaving = reachable(cfg.preds, ends)
    stuck = [block for block in order if not leaving[block]]
    for component in strongly_connected_components(cfg.succs, stuck):
        members = set(component)
        if all(target in members for block in component for target in cfg.succs[block]):
            first = next(block for block in order if block in members)
            ends.extend(p for p in cfg.distinct_preds(first) if p in members)
    return ends


def _tree(succs: Sequence[Sequence[int]], preds: Sequence[Sequence[int]], root: int) -> DominatorTree:
    order, parent = _depth_first(succs, root)
    number = [NONE] * len(succs)
    for position, node in enumerate(order):
        number[node] = position
    by_number = _semi_nca(order, parent, preds, number)
    idom = [NONE] * len(succs)
    for position in range(1, len(order)):
        idom[order[position]] = order[by_number[position]]
    return DominatorTree(root, idom, order)


def _depth_first(succs: Sequence[Sequence[int]], root: int) -> tuple[list[int], list[int]]:
    """Preorder of the reached nodes, and for each position in it the position of the tree parent."""
    order: list[int] = []
    parent: list[int] = []
    seen = bytearray(len(succs))
    work = [(root, 0)]
    while work:
        node, above = work.pop()
        if seen[node]:
            continue
        seen[node] = 1
        position = len(order)
        order.append(node)
        parent.append(above)
        work.extend((target, position) for target in reversed(succs[node]) if not seen[target])
    return order, parent


def _semi_nca(
    order: Sequence[int], parent: list[int], preds: Sequence[Sequence[int]], number: Sequence[int]
) -> list[int]:
    """Immediate dominators, everything by preorder position."""
    count = len(order)
    semi = list(range(count))
    label = list(range(count))
    ancestor = list(parent)
    for w in range(count - 1, 0, -1):
        best = w
        for pred in preds[order[w]]:
            v = number[pred]
            if v == NONE:
                continue
            if v > w:
                # Nodes above `w` in preorder are linked into the forest: take the best on the way up.
                _compress(v, w, ancestor, label, semi)
                v = semi[label[v]]
            if v < best:
                best = v
        semi[w] = best
    idom = list(parent)
    for w in range(1, count):
        above = idom[w]
        while above > semi[w]:
            above = idom[above]
        idom[w] = above
    return idom


def _compress(v: int, linked_above: int, ancestor: list[int], label: list[int], semi: list[int]) -> None:
    """Let `label[v]` be the node of least semidominator from `v` up to the root of its linked tree."""
    path: list[int] = []
    while ancestor[v] > linked_above:
        path.append(v)
        v = ancestor[v]
    top = v
    for node in reversed(path):
        if semi[label[ancestor[node]]] < semi[label[node]]:
            label[node] = label[ancestor[node]]
        ancestor[node] = ancestor[top]

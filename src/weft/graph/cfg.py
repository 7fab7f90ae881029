"""Abstract control-flow graphs: blocks are integers, block 0 is the entry.

Everything in this room works on this class alone, so the same code serves P-LLVM functions, other front
ends and hand-written test graphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["CFG", "postorder", "reachable", "reverse_postorder", "strongly_connected_components"]


class CFG:
    """An immutable control-flow graph.

    Attributes
    ----------
    succs
        Successors of each block in terminator order. A switch or conditional branch that names a block
        twice lists it twice.
    preds
        Predecessors of each block, one entry per edge, so with the same multiplicity as `succs`.
    labels
        A name per block, for people; by default its number.
    """

    __slots__ = ("dominators", "labels", "loops", "post_dominators", "preds", "succs")

    def __init__(self, succs: Iterable[Iterable[int]], labels: Sequence[str] | None = None) -> None:
        self.succs: tuple[tuple[int, ...], ...] = tuple(tuple(targets) for targets in succs)
        preds: list[list[int]] = [[] for _ in self.succs]
        for block, targets in enumerate(self.succs):
            for target in targets:
                preds[target].append(block)
        self.preds: tuple[tuple[int, ...], ...] = tuple(tuple(sources) for sources in preds)
        self.labels: tuple[str, ...] = tuple(labels) if labels else tuple(map(str, range(len(self.succs))))
        # What `weft.graph.loops` and `weft.graph.dominators` have found, once they were asked.
        self.loops: object = None
        self.dominators: object = None
        self.post_dominators: object = None

    @classmethod
    def parse(cls, text: str) -> CFG:
        """Read a graph written as ``"A -> B C; B -> D; C -> D"``.

        Statements are separated by semicolons or line ends. Blocks are numbered in order of first
        mention, so the first name is the entry; a block without a statement of its own has no successor.
        """
        numbers: dict[str, int] = {}
        edges: dict[int, list[int]] = {}
        for statement in re.split(r"[;\n]", text):
            source, _, targets = statement.partition("->")
            if not source.strip():
                continue
            block = numbers.setdefault(source.strip(), len(numbers))
            for name in targets.split():
                edges.setdefault(block, []).append(numbers.setdefault(name, len(numbers)))
        return cls((edges.get(block, ()) for block in range(len(numbers))), list(numbers))

    def __len__(self) -> int:
        return len(self.succs)

    def block(self, label: str) -> int:
        """The block with this label."""
        return self.labels.index(label)

    def distinct_succs(self, block: int) -> tuple[int, ...]:
        """Successors of `block` in terminator order, each once."""
        return tuple(dict.fromkeys(self.succs[block]))

    def distinct_preds(self, block: int) -> tuple[int, ...]:
        """Predecessors of `block` in block order, each once."""
        return tuple(dict.fromkeys(self.preds[block]))

    def __repr__(self) -> str:
        names = self.labels
        edges = (f"{names[b]} -> {' '.join(names[t] for t in ts)}" for b, ts in enumerate(self.succs) if ts)
        return f"CFG({'; '.join(edges)})"


def postorder(succs: Sequence[Sequence[int]], root: int = 0) -> list[int]:
    """Blocks reachable from `root`, each after the blocks first reached through it.

    Successors are explored last to first, so that the reverse of this order lists the first successor of a
    branch before the second wherever the graph leaves the choice.
    """
    order: list[int] = []
    seen = bytearray(len(succs))
    seen[root] = 1
    stack = [(root, reversed(succs[root]))]
    while stack:
        block, rest = stack[-1]
        for target in rest:
            if not seen[target]:
                seen[target] = 1
                stack.append((target, reversed(succs[target])))
                break
        else:
            order.append(block)
            stack.pop()
    return order


def reverse_postorder(succs: Sequence[Sequence[int]], root: int = 0) -> list[int]:
    """Blocks reachable from `root`, each before its successors but for retreating edges."""
    order = postorder(succs, root)
    order.reverse()
    return order


def reachable(succs: Sequence[Sequence[int]], roots: Iterable[int] = (0,)) -> bytearray:
    """One flag per block: whether it is reachable from one of `roots`.

    Given `CFG.preds`, the blocks that reach one of `roots`.
    """
    seen = bytearray(len(succs))
    work = list(roots)
    for root in work:
        seen[root] = 1
    while work:
        for target in succs[work.pop()]:
            if not seen[target]:
                seen[target] = 1
                work.append(target)
    return seen


def strongly_connected_components(succs: Sequence[Sequence[int]], blocks: Iterable[int]) -> list[list[int]]:
    """Strongly connected components of the subgraph on `blocks`, in reverse topological order.

    Tarjan's algorithm, without recursion. Edges that leave `blocks` are ignored.
    """
    outside, fresh = -1, 0
    number = [outside] * len(succs)
    blocks = list(blocks)
    for block in blocks:
        number[block] = fresh
    low = [0] * len(succs)
    done = len(succs) + 1
    components: list[list[int]] = []
    count = 0
    open_blocks: list[int] = []
    for root in blocks:
        if number[root] != fresh:
            continue
        count += 1
        number[root] = low[root] = count
        open_blocks.append(root)
        stack = [(root, iter(succs[root]))]
        while stack:
            block, rest = stack[-1]
            for target in rest:
                reached = number[target]
                if reached == fresh:
                    count += 1
                    number[target] = low[target] = count
                    open_blocks.append(target)
                    stack.append((target, iter(succs[target])))
                    break
                if outside < reached < low[block]:
                    low[block] = reached
            else:
                stack.pop()
                if stack:
                    parent = stack[-1][0]
                    low[parent] = min(low[parent], low[block])
                if low[block] == number[block]:
                    component: list[int] = []
                    while not component or component[-1] != block:
                        component.append(open_blocks.pop())
                        number[component[-1]] = done
                    components.append(component)
    return components

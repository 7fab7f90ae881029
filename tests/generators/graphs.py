"""Random reducible control-flow graphs with nested loops that have many exits, for the program generator."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A block to be: its successors, and the headers of the loops around it, innermost first."""

    number: int
    headers: tuple[int, ...]
    succs: list[int] = field(default_factory=list)
    is_header: bool = False


Item = Node | list["Item"]  # type: ignore[misc]
"""A block, or a loop as the list of what is in it; its first item is the header, its last the latch."""


@dataclass(slots=True)
class GraphShape:
    """How large and how wild a graph is to be."""

    blocks: int = 12
    loop_depth: int = 3
    switches: bool = True
    single_return: bool = True


class GraphBuilder:
    """Builds one graph: blocks in topological order within each level, every edge forward but the back edges."""

    def __init__(self, rng: random.Random, shape: GraphShape) -> None:
        self.rng = rng
        self.shape = shape
        self.nodes: list[Node] = []

    def build(self) -> list[Node]:
        """The nodes, entry first; some may be unreachable. Nodes without successors return."""
        top = self._level(self.shape.blocks, ())
        top.append(self._node(()))
        self._connect(top, [])
        return self._with_dedicated_exits()

    def _with_dedicated_exits(self) -> list[Node]:
        """Put blocks on some of the edges that leave loops; all blocks stay in topological order."""
        order = list(self.nodes)
        for source in self.nodes:
            for position, target in enumerate(source.succs):
                behind = self.nodes[target]
                around = behind.headers[1:] if behind.is_header else behind.headers
                leaves = len(source.headers) > len(around)
                if leaves and target not in source.headers and self.rng.random() < 0.5:
                    exit_block = Node(len(order), around, [target])
                    order.insert(order.index(behind), exit_block)
                    source.succs[position] = exit_block.number
        return order

    def _node(self, headers: tuple[int, ...]) -> Node:
        node = Node(len(self.nodes), headers)
        self.nodes.append(node)
        return node

    def _level(self, size: int, headers: tuple[int, ...]) -> list[Item]:
        rng = self.rng
        items: list[Item] = [self._node(headers)]
        left = size - 1
        while left > 0:
            if left >= 2 and len(headers) < self.shape.loop_depth and rng.random() < 0.35:
                inner = rng.randint(1, left)
                items.append(self._loop(inner, headers))
                left -= inner
            else:
                items.append(self._node(headers))
                left -= 1
        return items

    def _loop(self, size: int, headers: tuple[int, ...]) -> list[Item]:
        own = (len(self.nodes), *headers)
        items = self._level(size, own)
        header = items[0]
        assert isinstance(header, Node)
        header.is_header = True
        if len(items) > 1 and not isinstance(items[-1], Node):
            items.append(self._node(own))
        return items

    def _connect(self, level: list[Item], later: list[list[int]]) -> None:
        """Give the blocks of a level successors; `later` lists, per level around it, what comes behind."""
        rng = self.rng
        for position, item in enumerate(level):
            ahead = [_entry(other) for other in level[position + 1 :]]
            if isinstance(item, list):
                self._connect(item, [ahead, *later])
                continue
            in_loop = bool(item.headers)
            is_latch = in_loop and not ahead
            exits = [target for outer in later for target in outer[:2]]
            if is_latch:
                item.succs = [item.headers[0]]
                if later:
                    item.succs.append(later[0][0] if rng.random() < 0.8 else rng.choice(exits))
                continue
            if not ahead:
                continue
            wanted = rng.choices((1, 2, 3), (3, 7, 2 if self.shape.switches else 0))[0]
            targets = [ahead[0]] if rng.random() < 0.85 else [rng.choice(ahead[:3])]
            choices = [*ahead[:3], *exits]
            if not self.shape.single_return and not in_loop and len(ahead) > 1 and rng.random() < 0.1:
                item.succs = []
                continue
            while len(targets) < wanted:
                if in_loop and rng.random() < 0.08 and item.headers[0] != item.number:
                    targets.append(item.headers[0])
                else:
                    targets.append(rng.choice(choices))
            item.succs = list(dict.fromkeys(targets))
            rng.shuffle(item.succs)


def _entry(item: Item) -> int:
    while isinstance(item, list):
        item = item[0]
    return item.number

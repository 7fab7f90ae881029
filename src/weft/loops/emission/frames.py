"""Loops that are being written, and where control comes together in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.analysis.sequential.scope import LoopContext
from weft.graph.cfg import CFG
from weft.graph.dominators import DominatorTree, post_dominator_tree
from weft.ir import BasicBlock


@dataclass(slots=True)
class Frame:
    """A loop that is being written.

    Parameters
    ----------
    loop
        The loop.
    follow
        The block behind it, None behind the kernel's outermost.
    around
        The loop around it.
    """

    loop: LoopContext
    follow: BasicBlock | None
    around: Frame | None
    blocks: frozenset[BasicBlock] = field(init=False)
    tree: DominatorTree = field(init=False)
    numbers: dict[BasicBlock, int] = field(init=False)

    def __post_init__(self) -> None:
        own = self.loop.blocks
        self.blocks = frozenset(own)
        self.numbers = {
            b: k for k, b in enumerate([self.loop.header, *(b for b in own if b is not self.loop.header)])
        }
        succs = [
            [self.numbers[s] for s in b.successors if s in self.blocks and s is not self.loop.header]
            for b in self.numbers
        ]
        self.tree = post_dominator_tree(CFG(succs))

    def join(self, block: BasicBlock) -> BasicBlock | None:
        """Where the ways of a branch meet."""
        number = self.tree.idom[self.numbers[block]]
        return next((b for b, k in self.numbers.items() if k == number), None)


def common_join(frame: Frame, exits: list[BasicBlock]) -> BasicBlock | None:
    """The nearest block that all ways out of a loop come to."""
    chains: list[list[BasicBlock]] = []
    for exit in exits:
        chain: list[BasicBlock] = []
        block: BasicBlock | None = exit
        while block is not None:
            chain.append(block)
            block = frame.join(block)
        chains.append(chain)
    return next((b for b in chains[0] if all(b in c for c in chains)), None)

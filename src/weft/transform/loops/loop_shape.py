"""Loops in terms of blocks, as the divergent loop transform (Moll, §9.1) sees and changes them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from weft.ir import BasicBlock

Edge = tuple[BasicBlock, BasicBlock]


class LoopSummary(Struct):
    """What happened to a loop, for remarks and statistics.

    Parameters
    ----------
    header
        Where it begins.
    divergent
        Whether threads left it at different times.
    guarded
        Whether it is entered only if a thread is live.
    kept_exits, rebound_exits
        Exits that stayed, and that lead to the latch now.
    trackers
        Values that are kept for threads that have left.
    leaving
        The blocks on what were divergent exits.
    """

    header: BasicBlock
    divergent: bool
    guarded: bool = False
    kept_exits: int = 0
    rebound_exits: int = 0
    trackers: int = 0
    leaving: list[BasicBlock] = field(default_factory=list)


class LoopShape(Struct, eq=False):
    """A loop in terms of blocks, kept up to date while inner loops change.

    Parameters
    ----------
    header, blocks
        Where it begins, and all its blocks.
    parent
        The loop around it; None for none.
    uniform_exits, divergent_exits
        Edges out of it that all live threads take together, and the others.
    may_be_empty
        Whether it may be reached without a live thread.
    """

    header: BasicBlock
    blocks: set[BasicBlock]
    parent: LoopShape | None
    divergent_exits: list[Edge] = field(default_factory=list)
    uniform_exits: list[Edge] = field(default_factory=list)
    may_be_empty: bool = False

    def ancestors(self) -> Iterator[LoopShape]:
        loop = self.parent
        while loop is not None:
            yield loop
            loop = loop.parent

    def add(self, block: BasicBlock) -> None:
        """Make `block` part of this loop and those around it."""
        self.blocks.add(block)
        for outer in self.ancestors():
            outer.blocks.add(block)

    def replace_exit(self, old: Edge, new: list[Edge]) -> None:
        """An exit edge of this loop became others, because an inner loop's exits were rebound."""
        for exits in (self.uniform_exits, self.divergent_exits):
            if old in exits:
                exits.remove(old)
                self.divergent_exits.extend(e for e in new if e not in self.divergent_exits)


def preheader_of(loop: LoopShape) -> BasicBlock:
    """The one block outside `loop` from which it is entered, which does nothing else."""
    outside = [b for b in loop.header.predecessors if b not in loop.blocks]
    assert len(outside) == 1 and len(outside[0].successors) == 1, f"{loop.header.name} has no preheader"
    return outside[0]

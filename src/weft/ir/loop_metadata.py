"""Marks on loops: ``!llvm.loop`` of the branch that goes back to the header."""

from __future__ import annotations

from weft.ir.instruction import Instruction
from weft.ir.metadata import MDString, MDTuple, Metadata

PARALLEL = "weft.loop.parallel"
"""Iterations do not meet in memory: what a front end writes for a parallel loop of its language."""


def mark_parallel(back_edge: Instruction) -> None:
    """Promise that the iterations of the loop with this back edge are independent."""
    identity: list[Metadata | None] = [None, MDTuple([MDString(PARALLEL)])]
    node = MDTuple(identity, distinct=True)
    node.items[0] = node
    back_edge.metadata["llvm.loop"] = node

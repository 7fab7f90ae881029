"""How often blocks run beside the first one, by the chances of branches between versions."""

from __future__ import annotations

from collections.abc import Sequence

from weft.graph.cfg import reverse_postorder
from weft.ir import BasicBlock
from weft.ir.cfg_view import CFGView

Ways = Sequence[float]
"""How much of what runs a block goes on to each of its successors."""


def ways_of(block: BasicBlock) -> Ways:
    """The chances that are known of its branch; otherwise all of it may go either way."""
    chance = block.terminator.chance if len(set(block.successors)) == 2 else None
    return (1.0,) * len(block.successors) if chance is None else (chance, 1 - chance)


def reached(view: CFGView, ways: Sequence[Ways]) -> list[float]:
    """How much of what enters a function comes to each block, but for what loops repeat, by the ways from each."""
    found = [0.0] * len(view.blocks)
    found[0] = 1.0
    for number in reverse_postorder(view.cfg.succs):
        for target, share in zip(view.blocks[number].successors, ways[number], strict=True):
            to = view.index[target]
            found[to] = min(1.0, found[to] + share * found[number])
    return found

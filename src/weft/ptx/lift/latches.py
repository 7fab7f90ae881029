"""Loops of PTX that go around from several places get one latch.

Precondition: P-LLVM. Postcondition: loops with one entry go around through one block. Preserves FR and OBL: edges are
led through new blocks.
"""

from __future__ import annotations

from weft.graph.loops import loop_forest
from weft.ir import Function
from weft.ir.cfg_edit import lead_through
from weft.ir.cfg_view import cfg_of


def join_latches(function: Function) -> None:
    """Let each loop go around through one block, before LLVM takes one that does so from several places for a nest.

    Lanes that go around from one place would wait for all that do so from another.
    """
    while _join_one(function):
        pass


def _join_one(function: Function) -> bool:
    view = cfg_of(function)
    for loop in loop_forest(view.cfg).loops:
        if len(loop.latches) > 1 and not loop.is_irreducible:
            header = view.blocks[loop.header]
            lead_through([view.blocks[b] for b in loop.latches], header, f"{header.name}.latch")
            return True
    return False

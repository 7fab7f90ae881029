"""Loop-simplified form, LLVM's: each loop has a preheader, one latch, and exit blocks of its own.

Precondition: P-LLVM without predicates and shadows, whose loops have one entry each; others are left as they are.
Postcondition: a loop is entered from one block that does nothing else, goes around through one block, and is left to
blocks that only it branches to. Nothing else changes: edges are led through new blocks. Preserves FR and OBL.
"""

from __future__ import annotations

from weft.graph.loops import Loop, loop_forest
from weft.ir import Function
from weft.ir.cfg_edit import lead_through
from weft.ir.cfg_view import CFGView, cfg_of


def simplify_loops(function: Function) -> bool:
    """Bring all loops into that form; whether any was not."""
    changed = False
    while _simplify_one(function):
        changed = True
    return changed


def _simplify_one(function: Function) -> bool:
    """Simplify one loop, whose blocks are then others."""
    view = cfg_of(function)
    return any(_simplify(view, loop) for loop in loop_forest(view.cfg).loops if not loop.is_irreducible)


def _simplify(view: CFGView, loop: Loop) -> bool:
    inside = {view.blocks[b] for b in loop.blocks}
    header = view.blocks[loop.header]
    entering = [b for b in header.predecessors if b not in inside]
    changed = False
    if len(entering) != 1 or len(entering[0].successors) != 1:
        lead_through(entering, header, f"{header.name}.preheader")
        changed = True
    latches = [b for b in header.predecessors if b in inside]
    if len(latches) != 1:
        lead_through(latches, header, f"{header.name}.latch")
        changed = True
    for exit_block in (view.blocks[b] for b in loop.exits):
        leaving = [b for b in exit_block.predecessors if b in inside]
        if len(leaving) != len(exit_block.predecessors):
            lead_through(leaving, exit_block, f"{exit_block.name}.exit")
            changed = True
    return changed

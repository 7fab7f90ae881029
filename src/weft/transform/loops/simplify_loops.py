"""Loop-simplified form, LLVM's: each loop has a preheader, one latch, and exit blocks of its own.

Precondition: P-LLVM without predicates and shadows, whose loops have one entry each; others are left as they are.
Postcondition: a loop is entered from one block that does nothing else, goes around through one block, and is left to
blocks that only it branches to. Nothing else changes: edges are led through new blocks. Preserves FR and OBL.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import VOID


def simplify_loops(function: Function) -> bool:
    """Bring all loops into that form; whether any was not."""
    changed = False
    while _simplify_one(function):
        changed = True
    return changed


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


def lead_through(sources: Collection[BasicBlock], target: BasicBlock, name: str) -> BasicBlock:
    """Put a new block before `target`, through which its edges from `sources` go; return it."""
    assert target.function is not None
    made = target.function.add_block(name)
    for phi in list(target.phis()):
        arriving = [(value, block) for value, block in phi.incoming() if block in sources]
        joined = made.append(Instruction("phi", phi.type, name=phi.name, flags=phi.flags, loc=phi.loc))
        for value, block in arriving:
            joined.add_incoming(value, block)
        for i in reversed(range(len(phi.blocks))):
            if phi.blocks[i] in sources:
                phi.remove_incoming(i)
        phi.add_incoming(joined, made)
    loc = None
    for source in sources:
        loc = loc or source.terminator.loc
        for i, successor in enumerate(source.terminator.successors):
            if successor is target:
                source.terminator.set_block(i, made)
    made.append(Instruction("br", VOID, blocks=(target,), loc=loc))
    return made

"""Loops over ``prange`` that run once, whatever comes, are no loops.

LLVM makes a loop whose counter has one value, as in ``prange(1)``, one that asks whether this is its first turn::

    head:  first = φ [true, before], [false, last]           head:  br body
           br first, body, exit                       ==>    body:  ...
    body:  ...                                                      br exit
           br head

It counts up to no bound, so nobody could say how its iterations are run in parallel; and there is nothing to run so.

Precondition: canonical P-LLVM with marks on promised loops. Postcondition: the same, without such loops among the
promised ones. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import CFGView, cfg_of


class _SingleTurn(Struct, frozen=True):
    """A loop that runs once: its blocks, those before and behind it, and the first and last ones inside."""

    before: BasicBlock
    header: BasicBlock
    body: BasicBlock
    latch: BasicBlock
    exit: BasicBlock
    inside: frozenset[BasicBlock]


def write_out_single_turns(function: Function, is_wanted: Callable[[CFGView, Loop], bool]) -> int:
    """Make straight code of such loops among those that are wanted; how many."""
    made = 0
    while (found := _next(function, is_wanted)) is not None:
        _write_out(found)
        made += 1
    return made


def _next(function: Function, is_wanted: Callable[[CFGView, Loop], bool]) -> _SingleTurn | None:
    view = cfg_of(function)
    turns = (_single_turn(view, loop) for loop in loop_forest(view.cfg).loops if is_wanted(view, loop))
    return next((turn for turn in turns if turn is not None), None)


def _single_turn(view: CFGView, loop: Loop) -> _SingleTurn | None:
    header, inside = view.blocks[loop.header], frozenset(view.blocks[b] for b in loop.blocks)
    outside = [block for block in header.predecessors if block not in inside]
    if loop.is_irreducible or len(loop.latches) != 1 or len(outside) != 1 or len(loop.exit_edges) != 1:
        return None
    before, latch, exit = outside[0], view.blocks[loop.latches[0]], view.blocks[loop.exit_edges[0][1]]
    branch = header.terminator
    if loop.exit_edges[0][0] != loop.header or latch.terminator.successors != [header] or branch.op != "br":
        return None
    first = branch.operands[0]
    if not isinstance(first, Instruction) or not first.is_phi or first.block is not header:
        return None
    if len(list(header.phis())) + 1 != len(header.instructions):
        return None
    ways = [first.incoming_value(block) for block in (before, latch)]
    taken = [branch.blocks[1 - way.value] for way in ways if isinstance(way, ConstInt)]
    if len(taken) != 2 or taken[0] not in inside or taken[1] is not exit:
        return None
    return _SingleTurn(before, header, taken[0], latch, exit, inside)


def _write_out(turn: _SingleTurn) -> None:
    header, latch = turn.header, turn.latch
    for phi in header.phis():
        last = phi.incoming_value(latch)
        for user in list(phi.instruction_users()):
            if user.block not in turn.inside:
                user.replace_operand(phi, last)
    turn.exit.replace_phi_source(header, latch)
    for block, following in ((latch, turn.exit), (header, turn.body)):
        loc = block.terminator.loc
        block.terminator.erase()
        Builder(block).br(following).loc = loc
    for phi in list(header.phis()):
        replace_and_erase(phi, phi.incoming_value(turn.before))

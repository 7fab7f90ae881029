"""Loads for the first iteration of a loop that tests before its body.

Such a loop may run no iteration, so what its body reads is not anticipated before it. The load is guarded by the test
of
the first iteration, whose computation is copied: the threads that do the load are those that begin the body::

    before ─▶ head        before ──first test──▶ load ─▶ join ─▶ head
                                └──────────────────────▶ ↑
"""

from __future__ import annotations

from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, Instruction, Value
from weft.ir.cfg_edit import split_edge
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_speculatable
from weft.ir.types import VOID

MAX_COPIED = 12
"""Instructions of a test that are copied."""


def entered_bodies(view: CFGView) -> dict[tuple[BasicBlock, BasicBlock], BasicBlock]:
    """For the entry edge of each loop that tests at its head the first block of its body, if the test can be copied."""
    found: dict[tuple[BasicBlock, BasicBlock], BasicBlock] = {}
    for loop in loop_forest(view.cfg).loops:
        head = view.blocks[loop.header]
        outside = [p for p in view.cfg.distinct_preds(loop.header) if p not in loop.blocks]
        if loop.is_irreducible or len(outside) != 1 or len(view.cfg.succs[outside[0]]) != 1:
            continue
        branch = head.terminator
        inside = [b for b in head.successors if view.index[b] in loop.blocks]
        if branch.op != "br" or len(head.successors) != 2 or len(inside) != 1 or inside[0] is head:
            continue
        if _computation(branch.operands[0], head) is not None:
            found[view.blocks[outside[0]], head] = inside[0]
    return found


def _computation(value: Value, head: BasicBlock) -> list[Instruction] | None:
    """What `head` computes for a value, in order, without φs; None where it cannot be copied."""
    needed: set[Value] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if (
            not isinstance(current, Instruction)
            or current.block is not head
            or current.is_phi
            or current in needed
        ):
            continue
        if not is_speculatable(current) or len(needed) >= MAX_COPIED:
            return None
        needed.add(current)
        pending.extend(current.operands)
    return [i for i in head.instructions if i in needed]


def guard_entry(before: BasicBlock, head: BasicBlock, first: BasicBlock) -> tuple[BasicBlock, BasicBlock]:
    """Make the block for guarded loads on the edge, and the one behind it, where the ways meet; return both."""
    function = before.function
    assert function is not None
    condition = head.terminator.operands[0]
    into_first = head.terminator.blocks[0] is first
    builder = Builder(before=before.terminator)
    builder.loc = head.terminator.loc
    copies: dict[Value, Value] = {phi: phi.incoming_value(before) for phi in head.phis()}
    for instruction in _computation(condition, head) or ():
        copy = instruction.clone()
        for i, operand in enumerate(copy.operands):
            copy.set_operand(i, copies.get(operand, operand))
        copies[instruction] = builder.insert(copy)
    join = split_edge(before, head, f"{head.name}.enter")
    loads = function.add_block(f"{head.name}.first", after=before)
    loads.append(Instruction("br", VOID, blocks=(join,), loc=head.terminator.loc))
    before.terminator.erase()
    ways = (loads, join) if into_first else (join, loads)
    tested = copies.get(condition, condition)
    before.append(Instruction("br", VOID, (tested,), blocks=ways, loc=head.terminator.loc))
    return loads, join

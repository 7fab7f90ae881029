"""Loops that count by a number known only when they run get a version for when that number is 1.

    while i < n: body; i += s        if s == 1: while i < n: body; i += 1
                                     else:      while i < n: body; i += s

A loop that counts by a number is a counted one, and its accesses stand side by side.

Precondition: a loop-closed function. Postcondition: as drawn, loop-closed; the loops as they were run where the step is
another one. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.loop_promises import loop_promises
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import IntType
from weft.transform.loops.version_loop import version_loop

MOST_VERSIONS = 4
"""Loops of one function that get a version."""

MOST_INSTRUCTIONS = 200
"""Greater loops have one version."""

_CASTS = ("sext", "zext", "trunc")


def count_by_one(function: Function) -> dict[BasicBlock, BasicBlock]:
    """Give innermost loops such a version: by its header, the header of the loop as it was."""
    made: dict[BasicBlock, BasicBlock] = {}
    seen: set[BasicBlock] = set()
    while len(made) < MOST_VERSIONS:
        view = cfg_of(function)
        found = next(
            (
                (loop, step)
                for loop in loop_forest(view.cfg).loops
                if view.blocks[loop.header] not in seen and (step := _step_of(view, loop)) is not None
            ),
            None,
        )
        if found is None:
            break
        loop, step = found
        header, blocks = view.blocks[loop.header], {view.blocks[b] for b in loop.blocks}
        type = step.type
        assert isinstance(type, IntType)
        copies = version_loop(function, view, loop, lambda b, s=step, t=type: b.icmp("eq", s, ConstInt(t, 1)))
        made[header] = copies[header]
        seen |= {header, copies[header]}
        _put_one_for(step, blocks)
    return made


def _step_of(view: CFGView, loop: Loop) -> Value | None:
    """What the counter of an innermost loop grows by, if that is known before the loop, and no number."""
    blocks = {view.blocks[b] for b in loop.blocks}
    outside = [view.blocks[p] for p in view.cfg.preds[loop.header] if p not in loop.blocks]
    if loop.children or len(loop.latches) != 1 or len(outside) != 1 or len(outside[0].successors) != 1:
        return None
    if len(loop.exit_edges) != 1 or loop.exit_edges[0][0] != loop.header:
        return None
    if loop_promises(view.blocks[loop.latches[0]], tuple(blocks)).parallel:
        return None
    if sum(len(b.instructions) for b in blocks) > MOST_INSTRUCTIONS:
        return None
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    branch = header.terminator
    test = branch.operands[0] if branch.op == "br" and branch.operands else None
    if not isinstance(test, Instruction) or test.op != "icmp":
        return None
    for phi in header.phis():
        following = phi.incoming_value(latch)
        if phi not in test.operands or not isinstance(following, Instruction) or following.op != "add":
            continue
        a, b = following.operands
        step = b if a is phi else a
        is_inside = isinstance(step, Instruction) and step.block in blocks
        if phi in (a, b) and step is not phi and not is_inside and not isinstance(step, ConstInt):
            return step
    return None


def _put_one_for(step: Value, blocks: set[BasicBlock]) -> None:
    """Use 1 for a value in a loop, and for what is made of it before the loop by casts."""
    type = step.type
    assert isinstance(type, IntType)
    for user in list(step.users):
        if not isinstance(user, Instruction):
            continue
        if user.block in blocks:
            user.replace_operand(step, ConstInt(type, 1))
        elif user.op in _CASTS and isinstance(user.type, IntType) and min(type.bits, user.type.bits) > 1:
            _put_one_for(user, blocks)

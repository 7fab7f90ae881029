"""Edges that no thread takes: branches to blocks that are undefined to reach lose them.

Precondition: none. Postcondition: no block but the entry ends in ``unreachable``; of `drop_empty_unreachable`, none
that does nothing else. A program that takes such an edge has no defined meaning, so the others mean the same, under FR
and OBL.
"""

from __future__ import annotations

from weft.ir import BasicBlock, Builder, Function, Instruction
from weft.ir.cfg_edit import remove_unreachable_blocks


def drop_unreachable_edges(function: Function) -> int:
    """Remove the blocks that end in ``unreachable``; how many there were."""
    dropped = 0
    work = [b for b in function.blocks if b.terminator.op == "unreachable" and b is not function.entry]
    while work:
        dead = work.pop()
        dropped += 1
        for source in dead.predecessors:
            _avoid(source, dead)
            if source.terminator.op == "unreachable" and source is not function.entry:
                work.append(source)
    remove_unreachable_blocks(function)
    return dropped


def drop_empty_unreachable(function: Function) -> int:
    """Remove the blocks that only end in ``unreachable``, as of switches that have all cases; how many there were.

    Others may call what does not return.
    """
    dropped = 0
    work = [b for b in function.blocks if _is_empty_end(b)]
    while work:
        dead = work.pop()
        if dead is function.entry:
            continue
        dropped += 1
        for source in dead.predecessors:
            _avoid(source, dead)
            if _is_empty_end(source):
                work.append(source)
    if dropped:
        remove_unreachable_blocks(function)
    return dropped


def _is_empty_end(block: BasicBlock) -> bool:
    return block.terminator.op == "unreachable" and next(iter(block)) is block.terminator


def _avoid(source: BasicBlock, dead: BasicBlock) -> None:
    """Let `source` branch elsewhere; a block that can only go to `dead` is as dead."""
    branch = source.terminator
    others = [t for t in branch.blocks if t is not dead]
    if not others:
        loc = branch.loc
        branch.erase()
        Builder(source).unreachable().loc = loc
    elif branch.op == "br":
        loc = branch.loc
        branch.erase()
        Builder(source).br(others[0]).loc = loc
    else:
        _avoid_cases(branch, dead)


def _avoid_cases(switch: Instruction, dead: BasicBlock) -> None:
    """Drop the cases that go to `dead`; where the default does, one of the cases takes its place."""
    default, *targets = switch.blocks
    kept = [(c, t) for c, t in zip(switch.attrs["cases"], targets, strict=True) if t is not dead]
    if default is dead:
        _, default = kept.pop()
    builder = Builder(before=switch)
    builder.switch(switch.operands[0], default, kept).loc = switch.loc
    switch.erase()

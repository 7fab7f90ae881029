"""Exits of loops that all lanes share: a condition that is the same for all of them has a branch of its own.

    head:  br (u and v), body, exit      ==>      head:  br u, more, exit
                                                  more:  br v, body, exit

``u`` is the same in all lanes, as a counter that has come to its end, ``v`` is not. Joined they are a vector: what all
lanes share would be spread over all of them and joined with each mask, again and again. Alone, it is a branch.

Precondition: canonical P-LLVM, loop-closed, without predicates, shadows and guards. Postcondition: the same; no
divergent branch out of a loop asks for a conjunction of which a part is uniform. Preserves the program under FR: the
parts were computed where they are, and one that a thread did not ask for is frozen before it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.divergence import Divergence
from weft.graph.loops import loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, Constant, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions, split_edge
from weft.ir.cfg_view import cfg_of


def split_uniform_exits(function: Function, divergence: Divergence) -> int:
    """Give conditions that all lanes share branches of their own; return how many branches out of loops that were."""
    view = cfg_of(function)
    exits: dict[BasicBlock, BasicBlock] = {}
    for loop in loop_forest(view.cfg).loops:
        for source, target in loop.exit_edges:
            exits.setdefault(view.blocks[source], view.blocks[target])
    count = sum(_split(block, target, divergence) for block, target in exits.items())
    if count:
        remove_dead_instructions(function)
    return count


def _split(block: BasicBlock, exit: BasicBlock, divergence: Divergence) -> bool:
    branch = block.terminator
    if branch.op != "br" or len(set(branch.blocks)) != 2 or divergence.is_uniform(branch.operands[0]):
        return False
    # On which side threads stay.
    stays = branch.blocks[0] is not exit
    parts = list(_parts(branch.operands[0], stays))
    shared = [p for p in parts if not isinstance(p, Constant) and divergence.is_uniform(p)]
    if not shared or len(shared) == len(parts):
        return False
    going_on = branch.blocks[0 if stays else 1]
    builder = Builder(before=branch)
    builder.loc = branch.loc
    first = _joined(builder, [builder.unary("freeze", p) for p in shared], stays)
    second = _joined(builder, [p for p in parts if p not in shared], stays)
    more = split_edge(block, going_on)
    for phi in exit.phis():
        phi.add_incoming(phi.incoming_value(block), more)
    branch.set_operand(0, first)
    more.terminator.erase()
    last = Builder(more).cond_br(second, *((going_on, exit) if stays else (exit, going_on)))
    last.loc = branch.loc
    if "llvm.loop" in branch.metadata:
        last.set_metadata("llvm.loop", branch.metadata["llvm.loop"])
        branch.set_metadata("llvm.loop", None)
    return True


def _parts(condition: Value, holds: bool) -> Iterator[Value]:
    """What all has to be true for a condition to be true, or all false for it to be false, in the order it is asked."""
    work, seen = [condition], set[Value]()
    while work:
        condition = work.pop()
        if condition in seen:
            continue
        seen.add(condition)
        if isinstance(condition, Instruction):
            if condition.op == "select" and condition.operands[2 if holds else 1] == (
                FALSE if holds else TRUE
            ):
                work += (condition.operands[1 if holds else 2], condition.operands[0])
                continue
            if condition.op == ("and" if holds else "or"):
                work += reversed(condition.operands)
                continue
        yield condition


def _joined(builder: Builder, parts: list[Value], holds: bool) -> Value:
    """All of some conditions, or one of them; those behind one that decides are not asked."""
    whole, *others = parts
    for part in others:
        whole = builder.select(whole, part, FALSE) if holds else builder.select(whole, TRUE, part)
    return whole

"""Loops of which each round runs a lane group, as calls of a function that is inlined.

A loop along a row of threads calls the function for one lane group after the other (`weft.codegen.loops`). Passes that
compute for a whole row what lane groups have in common look at both.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction, Module, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap
from weft.ir.effects import is_speculatable
from weft.ir.intrinsics import APART_ATTRIBUTE


class LaneRound(Struct, frozen=True):
    """A call that is all of a loop's round.

    Parameters
    ----------
    call
        The call.
    before, header
        The block that leads to the loop, and the block of the loop's test.
    inside
        All of its blocks.
    """

    call: Instruction
    before: BasicBlock
    header: BasicBlock
    inside: frozenset[BasicBlock]

    def is_fixed(self, value: Value) -> bool:
        """Whether a value is the same in all rounds, and no place where they leave what the next one finds.

        The lanes' parts of reductions are on the stack.
        """
        if not isinstance(value, Instruction):
            return True
        return value.block not in self.inside and value.op != "alloca"


def rounds_of_lane_groups(module: Module) -> Iterator[tuple[Function, LaneRound | None]]:
    """The functions whose calls in a loop are of different threads, with the loop of the one call of each."""
    calls: dict[Value, list[Instruction]] = {
        f: [] for f in module.definitions() if f.attribute(APART_ATTRIBUTE) is not None
    }
    if not calls:
        return
    for function in module.definitions():
        for instruction in function.instructions():
            if instruction.op == "call" and instruction.callee in calls:
                calls[instruction.callee].append(instruction)
    for callee, of_it in calls.items():
        assert isinstance(callee, Function)
        yield callee, _round_of(of_it[0]) if len(of_it) == 1 else None


def _round_of(call: Instruction) -> LaneRound | None:
    """The loop of a call, if each round begins with it, and the loop's test decides on nothing else."""
    view = cfg_of(call.function)
    assert call.block is not None
    loop = loop_forest(view.cfg).innermost[view.index[call.block]]
    if loop is None or loop.is_irreducible:
        return None
    header, inside = view.blocks[loop.header], frozenset(view.blocks[b] for b in loop.blocks)
    outside = [p for p in header.predecessors if p not in inside]
    behind = [s for s in header.successors if s in inside]
    if len(outside) != 1 or outside[0].terminator.successors != [header] or header is call.block:
        return None
    if behind != [call.block] or len(header.successors) != 2 or header.terminator.op != "br":
        return None
    ahead = call.block.instructions[: call.block.instructions.index(call)]
    if not all(map(is_speculatable, (*list(header.non_phis())[:-1], *ahead))):
        return None
    return LaneRound(call, outside[0], header, inside)


def copied(builder: Builder, instruction: Instruction, copies: ValueMap) -> Instruction:
    """A copy of an instruction whose operands have copies."""
    copy = instruction.clone()
    for i, operand in enumerate(instruction.operands):
        copy.set_operand(i, copies.get(operand, operand))
    return builder.insert(copy)


def always_run(function: Function) -> Iterator[Instruction]:
    """The instructions before the first branch, and before where another way may arrive."""
    block = function.entry
    while True:
        yield from block.instructions[:-1]
        following = block.terminator.successors
        if len(following) != 1 or len(following[0].predecessors) != 1:
            return
        block = following[0]

"""Loops in lanes that fill the registers are left as they are, not unrolled by LLVM as far as rounds go.

LLVM runs some rounds of a short loop in one where it does not know how many there are, and counts instructions for
that, not registers. What a round computes is then alive beside what the next one does, and what lanes carry from
round to round, which had its registers, goes to the stack and comes back in each.

Precondition: plain LLVM IR. Postcondition: innermost loops whose vectors, those that are carried, those of before and
numbers that a round gives to all lanes, fill all registers are marked (`weft.ir.loop_metadata`). Preserves what
functions do.
"""

from __future__ import annotations

from weft.costs.vector_code import registers_of
from weft.graph.loops import Loop, loop_forest
from weft.ir import Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.loop_metadata import mark_rolled
from weft.ir.types import VectorType
from weft.ir.values import Argument
from weft.machine.targets import Isa


def keep_rolled(function: Function, isa: Isa) -> int:
    """Mark the loops whose vectors fill the registers; how many."""
    if not any(isinstance(i.type, VectorType) for i in function.instructions()):
        return 0
    view = cfg_of(function)
    marked = 0
    for loop in loop_forest(view.cfg).loops:
        if loop.children or len(loop.latches) != 1:
            continue
        if _registers(loop, view, isa) >= isa.vector_registers:
            (latch,) = (view.blocks[b] for b in loop.latches)
            mark_rolled(latch.terminator)
            marked += 1
    return marked


def _registers(loop: Loop, view: CFGView, isa: Isa) -> int:
    """How many registers the vectors take that a loop carries, if any, those of before that it uses, and a round's own.

    Of its own a round has at least one for what it computes, and one for each number that it gives to all lanes of
    vectors of several registers: it is there until the last of these has read it.
    """
    blocks = [view.blocks[b] for b in loop.blocks]
    layout = blocks[0].function.layout if blocks[0].function is not None else None
    assert layout is not None
    carried: list[Value] = [p for p in view.blocks[loop.header].phis() if isinstance(p.type, VectorType)]
    if not carried:
        return 0
    inside = set(blocks)
    used = {
        v
        for block in blocks
        for i in block.instructions
        if not (i.is_phi and i.block is view.blocks[loop.header])
        for v in i.operands
        if isinstance(v.type, VectorType) and _is_of_before(v, inside)
    }
    total = 0
    for value in (*carried, *used):
        assert isinstance(value.type, VectorType)
        total += 1 if _is_the_same_in_all(value) else registers_of(value.type, layout, isa)
    given = (
        i
        for block in blocks
        for i in block.instructions
        if isinstance(i.type, VectorType) and _is_the_same_in_all(i) and registers_of(i.type, layout, isa) > 1
    )
    return total + sum(1 for _ in given) + 1


def _is_of_before(value: Value, inside: set) -> bool:
    return isinstance(value, Argument) or (isinstance(value, Instruction) and value.block not in inside)


def _is_the_same_in_all(value: Value) -> bool:
    """Whether one register serves for all that a vector has."""
    return (
        isinstance(value, Instruction) and value.op == "shufflevector" and len(set(value.attrs["mask"])) == 1
    )

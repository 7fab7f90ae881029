"""Accesses that are far from where they were an iteration before.

Processors read ahead of accesses that go through memory step by step, but no further than to the end of a page, and
not where each step leads to another page.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.memory.alias import locate
from weft.graph.loops import LoopForest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout

PAGE = 4096
"""Bytes: processors read no further ahead than to the end of one, and what lies whole ones apart has the same places in
the nearest cache."""


class FarStep(Struct, frozen=True):
    """From one iteration to the next an address grows by `step`, as a signed number, times `scale` bytes.

    `is_inside` tells that the step is computed in the loop.
    """

    step: Value
    scale: int
    is_inside: bool


def far_step(access: Instruction, view: CFGView, loops: LoopForest, layout: DataLayout) -> FarStep | None:
    """By how much the address of an access grows in its innermost loop, if that is a page or more, or not known."""
    assert access.block is not None
    loop = loops.innermost[view.index[access.block]]
    if loop is None or len(loop.latches) != 1:
        return None
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    for index, scale in locate(access.pointer, layout).terms.items():
        index, factor = _without_factor(index)
        if not isinstance(index, Instruction) or not index.is_phi or index.block is not header:
            continue
        step = step_of(index, latch)
        if step is None:
            continue
        if not isinstance(step, ConstInt) or abs(step.signed * scale * factor) >= PAGE:
            inside = isinstance(step, Instruction) and step.block in {view.blocks[b] for b in loop.blocks}
            return FarStep(step, scale * factor, inside)
    return None


def step_of(phi: Instruction, latch: BasicBlock) -> Value | None:
    """What is added to a counter in each iteration."""
    following = phi.incoming_value(latch)
    if not isinstance(following, Instruction) or following.op != "add" or phi not in following.operands:
        return None
    a, b = following.operands
    return b if a is phi else a


def _without_factor(value: Value) -> tuple[Value, int]:
    """A number before it was cast or shifted up, and how many times as large it is then."""
    factor = 1
    while isinstance(value, Instruction):
        if value.op == "shl" and isinstance(value.operands[1], ConstInt):
            factor <<= value.operands[1].value
        elif value.op not in ("sext", "zext", "trunc"):
            break
        value = value.operands[0]
    return value, factor

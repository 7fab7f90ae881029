"""Accesses that are far from where they were an iteration before.

Processors read ahead of accesses that go through memory step by step, but no further than to the end of a page, and
not where each step leads to another page.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.memory.alias import locate
from weft.graph.loops import LoopForest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout
from weft.ir.types import I8, I16

PAGE = 4096
"""Bytes: processors read no further ahead than to the end of one, and what lies whole ones apart has the same places in
the nearest cache."""


class FarStep(Struct, frozen=True):
    """From one iteration to the next an address grows by the product of `numbers`, as signed ones, times `scale` bytes.

    Each is a constant or the same in all iterations, unless `is_inside` tells that the loop computes it.
    """

    numbers: tuple[Value, ...]
    scale: int
    is_inside: bool


def far_step(access: Instruction, view: CFGView, loops: LoopForest, layout: DataLayout) -> FarStep | None:
    """By how much the address of an access grows in its innermost loop, if that is a page or more, or not known.

    The counter may be multiplied by a number that is not known, as by the length of a matrix's rows.
    """
    assert access.block is not None
    loop = loops.innermost[view.index[access.block]]
    if loop is None or len(loop.latches) != 1:
        return None
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    inside = {view.blocks[b] for b in loop.blocks}
    for index, scale in locate(access.pointer, layout).terms.items():
        for counter, factor, times in _counters(index):
            if counter.block is not header:
                continue
            step = step_of(counter, latch)
            if step is None:
                continue
            numbers = (step,) if times is None else (step, times)
            if len(numbers) == 1 and isinstance(step, ConstInt) and abs(step.signed * scale * factor) < PAGE:
                continue
            computed = any(isinstance(n, Instruction) and n.block in inside for n in numbers)
            return FarStep(numbers, scale * factor, computed)
    return None


def _counters(index: Value) -> Iterator[tuple[Instruction, int, Value | None]]:
    """The φs that a number may be a multiple of: by which constant, and by which other number."""
    value, factor = without_factor(index)
    if not isinstance(value, Instruction):
        return
    if value.is_phi:
        yield value, factor, None
    elif value.op == "mul":
        for a, b in (value.operands, value.operands[::-1]):
            phi, more = without_factor(a)
            if isinstance(phi, Instruction) and phi.is_phi:
                yield phi, factor * more, b


def step_of(phi: Instruction, latch: BasicBlock) -> Value | None:
    """What is added to a counter in each iteration."""
    following = phi.incoming_value(latch)
    if not isinstance(following, Instruction) or following.op != "add" or phi not in following.operands:
        return None
    a, b = following.operands
    return b if a is phi else a


def without_factor(value: Value) -> tuple[Value, int]:
    """A number before it was cast or shifted up, and how many times as large it is then.

    One that is cut to 8 or 16 bits is another: it comes round again.
    """
    factor = 1
    while isinstance(value, Instruction):
        if value.op == "shl" and isinstance(value.operands[1], ConstInt):
            factor <<= value.operands[1].value
        elif value.op not in ("sext", "zext", "trunc") or value.type in (I8, I16):
            break
        value = value.operands[0]
    return value, factor

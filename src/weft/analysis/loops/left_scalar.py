"""What LLVM's vectorizer leaves as code for one iteration after the other, and lanes do not.

Integers by numbers that are no constants are divided by no vector instruction, and lanes divide them as floats; floats
are made integers within their bounds, and remainders of floats found, by sequences of instructions that LLVM takes for
dear; a load under a condition stays alone where there are no masks for elements of its size, and with it all that the
loop computes; bytes whose sums and limits a program has in 64 bits are computed in 64 bits, though 16 hold them. A
loop that ends when it has found something keeps the loop around it in order, too.

Facts about one function, by loops; what a loop does not change, and what it divides by a constant, does not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.loops.along_rows import changes_in
from weft.analysis.loops.counted_loops import counted_loop
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout
from weft.ir.types import IntType
from weft.machine.targets import Isa

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")

_SATURATING = ("llvm.fptosi.sat.", "llvm.fptoui.sat.")

_LIMITS = ("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.", "llvm.abs.")

_NARROW = 16
"""Bits of elements that lanes compute with as such, or with twice as many, whatever the program does."""


def left_scalar(view: CFGView, layout: DataLayout, isa: Isa) -> set[int]:
    """The loops, by the numbers of their headers, that LLVM's vectorizer leaves alone for what stands in them.

    These are innermost loops, and those around loops of which nobody knows beforehand how often they run.
    """
    above = dominator_tree(view.cfg)
    found: set[int] = set()
    for loop in loop_forest(view.cfg).loops:
        if loop.children:
            if any(isinstance(counted_loop(view, each), str) for each in loop.children):
                found.add(loop.header)
        elif isinstance(counted_loop(view, loop), str):
            continue
        elif any(True for _ in _obstacles(loop, view, above, layout, isa)):
            found.add(loop.header)
    return found


def _obstacles(
    loop: Loop, view: CFGView, above: DominatorTree, layout: DataLayout, isa: Isa
) -> Iterator[Instruction]:
    """The instructions of an innermost loop that LLVM has no good vectors for."""
    inside = {view.blocks[n] for n in loop.blocks}
    for number in loop.blocks:
        always = all(above.dominates(number, latch) for latch in loop.latches)
        for i in view.blocks[number].instructions:
            if i.op == "load":
                # A store would be as many stores in lanes.
                if not always and not isa.masks_memory(8 * layout.size(i.accessed_type)):
                    yield i
            elif _is_dear(i, isa) and changes_in(i, inside):
                yield i


def _is_dear(i: Instruction, isa: Isa) -> bool:
    """Whether lanes compute something in another way than LLVM's vectorizer, which is much faster."""
    if i.op in _DIVISIONS:
        assert isinstance(i.type, IntType)
        return isa.divides_as_floats and i.type.bits >= 8 and not isinstance(i.operands[1], ConstInt)
    if i.op == "frem":
        return True
    if i.op != "call":
        return False
    name = i.callee_name or ""
    return name.startswith(_SATURATING) or (name.startswith(_LIMITS) and _is_wide_for_nothing(i))


def _is_wide_for_nothing(limit: Instruction) -> bool:
    """Whether a limit is set in 64 bits to what is computed of small elements."""
    assert isinstance(limit.type, IntType)
    return limit.type.bits > 32 and any(_is_small(v, 4) for v in limit.operands)


def _is_small(value: Value, steps: int) -> bool:
    if not isinstance(value, Instruction):
        return False
    if value.op in ("sext", "zext"):
        narrow = value.operands[0].type
        return isinstance(narrow, IntType) and narrow.bits <= _NARROW
    return (
        steps > 0
        and value.op in ("add", "sub", "mul")
        and any(_is_small(v, steps - 1) for v in value.operands)
    )

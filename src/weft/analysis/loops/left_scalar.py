"""What LLVM's vectorizer leaves as code for one iteration after the other, and lanes do not.

Integers by numbers that are no constants are divided by no vector instruction, and lanes divide them as floats; those
of 64 bits that come of 32 are divided by constants one by one, and in 32 bits in lanes; floats are made integers within
their bounds, and remainders of floats found, by sequences of instructions that LLVM takes for dear; a load under a
condition stays alone where there are no masks for elements of its size, and with it all that the loop computes; bytes
whose sums and limits a program has in 64 bits are computed in 64 bits, though 16 hold them. What is looked up, or lies
where a minimum says, is loaded one by one. LLVM has no vectors along a loop around another one: a loop in it that ends
when it has found something, adds up in order or under conditions, hands something on, or goes down a column stays as it
is.

Facts about one function, by loops; what a loop does not change does not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.loops.along_rows import FEW, changes_in, is_along_rows, is_elsewhere
from weft.analysis.loops.counted_loops import counted_loop, known_iterations
from weft.analysis.loops.running_values import side_by_side
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

_NEAR = 4
"""Elements from one iteration to the next, as members of structures, that LLVM loads with what is between."""

_NARROW = 16
"""Bits of elements that lanes compute with as such, or with twice as many, whatever the program does."""


FEWEST = 4
"""Iterations that are worth lanes, the last lane group of which runs under a mask: measured on AVX2, where three floats
become integers as fast in order, and seven in two thirds of the time."""

FEWEST_LOOKED_UP = 64
"""The same where all that LLVM does not do is to load from places that are looked up: 8192 times that takes 0.7 of the
time in lanes, 64 times as long as in order."""


def left_scalar(view: CFGView, layout: DataLayout, isa: Isa) -> dict[int, int]:
    """The loops that LLVM's vectorizer leaves alone for what stands in them, by the numbers of their headers.

    These are innermost loops, and those around loops of which nobody knows beforehand how often they run, or that have
    to run in order. With each is for how many iterations lanes pay.
    """
    above = dominator_tree(view.cfg)
    found: dict[int, int] = {}
    for loop in loop_forest(view.cfg).loops:
        if loop.children:
            # Behind running values that are a vector, the loop for what is left takes little.
            has_vectors = any(side_by_side(each, view) for each in loop.children)
            if not has_vectors and any(
                _stays_in_order(each, view, above, layout, isa) for each in loop.children
            ):
                found[loop.header] = FEWEST
        elif not isinstance(counted_loop(view, loop), str):
            least = list(_obstacles(loop, view, above, layout, isa))
            if least:
                found[loop.header] = min(least)
    return found


def _stays_in_order(loop: Loop, view: CFGView, above: DominatorTree, layout: DataLayout, isa: Isa) -> bool:
    """Whether a loop inside of another one has no vectors: it has to run in order, or accesses what lies apart.

    One of few iterations is written out, and leaves a loop without others. Stores under conditions are dear in lanes,
    and so are divisions where floats are no help.
    """
    if loop.children or (not isa.divides_as_floats and _divides(loop, view)):
        return False
    counted = counted_loop(view, loop)
    if isinstance(counted, str):
        return True
    rounds = known_iterations(counted)
    if (rounds is not None and rounds <= FEW) or _stores_sometimes(loop, view, above, layout, isa):
        return False
    # Branches are masks, which cost more than they save in short loops that only add up.
    accesses = (i.op for number in loop.blocks for i in view.blocks[number].instructions)
    return not is_along_rows(loop, view, layout, branches="store" in accesses, near=_NEAR)


def _divides(loop: Loop, view: CFGView) -> bool:
    """Whether integers are divided by numbers that are no constants."""
    instructions = (i for number in loop.blocks for i in view.blocks[number].instructions)
    return any(i.op in _DIVISIONS and not isinstance(i.operands[1], ConstInt) for i in instructions)


def _stores_sometimes(loop: Loop, view: CFGView, above: DominatorTree, layout: DataLayout, isa: Isa) -> bool:
    """Whether a loop stores under conditions, and masks for that are slow, or there are none."""
    return any(
        i.op == "store"
        and (isa.core.slow_masked_stores or not isa.masks_memory(8 * layout.size(i.accessed_type)))
        for number in loop.blocks
        if not all(above.dominates(number, latch) for latch in loop.latches)
        for i in view.blocks[number].instructions
    )


def _obstacles(
    loop: Loop, view: CFGView, above: DominatorTree, layout: DataLayout, isa: Isa
) -> Iterator[int]:
    """From how many iterations on lanes pay, for each instruction of a loop that LLVM has no good vectors for."""
    inside = {view.blocks[n] for n in loop.blocks}
    alone: set[str] = set()
    is_narrow = any(i.op == "load" and _has_bits(i, 32) for block in inside for i in block.instructions)
    for number in loop.blocks:
        always = all(above.dominates(number, latch) for latch in loop.latches)
        for i in view.blocks[number].instructions:
            if i.op in ("load", "store"):
                if not always and not isa.masks_memory(8 * layout.size(i.accessed_type)):
                    alone.add(i.op)
                elif i.op == "load" and isa.gather and is_elsewhere(i, inside, layout):
                    yield FEWEST_LOOKED_UP
            elif (_is_dear(i, isa) or (_is_wide_division(i) and is_narrow)) and changes_in(i, inside):
                yield FEWEST
    # Stores would be as many in lanes.
    if alone == {"load"}:
        yield FEWEST


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


def _is_wide_division(i: Instruction) -> bool:
    """Whether 64 bits are divided by a constant: half of a product that has 128 bits, of which there are no vectors."""
    if i.op not in _DIVISIONS or _has_bits(i, 32):
        return False
    divisor = i.operands[1]
    return isinstance(divisor, ConstInt) and abs(divisor.signed).bit_count() > 1


def _has_bits(value: Value, most: int) -> bool:
    return isinstance(value.type, IntType) and value.type.bits <= most


def _is_wide_for_nothing(limit: Instruction) -> bool:
    """Whether a limit is set in 64 bits to what is computed of small elements."""
    assert isinstance(limit.type, IntType)
    return limit.type.bits > 32 and any(_is_small(v, 4) for v in limit.operands)


def _is_small(value: Value, steps: int) -> bool:
    if not isinstance(value, Instruction):
        return False
    if value.op in ("sext", "zext"):
        return _has_bits(value.operands[0], _NARROW)
    return (
        steps > 0
        and value.op in ("add", "sub", "mul")
        and any(_is_small(v, steps - 1) for v in value.operands)
    )

"""What the form of a mask's expression says of the threads in it.

A mask is an i1 value; linearization builds masks from others by ``select m, c, false`` (and), ``select a, true, b``
(or) and φs. All answers are "certainly" or "not known".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.graph.loops import Loop
from weft.ir import FALSE, TRUE, BasicBlock, Instruction, Value
from weft.ir.types import I1

MAX_STEPS = 64
"""Expressions looked at before giving up: masks are small where the answer is yes."""


def implies(narrow: Value | None, wide: Value | None) -> bool:
    """Whether `narrow` is false in every thread in which `wide` is; None is the mask of all threads.

    An ``and`` tells nothing: where one operand is false the other may be poison, and then so is the result.
    """
    if wide is None:
        return True
    return narrow is not None and _implies(narrow, wide, set(), [MAX_STEPS])


def _implies(narrow: Value, wide: Value, assumed: set[Value], steps: list[int]) -> bool:
    steps[0] -= 1
    if narrow is wide or wide == TRUE or narrow == FALSE or narrow in assumed:
        return True
    if not isinstance(narrow, Instruction) or steps[0] < 0:
        return False

    def holds(value: Value, also: set[Value]) -> bool:
        return _implies(value, wide, also, steps)

    if narrow.op == "select":
        condition, then, otherwise = narrow.operands
        if otherwise == FALSE:
            return holds(condition, assumed) or holds(then, assumed)
        if then == TRUE:
            return holds(condition, assumed) and holds(otherwise, assumed)
        return holds(then, assumed) and holds(otherwise, assumed)
    if narrow.op == "phi":
        # Around a loop: as long as it implied `wide` before, it does so again.
        return all(holds(v, assumed | {narrow}) for v in narrow.used_values())
    return False


def kept_by(
    loop: Loop,
    mask: Value | None,
    earlier: Value,
    blocks: Mapping[BasicBlock, int],
    innermost: Sequence[Loop | None],
) -> bool:
    """Whether `mask` has only threads in an iteration of `loop` that were in `earlier` in any iteration before.

    That is so if `earlier` is computed once an iteration, and a φ of the header takes what implies it from iteration to
    iteration, only loses threads, and is implied by `mask`.
    """
    if not isinstance(earlier, Instruction) or earlier.block is None:
        return False
    if innermost[blocks[earlier.block]] is not loop:
        return False
    header = next(b for b, number in blocks.items() if number == loop.header)
    for phi in header.phis():
        taken = [v for v, source in phi.incoming() if blocks[source] in loop.blocks]
        kept = all(implies(v, earlier) for v in taken)
        if phi.type == I1 and kept and only_loses_threads(phi, loop, blocks) and implies(mask, phi):
            return True
    return False


def only_loses_threads(mask: Value, loop: Loop, blocks: Mapping[BasicBlock, int]) -> bool:
    """Whether no thread is in `mask` in an iteration of `loop` that was not in it in the one before."""
    if not isinstance(mask, Instruction):
        return True
    assert mask.block is not None
    if blocks[mask.block] not in loop.blocks:
        return True
    if mask.op != "phi" or blocks[mask.block] != loop.header:
        return False
    if mask.shadow is not None and mask.shadow != FALSE:
        return False
    return all(implies(v, mask) for v, source in mask.incoming() if blocks[source] in loop.blocks)

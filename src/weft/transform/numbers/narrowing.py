"""Integer narrowing: 64-bit numbers that fit in 32 bits are computed in 32 bits.

Indices and counters of the source language have 64 bits, and vectors of them take twice the registers, conversions and
gathers of vectors of 32 bits. What becomes of them is in `weft.transform.numbers.narrow_twins`; smaller numbers have
fewer bits still (`weft.transform.numbers.narrow_chains`).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: instructions for which it was asked and
that fit are of type i32, and extended for the users that are not. Preserves the program under FR. Nothing rests on
no-wrap flags of 64-bit arithmetic, only on ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from weft.analysis.divergence import Divergence
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I32, I64
from weft.transform.numbers.narrow_twins import NarrowTwins, RangeAt, RangeOf


def narrow_varying(function: Function, divergence: Divergence, spared: Collection[Instruction] = ()) -> int:
    """Compute in 32 bits what differs from thread to thread, fits and is not `spared`; how many instructions."""
    ranges = divergence.engine.ranges
    assert ranges is not None
    view = cfg_of(function)
    order = (view.blocks[n] for n in reverse_postorder(view.cfg.succs))
    wide = [i for block in order for i in block.instructions if i.type == I64]
    chosen = [i for i in wide if not (divergence.shape(i).is_strided or i in spared)]
    if loop_forest(view.cfg).loops:
        return narrow_integers(chosen, ranges.of, ranges.at)
    return narrow_integers(chosen, ranges.of, ranges.at, lambda value: divergence.shape(value).is_strided)


def narrow_integers(
    candidates: list[Instruction],
    range_of: RangeOf,
    range_at: RangeAt | None = None,
    is_scalar: Callable[[Value], bool] | None = None,
) -> int:
    """Compute those of the instructions in 32 bits that can be; how many, conversions not counted.

    Parameters
    ----------
    candidates
        Instructions of one function, in an order in which operands come first, those of φs apart.
    range_of
        The ranges of its values.
    range_at
        The same, as a block sees them.
    is_scalar
        Whether lanes share a number, or know what it is by their place, so that it is cut off once for all; without it
        nothing is narrowed outside of loops.
    """
    narrowing = NarrowTwins(range_of, I32, range_at=range_at)
    chosen = [i for i in candidates if narrowing.can(i)]
    if not any(i.is_phi for i in chosen):
        # Without a loop around, converting costs as much as it spares.
        chosen = _without_conversions(chosen, is_scalar) if is_scalar is not None else []
    if not chosen:
        return 0
    narrowing.build(chosen)
    return len(chosen)


def _without_conversions(chosen: list[Instruction], is_scalar: Callable[[Value], bool]) -> list[Instruction]:
    """Those that are computed of lanes' numbers of 32 bits or less, and of such that lanes share.

    What is computed of places alone stays: what lanes access by such numbers is looked for in them.
    """
    kept: set[Value] = set()
    for i in chosen:
        numbers = i.operands[1:] if i.op == "select" else i.operands
        own = [v for v in numbers if not isinstance(v, ConstInt) and not (v.type == I64 and is_scalar(v))]
        if own and all(v in kept or v.type != I64 for v in own):
            kept.add(i)
    found = [i for i in chosen if i in kept]
    return found if any(i.op not in ("sext", "zext", "trunc") for i in found) else []

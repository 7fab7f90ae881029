"""Comparisons of 64-bit numbers that grow from lane to lane with what all lanes share, in 32 bits.

    x + lane < n   →   lane < min(n - x, W)

Masks at the ends of rows, and in the last rounds of loops over far elements, are such comparisons: lane groups of
several registers would compare as many more of 64-bit numbers, and pack what comes of it. How far the bound is from the
first lane is one scalar for all of them; it matters only where it is among the lanes.

Precondition: the strided number, that of its first lane included, is exact in the reading of the predicate
(`weft.analysis.shapes.shape.BASE`). Postcondition: the condition in each active lane.
"""

from __future__ import annotations

from weft.analysis.divergence.end_decisions import end_decision
from weft.analysis.shapes.shape import BASE
from weft.codegen.widen.context import Widening, broadcast
from weft.ir import Instruction, Value
from weft.ir.builder import const_int
from weft.ir.types import I32, I64

_FARTHEST = 1 << 20
"""What lanes may be apart from the first one."""

_UNSIGNED = ("ult", "uge")
"""The distance from a bound below the first lane counts as none, which says the same here."""


def compare_near(w: Widening, comparison: Instruction) -> Value | None:
    """The condition in all lanes; None where it is no such comparison, or not worth it.

    Lanes that fill a register need no more than one comparison. Where masks have registers of their own, what is
    compared is not packed, and ends of rows of 32 threads take as long either way (AVX-512).
    """
    if comparison.op != "icmp" or comparison.operands[0].type is not I64:
        return None
    if w.isa.mask_registers or w.lanes.width * I64.bits <= w.isa.vector_bits:
        return None
    found = end_decision(w.divergence, comparison)
    if found is None or found.is_equality or not (w.is_uniform(found.bound) and w.is_scalar(found.strided)):
        return None
    shape, is_signed = w.divergence.shape(found.strided), found.predicate[0] == "s"
    offsets = w.lanes.offsets([s for s in shape.strides if isinstance(s, int)])
    least, most = min(offsets), max(offsets)
    if least < -_FARTHEST or most > _FARTHEST or (shape.nsw if is_signed else shape.nuw) < BASE:
        return None
    if not is_signed and (least < 0 or found.predicate not in _UNSIGNED):
        return None
    b, prefix = w.builder, "s" if is_signed else "u"
    away = w.intrinsic(f"llvm.{prefix}sub.sat.i64", I64, (I64, I64))
    near = w.intrinsic(f"llvm.{prefix}min.i64", I64, (I64, I64))
    distance: Value = b.call(away, (w.scalar(found.bound), w.scalar(found.strided)))
    distance = b.call(near, (distance, const_int(most + 1, I64)))
    if is_signed:
        low = w.intrinsic("llvm.smax.i64", I64, (I64, I64))
        distance = b.call(low, (distance, const_int(least - 1, I64)))
    far = broadcast(b, b.cast("trunc", distance, I32), w.lanes)
    return b.icmp(f"s{found.predicate[1:]}", w.lanes.constant(I32, [n & 0xFFFFFFFF for n in offsets]), far)

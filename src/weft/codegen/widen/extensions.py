"""Extensions of sums under masks, kept as scalars: what they are in the first lane follows from an active one.

``a[y * w + x]`` of ``int`` x and y extends a sum of 32 bits, which does not wrap around in active lanes. In lane 0 it
may, if that is passive. But lane 0 of an extension is what the shape extrapolates, be that of 32 bits or not: what
any active lane has, less what lies between the two.
"""

from __future__ import annotations

from weft.codegen.widen.active_lane import number_of_active_lane
from weft.codegen.widen.context import Widening
from weft.codegen.widen.representation import holds_at_lane_zero
from weft.ir import Instruction
from weft.ir.builder import const_int
from weft.ir.types import IntType


def widen_extension(w: Widening, extension: Instruction) -> bool:
    """Compute what it is in lane 0, any number where no lane is active; False where its operand's lane 0 says that."""
    if extension.op not in ("sext", "zext") or w.mask is None or holds_at_lane_zero(extension, w.divergence):
        return False
    (number,) = extension.operands
    assert isinstance(number.type, IntType) and isinstance(extension.type, IntType)
    assert extension.block is not None
    (stride,) = w.divergence.shape_in(number, extension.block).strides
    assert isinstance(stride, int)
    b, lane = w.builder, number_of_active_lane(w, w.mask)
    assert isinstance(lane.type, IntType)
    there, back = (
        b.binary("mul", b.cast("zext" if lane.type.bits < t.bits else "trunc", lane, t), const_int(stride, t))
        if lane.type != t
        else b.binary("mul", lane, const_int(stride, t))
        for t in (number.type, extension.type)
    )
    wide = b.cast(extension.op, b.binary("add", w.scalar(number), there), extension.type)
    w.set_scalar(extension, b.binary("sub", wide, back))
    return True

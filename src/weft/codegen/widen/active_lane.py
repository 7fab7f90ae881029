"""The value of any active lane, of values that are the same in all of them."""

from __future__ import annotations

from weft.codegen.widen.context import Widening, mask_bits
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import I1, I64, IntType


def of_an_active_lane(w: Widening, value: Value) -> Value:
    """A uniform value that is kept as a vector; any number where no lane is active."""
    return of_a_lane(w, value, w.mask)


def of_a_lane(w: Widening, value: Value, mask: Value | None) -> Value:
    """As `of_an_active_lane`, for the lanes of `mask`."""
    if mask is None:
        return w.builder.extract_element(w.vector(value), ConstInt(I64, 0))
    lane = number_of_active_lane(w, mask)
    return w.builder.unary("freeze", w.builder.extract_element(w.vector(value), lane))


def number_of_active_lane(w: Widening, mask: Value) -> Instruction:
    """The first lane of `mask`, the last one where there is none."""
    bits = mask_bits(w.builder, mask)
    assert isinstance(bits.type, IntType)
    # The last lane's bit is set, so that there is one to count to.
    last = ConstInt(bits.type, 1 << (w.lanes.width - 1))
    count = w.intrinsic(f"llvm.cttz.i{bits.type.bits}", bits.type, (bits.type, I1))
    return w.builder.call(count, (w.builder.binary("or", bits, last), ConstInt(I1, 1)))

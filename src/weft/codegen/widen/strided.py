"""Addresses of lanes that are one step apart, be the step known when the program runs only.

So lie the elements of a column, whose rows are as long as a launch says, and members of large structures. Where
processors have no masks for gathers and scatters, LLVM computes such addresses in vectors of 64 bits, by products that
it makes of three, and takes them out again. Here the first one and the step are scalars, and each lane's address is so
many steps behind the first (`weft.target.rewrites.numbered_accesses`).
"""

from __future__ import annotations

from weft.analysis.shapes import SYMBOLIC
from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_addresses import has_one_base
from weft.codegen.widen.runs import lane_value
from weft.ir import ConstInt, Instruction, Value
from weft.ir.lane_steps import LaneSteps, lanes_apart
from weft.ir.types import I8, I16, I32, I64


def strided_addresses(w: Widening, access: Instruction, moved: int = 0) -> Value | None:
    """The addresses of all lanes' accesses, or those so many bytes behind them, a step apart; None where they are not.

    Where lanes may be passive, nothing is known of their addresses.
    """
    if w.isa.mask_registers or w.mask is not None or not has_one_base(w, access):
        return None
    strides = w.divergence.shape(access.pointer).strides
    wide = [stride for extent, stride in zip(w.lanes.extents, strides, strict=False) if extent > 1]
    if len(wide) != 1 or (wide[0] is not SYMBOLIC and not isinstance(wide[0], int)):
        return None
    b, location = w.builder, w.addresses.location(access.pointer)
    if any(index.type not in (I8, I16, I32, I64) for index in location.terms):
        return None
    first = lane_value(w, access.pointer, 0)
    if moved:
        first = b.gep(I8, first, (ConstInt(I64, moved),))
    step: Value | None = None
    for index, scale in location.terms.items():
        if w.is_uniform(index):
            continue
        ends = [lane_value(w, index, lane) for lane in (0, 1)]
        zero, one = (e if e.type == I64 else b.cast("sext", e, I64) for e in ends)
        part = b.binary("mul", b.binary("sub", one, zero), ConstInt(I64, scale))
        step = part if step is None else b.binary("add", step, part)
    if step is None:
        return None
    return lanes_apart(b, LaneSteps(first, step), w.lanes.width)

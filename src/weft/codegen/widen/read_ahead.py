"""Reading ahead of loads that are far from where they were an iteration before.

Where each iteration leads to another page (`weft.analysis.memory.far_steps`), processors do not read ahead by
themselves, and how far they see behind a load that misses their caches depends on how long an iteration is. So lanes
that load neighbours ask for what they load some iterations later. That may be behind the end of an array, where a
request does nothing.
"""

from __future__ import annotations

from weft.analysis.memory.far_steps import far_step
from weft.codegen.widen.context import Widening
from weft.codegen.widen.stack_objects import CACHE_LINE
from weft.costs.constants import constants_of
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import I8, I32, I64, VOID, IntType, PointerType

_READ, _KEEP, _DATA = ConstInt(I32, 0), ConstInt(I32, 3), ConstInt(I32, 1)


def read_ahead(w: Widening, load: Instruction, address: Value) -> None:
    """Ask for what lanes that load neighbours, from `address` on, load some iterations later, if that is far away."""
    known = w.divergence.facts.probability
    far = far_step(load, known.view, known.loops, w.module.layout)
    if far is None or len(w.lanes.extents) != 1 or not w.is_uniform(far.step) or far.is_inside:
        return
    builder, step = w.builder, w.scalar(far.step)
    assert isinstance(step.type, IntType)
    if step.type.bits > I64.bits:
        return
    if step.type.bits < I64.bits:
        step = builder.cast("sext", step, I64)
    ahead = far.scale * constants_of(w.isa).iterations_ahead
    place = builder.gep(I8, address, (builder.binary("mul", step, ConstInt(I64, ahead)),))
    type = place.type
    assert isinstance(type, PointerType)
    ask = w.intrinsic(f"llvm.prefetch.p{type.space}", VOID, (type, I32, I32, I32))
    for line in range(0, w.lanes.width * w.module.layout.size(load.type), CACHE_LINE):
        at = builder.gep(I8, place, (ConstInt(I64, line),)) if line else place
        builder.call(ask, (at, _READ, _KEEP, _DATA))
    w.remark(load, "read ahead")

"""Updates that lanes make one after the other (`weft.ir.lane_updates`), from the first to the last.

What they read and add is computed in vectors. Integers that go to one element are combined first, and go there once.
"""

from __future__ import annotations

from weft.codegen.widen.atomics import total_of
from weft.codegen.widen.context import Widening
from weft.codegen.widen.in_lanes import in_lanes
from weft.codegen.widen.lane_loop import for_each_active_lane
from weft.codegen.widen.once import build_once
from weft.ir import Builder, Instruction, Value
from weft.ir.lane_updates import build_plain_update, goes_to_copy
from weft.ir.types import IntType


def widen_lane_update(w: Widening, update: Instruction) -> None:
    """Widen an update, of which nobody uses the old value."""
    pointer, value = update.operands
    builder = w.builder
    build = _build_atomic if goes_to_copy(update) else build_plain_update
    if w.is_uniform(pointer) and isinstance(value.type, IntType):
        total = total_of(w, update)

        def once() -> Instruction:
            return build(builder, update, w.scalar(pointer), total)

        build_once(w, "update", once, False)
        return
    if w.mask is None:
        for here in zip(in_lanes(w, pointer), in_lanes(w, value), strict=True):
            build(builder, update, *here)
        return

    def body(here: list[Value]) -> Value:
        return build(builder, update, *here)

    for_each_active_lane(w, update.type, (pointer, value), body)


def _build_atomic(builder: Builder, update: Instruction, pointer: Value, value: Value) -> Instruction:
    return builder.build("atomicrmw", value.type, (pointer, value), attrs=update.attrs)

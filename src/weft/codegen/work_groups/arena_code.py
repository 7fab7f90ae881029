"""Code that computes how much scratch memory a work-group needs; launches ask `weft.codegen.arena`, without the IR."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from weft.codegen.arena import RESUMED_BYTES, ArenaNeeds
from weft.codegen.launch_record import SHARED_ALIGN
from weft.ir import Builder, ConstInt, Value
from weft.ir.types import I64


def emit_bytes(needs: ArenaNeeds, builder: Builder, block: Sequence[Value], dynamic: Value) -> Value:
    """Build what computes `ArenaNeeds.bytes` of one resident work-group."""

    def rounded(value: Value, to: int) -> Value:
        more = builder.binary("add", value, ConstInt(I64, to - 1))
        return builder.binary("and", more, ConstInt(I64, -to))

    lane_groups: Value = ConstInt(I64, 1)
    for n, m in zip_longest(block, needs.lanes, fillvalue=1):
        assert isinstance(n, Value)
        count = builder.binary("udiv", builder.binary("add", n, ConstInt(I64, m - 1)), ConstInt(I64, m))
        lane_groups = builder.binary("mul", lane_groups, count)
    one = builder.binary("mul", lane_groups, ConstInt(I64, needs.per_lane_group))
    one = builder.binary("add", one, rounded(dynamic, 64))
    return rounded(builder.binary("add", one, ConstInt(I64, needs.fixed + 64 + RESUMED_BYTES)), SHARED_ALIGN)

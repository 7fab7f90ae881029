"""What code does where threads wait at different barriers: the launch ends, and the error record says which."""

from __future__ import annotations

from weft.codegen.launch_record import CLAIMED
from weft.ir import Builder, ConstInt, Value
from weft.ir.types import I64


def report_divergence(builder: Builder, error: Value, group: Value, a: Value, b: Value) -> None:
    """Fill the error record with the group and two barriers, unless that of another group is there.

    Where `b` is `NOBODY`, those at barrier `a` wait for threads that do not come.
    """
    assert builder.block is not None
    function = builder.block.function
    assert function is not None
    first, told = function.add_block("first.error"), function.add_block("error.told")
    claimed = builder.atomic_rmw("xchg", builder.gep(I64, error, (_i64(CLAIMED // 8),)), _i64(1), "monotonic")
    builder.cond_br(builder.icmp("eq", claimed, _i64(0)), first, told)
    builder.at_end(first)
    for i, value in enumerate((group, builder.cast("zext", a, I64), builder.cast("zext", b, I64))):
        builder.store(value, builder.gep(I64, error, (_i64(i),)), align=8)
    builder.br(told)
    builder.at_end(told)


def _i64(value: int) -> ConstInt:
    return ConstInt(I64, value)

"""Loops over the lane groups of a work-group."""

import pytest

from weft.codegen.order.lane_order import all_lanes, each_lane_group
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import Builder, ConstInt, Function, Module, Value
from weft.ir.types import I64, VOID, FunctionType


def loops(extents: tuple[int, ...], row: int | None) -> tuple[set[str], bool]:
    """The loops over lane groups of rows of `row` threads, and whether all lanes are known to run."""
    type = FunctionType(VOID, (I64, I64, I64))
    function = Module().add_function(Function("group", type, ("x", "y", "z")))
    builder = Builder(function.add_block("entry"))
    size: list[Value] = list(function.args)
    if row is not None:
        size[0] = ConstInt(I64, row)
    zero = ConstInt(I64, 0)
    group = GroupValues(builder, function, [], [zero] * 3, size, [zero] * 3, zero, zero, zero)
    lanes = LaneSpace(extents)
    with each_lane_group(group, lanes, False) as values:
        whole = values.lanes == all_lanes(lanes.width)
    builder.ret()
    return {b.name.split(".")[0] for b in function.blocks if b.name.endswith("header")}, whole


@pytest.mark.parametrize(
    ("extents", "row", "expected"),
    [
        ((16,), None, ({"tx", "ty", "tz"}, False)),
        ((16,), 16, ({"ty", "tz"}, True)),
        ((16,), 32, ({"tx", "ty", "tz"}, False)),
        ((16,), 8, ({"tx", "ty", "tz"}, False)),
        ((16, 2), 16, ({"tx", "ty", "tz"}, False)),
    ],
)
def test_rows_of_one_lane_group_have_no_loop_along_them(
    extents: tuple[int, ...], row: int | None, expected: tuple[set[str], bool]
):
    assert loops(extents, row) == expected

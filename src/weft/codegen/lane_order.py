"""Which threads of a work-group form its lane groups, as loops over them.

Either `width` neighbours along x in each row, or `width` consecutive linear numbers ``x + bx*(y + by*z)``, which then
are what the kernel takes as ``tid.x`` (`weft.transform.linear_ids`). The last lane group of a row, or of the
work-group, may have fewer threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from weft.codegen.group_values import GroupValues
from weft.codegen.loops import counted_loop
from weft.ir import Builder, ConstInt, Value
from weft.ir.types import I64


@dataclass(frozen=True, slots=True)
class LaneGroupValues:
    """A lane group while code for it is built: its number, the position of lane 0, and a bit for each thread."""

    index: Value
    tid: tuple[Value, Value, Value]
    lanes: Value


def all_lanes(width: int) -> ConstInt:
    """The bits of a lane group of which all threads run."""
    return ConstInt(I64, (1 << width) - 1)


@contextmanager
def each_lane_group(group: GroupValues, width: int, linear: bool) -> Iterator[LaneGroupValues]:
    """Build the loops over the lane groups; the builder stands in the innermost body."""
    with (_each_by_number if linear else _each_along_rows)(group, width) as values:
        yield values


def count_lane_groups(group: GroupValues, width: int, linear: bool) -> Value:
    """How many lane groups the work-group has."""
    builder, size = group.builder, group.local_size
    plane = builder.binary("mul", size[1], size[2])
    if linear:
        return _rounded_up(builder, builder.binary("mul", plane, size[0]), width)
    return builder.binary("mul", plane, _rounded_up(builder, size[0], width))


@contextmanager
def _each_along_rows(group: GroupValues, width: int) -> Iterator[LaneGroupValues]:
    builder, function, size = group.builder, group.function, group.local_size
    zero = ConstInt(I64, 0)
    in_row = _rounded_up(builder, size[0], width)
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
        counted_loop(builder, function, zero, size[0], "tx", width) as x,
    ):
        row = builder.binary("add", builder.binary("mul", z, size[1]), y)
        number = builder.binary("add", builder.binary("mul", row, in_row), _divided(builder, x, width))
        lanes = _first_lanes(builder, builder.binary("sub", size[0], x), width)
        yield LaneGroupValues(number, (x, y, z), lanes)


@contextmanager
def _each_by_number(group: GroupValues, width: int) -> Iterator[LaneGroupValues]:
    builder, function, size = group.builder, group.function, group.local_size
    zero = ConstInt(I64, 0)
    threads = builder.binary("mul", builder.binary("mul", size[0], size[1]), size[2])
    with counted_loop(builder, function, zero, threads, "linear", width) as first:
        lanes = _first_lanes(builder, builder.binary("sub", threads, first), width)
        yield LaneGroupValues(_divided(builder, first, width), (first, zero, zero), lanes)


def _first_lanes(builder: Builder, count: Value, width: int) -> Value:
    """The bits of the first `count` lanes, of all when there are so many."""
    if width == 1:
        return all_lanes(1)
    whole = builder.icmp("uge", count, ConstInt(I64, width))
    bits = builder.binary("sub", builder.binary("shl", ConstInt(I64, 1), count), ConstInt(I64, 1))
    return builder.select(whole, all_lanes(width), bits)


def _rounded_up(builder: Builder, value: Value, width: int) -> Value:
    """``value / width``, rounded up."""
    return _divided(builder, builder.binary("add", value, ConstInt(I64, width - 1)), width)


def _divided(builder: Builder, value: Value, width: int) -> Value:
    return value if width == 1 else builder.binary("udiv", value, ConstInt(I64, width))

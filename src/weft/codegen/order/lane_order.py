"""Which threads of a work-group form its lane groups, as loops over them.

Either a box of neighbours, of so many along x, y and z as the lane space has, or as many consecutive linear numbers
``x + bx*(y + by*z)``, which then are what the kernel takes as ``tid.x`` (`weft.transform.groups.linear_ids`). Along the
edges of the work-group lane groups may have fewer threads. Where rows are known to be one lane group each there is no
loop along them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from weft.codegen.loops import counted_loop
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import Builder, ConstInt, Value
from weft.ir.types import I64


class LaneGroupValues(Struct, frozen=True):
    """A lane group while code for it is built: its number, the position of lane 0, and a bit for each thread."""

    index: Value
    tid: tuple[Value, Value, Value]
    lanes: Value


def all_lanes(width: int) -> ConstInt:
    """The bits of a lane group of which all threads run."""
    return ConstInt(I64, (1 << width) - 1)


@contextmanager
def each_lane_group(
    group: GroupValues, lanes: LaneSpace, linear: bool, alike: bool = False
) -> Iterator[LaneGroupValues]:
    """Build the loops over the lane groups; the builder stands in the innermost body.

    If rows are `alike`, positions along y and z do not matter: one loop is enough for them.
    """
    if linear:
        loops = _each_by_number(group, lanes.width)
    elif alike and len(lanes.extents) == 1:
        loops = _each_in_rows(group, lanes)
    else:
        loops = _each_box(group, lanes)
    with loops as values:
        yield values


def count_lane_groups(group: GroupValues, lanes: LaneSpace, linear: bool) -> Value:
    """How many lane groups the work-group has."""
    builder, size = group.builder, group.local_size
    if linear:
        plane = builder.binary("mul", size[1], size[2])
        return _rounded_up(builder, builder.binary("mul", plane, size[0]), lanes.width)
    x, y, z = (_rounded_up(builder, n, m) for n, m in zip(size, lanes.by_axis(3), strict=True))
    return builder.binary("mul", builder.binary("mul", y, z), x)


@contextmanager
def _each_box(group: GroupValues, lanes: LaneSpace) -> Iterator[LaneGroupValues]:
    builder, function, size = group.builder, group.function, group.local_size
    zero, (ex, ey, ez) = ConstInt(I64, 0), lanes.by_axis(3)
    if lanes.extents == (ex,) and size[0] == ConstInt(I64, ex):
        with (
            counted_loop(builder, function, zero, size[2], "tz") as z,
            counted_loop(builder, function, zero, size[1], "ty") as y,
        ):
            row = builder.binary("add", builder.binary("mul", z, size[1]), y)
            yield LaneGroupValues(row, (zero, y, z), all_lanes(ex))
        return
    with (
        counted_loop(builder, function, zero, size[2], "tz", ez) as z,
        counted_loop(builder, function, zero, size[1], "ty", ey) as y,
        counted_loop(builder, function, zero, size[0], "tx", ex) as x,
    ):
        number: Value = _divided(builder, z, ez)
        for along, extent, position in ((size[1], ey, y), (size[0], ex, x)):
            before = builder.binary("mul", number, _rounded_up(builder, along, extent))
            number = builder.binary("add", before, _divided(builder, position, extent))
        beyond = [builder.binary("sub", n, p) for n, p in zip(size, (x, y, z), strict=True)]
        left = [beyond[lanes.along(d)] for d in range(len(lanes.extents))]
        yield LaneGroupValues(number, (x, y, z), _lanes_inside(builder, left, lanes))


@contextmanager
def _each_in_rows(group: GroupValues, lanes: LaneSpace) -> Iterator[LaneGroupValues]:
    builder, function, size = group.builder, group.function, group.local_size
    zero, width = ConstInt(I64, 0), lanes.width
    rows = builder.binary("mul", size[1], size[2])
    in_row = _rounded_up(builder, size[0], width)
    with (
        counted_loop(builder, function, zero, rows, "row") as row,
        counted_loop(builder, function, zero, size[0], "tx", width) as x,
    ):
        before = builder.binary("mul", row, in_row)
        number = builder.binary("add", before, _divided(builder, x, width))
        inside = _first_lanes(builder, builder.binary("sub", size[0], x), width)
        yield LaneGroupValues(number, (x, zero, zero), inside)


def _lanes_inside(builder: Builder, left: Sequence[Value], lanes: LaneSpace) -> Value:
    """The bits of the lanes whose coordinates are below the numbers of `left`, one for each dimension."""
    bits: Value = _first_lanes(builder, left[0], lanes.extents[0])
    below = lanes.extents[0]
    for extent, count in zip(lanes.extents[1:], left[1:], strict=False):
        if extent > 1:
            # The lanes of a row again in each row, and the first rows of these.
            rows = ConstInt(I64, sum(1 << below * row for row in range(extent)))
            bits = builder.binary("mul", bits, rows)
            few = builder.select(
                builder.icmp("ult", count, ConstInt(I64, extent)), count, ConstInt(I64, extent)
            )
            inside = _first_lanes(builder, builder.binary("mul", few, ConstInt(I64, below)), below * extent)
            bits = builder.binary("and", bits, inside)
        below *= extent
    return bits


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

"""Loops over rows of threads whose flat numbers are divided into coordinates: boxes of several columns and rows.

A kernel that exchanges axes by ``i % w`` and ``i // w`` reads neighbours along one coordinate and writes neighbours
along another one. Its threads are a row for the launch, of which the part that is whole rows of w threads runs as a
nest: planes of h rows, bands of R rows, and boxes of C columns, R times C lanes, in which what lanes along the number
would scatter is turned in registers (`weft.transform.groups.divided_ids`)::

    threads:  first ... | w threads | w threads | ... | w threads | ... last
              as they are     rows from first / w, rounded up, to last / w, rounded down      as they are

    band:     R rows of a plane from a multiple of R on: boxes at 0, C, ... below w - w % C, and what is left, thread
              after thread, as are bands of fewer rows

Of whole planes it is the same with R planes instead, row by row, where neighbours along the planes are written
(``channels`` that become the last axis). Where numbers of planes are divided again (batches of images), R planes are
of one stack of them, and rows are numbered through all stacks: z is a plane of its stack, and y is stack·h + row.

Precondition: groups are merged along the dimension, so that a position is the thread's number. Postcondition: each
thread that the guards let pass runs once.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.codegen.loops import counted_loop, least, loop_below
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import ConstInt, Function, Value
from weft.ir.loop_metadata import mark_scalar
from weft.ir.types import I64
from weft.transform.groups.divided_ids import other_dimensions

_ZERO, _ONE, _TWO = (ConstInt(I64, n) for n in range(3))


class DividedRows(Struct, frozen=True):
    """A kernel for threads at columns, rows and planes.

    Parameters
    ----------
    box
        Runs all threads of a box of `lanes`, from the position that it is given.
    thread
        Runs one.
    extents
        Says how many columns and rows there are, and planes of a stack; 0 columns where threads run as they are.
    lanes
        Columns and rows, or planes, of a box.
    dear
        Whether single threads take so much longer that there have to be boxes. Others are faster than lanes that
        scatter, and run where there are too few columns or rows, too.
    """

    box: Function
    thread: Function
    extents: Function
    lanes: LaneSpace
    dear: bool

    @property
    def functions(self) -> list[Function]:
        return [self.box, self.thread, self.extents]


def run_divided(
    group: GroupValues,
    rows: DividedRows,
    dimension: int,
    first: Value,
    last: Value,
    run_flat: Callable[[Value, Value], None],
) -> None:
    """Build what runs the threads from `first` to ``last - 1``, all of which guards let pass.

    Parameters
    ----------
    dimension
        That of the row.
    run_flat
        Builds what runs threads as they are; called once.
    """
    builder, function = group.builder, group.function
    across, third = other_dimensions(dimension)
    wide, high = rows.lanes.extents

    def arguments(x: Value, y: Value, z: Value) -> list[Value]:
        tid: list[Value] = [_ZERO] * 3
        tid[dimension], tid[across], tid[third] = x, y, z
        return group.thread_args(tid)

    extents = builder.call(rows.extents, arguments(_ZERO, _ZERO, _ZERO))
    columns, height, depth = (builder.extract_value(extents, (k,)) for k in range(3))
    fewest = [ConstInt(I64, extent if rows.dear else 1) for extent in (wide, high)]
    some = builder.icmp("sge", columns, fewest[0])
    length: Value = columns
    by_planes = rows.lanes.axes[1] == third
    if by_planes:
        length = builder.binary("mul", columns, height)
    else:
        some = builder.binary("and", some, builder.icmp("sge", height, fewest[1]))
    length = builder.select(some, length, _ONE)
    # A guard may leave a first thread that is behind the last.
    some = builder.binary("and", some, builder.icmp("slt", first, last))
    start, stop = (builder.select(some, n, _ZERO) for n in (first, last))
    up = builder.binary("add", start, builder.binary("sub", length, _ONE))
    top, bottom = (builder.binary("udiv", n, length) for n in (up, stop))
    many = builder.icmp("sge", builder.binary("sub", bottom, top), fewest[1])
    bottom = builder.select(many, bottom, top)
    with counted_loop(builder, function, _ZERO, builder.select(many, _TWO, _ONE), "side") as side:
        before = builder.icmp("eq", side, _ZERO)
        low = builder.select(before, first, builder.binary("mul", bottom, length))
        until = builder.select(builder.binary("and", before, many), builder.binary("mul", top, length), last)
        run_flat(low, until)

    def run_band(z: Value, y: Value, count: Value) -> None:
        # All threads of a box that is whole run.
        boxed = builder.select(builder.icmp("eq", count, ConstInt(I64, high)), whole, _ZERO)
        with counted_loop(builder, function, _ZERO, boxed, "box", wide) as x:
            builder.call(rows.box, arguments(x, y, z))
        number = z if by_planes else y
        behind = builder.binary("add", number, count, ("nuw", "nsw"))
        # Of no row is anything left where all columns are in boxes.
        behind = builder.select(builder.icmp("slt", boxed, columns), behind, number)
        with counted_loop(builder, function, number, behind, "row") as at:
            with counted_loop(builder, function, boxed, columns, "column") as x:
                builder.call(rows.thread, arguments(x, y, at) if by_planes else arguments(x, at, z))
                back = builder.block
            assert back is not None
            mark_scalar(back.terminator)

    whole = builder.binary("and", columns, ConstInt(I64, -wide))
    with loop_below(builder, function, top, bottom, "band") as (number, go_on):
        z, y = number, number
        if not by_planes:
            z, y = (builder.binary(op, number, height) for op in ("udiv", "urem"))
        stack = _ZERO
        if by_planes:
            stack, z = (builder.binary(op, number, depth) for op in ("udiv", "urem"))
        along = builder.binary("and", z if by_planes else y, ConstInt(I64, high - 1))
        count = least(
            builder,
            builder.binary("sub", ConstInt(I64, high), along),
            builder.binary("sub", bottom, number),
        )
        if by_planes:
            count = least(builder, count, builder.binary("sub", depth, z))
            above = builder.binary("mul", stack, height)
            with counted_loop(builder, function, _ZERO, height, "line") as y:
                run_band(z, builder.binary("add", above, y), count)
        else:
            count = least(builder, count, builder.binary("sub", height, y))
            run_band(z, y, count)
        go_on(builder.binary("add", number, count, ("nuw", "nsw")))

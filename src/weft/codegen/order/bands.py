"""Loops over bands of rows of threads, for kernels without barriers: boxes of several rows as lane groups.

A kernel that transposes reads neighbours along one dimension and writes neighbours along another. Lanes along either
would gather, or scatter; a box of several rows reads and writes whole pieces of memory (`weft.codegen.widen.chunked`).
Where groups cannot be told apart along both dimensions (`weft.transform.groups.merge_groups`), rows go on beyond
groups, and so do columns. Groups are numbered so that those follow each other which a *band* of R rows goes through::

    groups of 4 rows, R = 8          band:   f = greatest first thread of its rows, l = least last one, by the guards
    +---+---+---+---+                        box(x) for x from f, rounded up, to l, rounded down, by C
    | 0 | 2 | 4 | 6 |                        of each row what is before these boxes, and behind them, as rows have it
    | 1 | 3 | 5 | 7 |
    +---+---+---+---+
    | 8 | 10| 12| 14|   and so on

So all threads of all boxes run, without masks, whatever the size of groups is, and whatever guards leave; the rest is
done by lane groups of one row (`weft.codegen.order.rows`), which serve bands that have fewer than R rows altogether.

Precondition: groups are merged along both dimensions. Postcondition: each thread that the guards let pass runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from weft.codegen.loops import counted_loop, least, loop_below, most, variable
from weft.codegen.order.rows import RowKernel, run_part
from weft.codegen.order.run_unit import RunUnit
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import FALSE, TRUE, Builder, ConstInt, Function, Value
from weft.ir.types import I1, I64, FunctionType
from weft.transform.groups.merge_groups import GroupMerge

_ZERO, _ONE = ConstInt(I64, 0), ConstInt(I64, 1)
_BEYOND = ConstInt(I64, 1 << 62)
"""Behind all threads."""


class BandKernel(GroupProgram, frozen=True):
    """A kernel widened for boxes of threads, and for lane groups of one row.

    Parameters
    ----------
    rows
        The latter. Groups are merged along its dimension.
    full
        Runs all threads of the box that begins at the position it is given: of multiples of the box's extents.
    lanes
        The box, of two dimensions, one of which is that of the rows.
    merge
        Which groups are merged along the other one.
    """

    rows: RowKernel
    full: Function
    lanes: LaneSpace
    merge: GroupMerge

    @property
    def functions(self) -> list[Function]:
        return [self.full, *self.rows.functions]

    @property
    def across(self) -> int:
        """The dimension that rows follow each other along."""
        return sum(self.lanes.axes) - self.rows.dimension

    @property
    def wide(self) -> int:
        """Threads of a row of the box."""
        return self.lanes.by_axis(3)[self.rows.dimension]

    @property
    def high(self) -> int:
        """Rows of the box."""
        return self.lanes.by_axis(3)[self.across]

    def run(self, entry: GroupEntry) -> None:
        with _rectangles(entry.values, self, entry.begin, entry.end) as found:
            builder, function, third = found.group.builder, found.group.function, 3 - sum(self.lanes.axes)
            with (
                counted_loop(builder, function, _ZERO, found.group.local_size[third], "outer") as outer,
                _bands(builder, function, self.high, found.top, found.bottom) as (row, count),
            ):
                _Band(self, found, outer, row, count).run()

    @property
    def is_of_some_size(self) -> bool:
        """Whether groups are merged only if they have a number of threads that the kernel says."""
        return any(merge is not None and merge.size is not None for merge in (self.rows.merge, self.merge))

    @property
    def run_unit(self) -> RunUnit:
        merge, width = self.rows.merge, max(self.wide, self.rows.width)
        return RunUnit(width, self.rows.dimension, merge and merge.size, self.high, self.across)


class _Rectangle(Struct, frozen=True):
    """Groups that stand beside each other along both dimensions, as one group: the ends of its rows, and its rows."""

    group: GroupValues
    first: Value
    last: Value
    top: Value
    bottom: Value


@contextmanager
def _rectangles(values: GroupValues, kernel: BandKernel, begin: Value, end: Value) -> Iterator[_Rectangle]:
    """Build the loop over rectangles of groups `begin` to ``end - 1``, as they are numbered for bands."""
    builder, function = values.builder, values.function
    along, across = kernel.rows.dimension, kernel.across
    third, sizes, groups = 3 - along - across, values.local_size, values.groups
    module = function.module
    assert module is not None
    fits: list[Value] = []
    rows = ConstInt(I64, kernel.high)
    twos = module.declare("llvm.cttz.i64", FunctionType(I64, (I64, I1)))
    shift = builder.call(twos, (builder.binary("or", sizes[across], rows), FALSE))
    together = builder.binary("lshr", rows, shift)
    of_band = builder.binary("mul", together, groups[along])
    of_plane = builder.binary("mul", groups[across], groups[along])
    with loop_below(builder, function, begin, end, "groups") as (index, go_on):
        plane, in_plane = _divided(builder, index, of_plane)
        band, in_band = _divided(builder, in_plane, of_band)
        top = builder.binary("mul", band, together)
        high = least(builder, together, builder.binary("sub", groups[across], top))
        column, row = _divided(builder, in_band, high)
        left = builder.binary("sub", end, index)
        until_edge = builder.binary("sub", builder.binary("mul", high, groups[along]), in_band)
        columns = builder.binary("udiv", least(builder, left, until_edge), high)
        whole = builder.binary("and", builder.icmp("eq", row, _ZERO), builder.icmp("ne", columns, _ZERO))
        wide = builder.select(whole, columns, _ONE)
        deep = builder.select(whole, high, least(builder, left, builder.binary("sub", high, row)))
        if kernel.is_of_some_size:
            # Groups of other sizes are run one by one.
            fits = [
                _fits(builder, m, sizes[d]) for m, d in ((kernel.rows.merge, along), (kernel.merge, across))
            ]
            both = builder.binary("and", fits[0], fits[1])
            wide, deep = (builder.select(both, n, _ONE) for n in (wide, deep))
        position: list[Value] = [_ZERO] * 3
        position[third] = plane
        line = builder.binary("add", top, row)
        if kernel.is_of_some_size:
            for fit, d, n in zip(fits, (along, across), (column, line), strict=True):
                position[d] = builder.select(fit, _ZERO, n)
            column, line = (
                builder.select(fit, n, _ZERO) for fit, n in zip(fits, (column, line), strict=True)
            )
        first, width = (builder.binary("mul", n, sizes[along], ("nuw", "nsw")) for n in (column, wide))
        upper, height = (builder.binary("mul", n, sizes[across], ("nuw", "nsw")) for n in (line, deep))
        yield _Rectangle(
            replace(values, group=position),
            first,
            builder.binary("add", first, width, ("nuw", "nsw")),
            upper,
            builder.binary("add", upper, height, ("nuw", "nsw")),
        )
        go_on(builder.binary("add", index, builder.binary("mul", wide, deep), ("nuw", "nsw")))


@contextmanager
def _bands(
    builder: Builder, function: Function, high: int, top: Value, bottom: Value
) -> Iterator[tuple[Value, Value]]:
    """Build the loop over bands of rows, which begin at multiples of `high`; yields the first row and how many."""
    with loop_below(builder, function, top, bottom, "band") as (row, go_on):
        behind = builder.binary("add", builder.binary("and", row, ConstInt(I64, -high)), ConstInt(I64, high))
        until = least(builder, behind, bottom)
        yield row, builder.binary("sub", until, row)
        go_on(until)


class _Band(Struct, frozen=True):
    """Builds what runs a band of `count` rows from `row` on."""

    kernel: BandKernel
    found: _Rectangle
    outer: Value
    row: Value
    count: Value

    def run(self) -> None:
        """Build the boxes, then what is left of each row."""
        group, wide, high = self.found.group, self.kernel.wide, self.kernel.high
        builder, function = group.builder, group.function
        low, top = (variable(function, I64) for _ in range(2))
        begin, end = self._boxes(low, top, wide, high)
        with counted_loop(builder, function, begin, end, "box", wide) as x:
            builder.call(self.kernel.full, self._arguments(self.row)(x))
        behind = builder.binary("add", self.row, self.count, ("nuw", "nsw"))
        with counted_loop(builder, function, self.row, behind, "row") as row:
            arguments = self._arguments(row)
            first, last = self._ends(row)
            # Behind boxes there is nothing where there are none.
            sides = builder.select(builder.icmp("eq", begin, _BEYOND), _ONE, ConstInt(I64, 2))
            with counted_loop(builder, function, _ZERO, sides, "side") as side:
                left = builder.icmp("eq", side, _ZERO)
                start = builder.select(left, first, most(builder, first, end))
                stop = builder.select(left, least(builder, last, begin), last)
                run_part(group, self.kernel.rows, arguments, start, stop)

    def _boxes(self, low: Value, top: Value, wide: int, high: int) -> tuple[Value, Value]:
        """Where the boxes of the band begin and end; behind all threads where it has none."""
        group = self.found.group
        builder, function = group.builder, group.function
        builder.store(self.found.first, low)
        builder.store(self.found.last, top)
        length = builder.binary("sub", self.found.last, self.found.first, ("nsw",))
        some: Value = builder.icmp("eq", self.count, ConstInt(I64, high))
        some = builder.binary("and", some, builder.icmp("sge", length, ConstInt(I64, wide)))
        if self.kernel.rows.bounds is not None:
            behind = builder.binary("add", self.row, self.count, ("nuw", "nsw"))
            behind = builder.select(some, behind, self.row)
            with counted_loop(builder, function, self.row, behind, "bound") as row:
                first, last = self._ends(row)
                builder.store(most(builder, builder.load(I64, low, align=8), first), low)
                builder.store(least(builder, builder.load(I64, top, align=8), last), top)
        first, last = (builder.load(I64, place, align=8) for place in (low, top))
        up = builder.binary("add", first, ConstInt(I64, wide - 1))
        begin, end = (builder.binary("and", n, ConstInt(I64, -wide)) for n in (up, last))
        # A guard may leave a first thread that is so great that it cannot be rounded up.
        for a, b in ((first, last), (begin, end)):
            some = builder.binary("and", some, builder.icmp("slt", a, b))
        return builder.select(some, begin, _BEYOND), builder.select(some, end, _BEYOND)

    def _ends(self, row: Value) -> tuple[Value, Value]:
        """The first thread of a row that runs, and the one behind the last."""
        bounds, found = self.kernel.rows.bounds, self.found
        if bounds is None:
            return found.first, found.last
        builder = found.group.builder
        pair = builder.call(bounds, [*self._arguments(row)(_ZERO), found.first, found.last])
        return builder.extract_value(pair, (0,)), builder.extract_value(pair, (1,))

    def _arguments(self, row: Value) -> Callable[[Value], list[Value]]:
        along, across = self.kernel.rows.dimension, self.kernel.across

        def at(x: Value) -> list[Value]:
            tid = [self.outer] * 3
            tid[along], tid[across] = x, row
            return self.found.group.thread_args(tid)

        return at


def _fits(builder: Builder, merge: GroupMerge | None, size: Value) -> Value:
    """Whether groups are merged along a dimension of so many threads."""
    if merge is None or merge.size is None:
        return TRUE
    return builder.icmp("eq", size, ConstInt(I64, merge.size))


def _divided(builder: Builder, number: Value, by: Value) -> tuple[Value, Value]:
    return builder.binary("udiv", number, by), builder.binary("urem", number, by)

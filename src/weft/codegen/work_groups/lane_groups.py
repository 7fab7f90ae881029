"""Work-group loops of kernels without barriers: thread after thread, or lane group after lane group.

Ids are the counters of the loops (Karrenberg and Hack, §2.2).
"""

from __future__ import annotations

from msgspec import Struct

from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.loops import counted_loop, variable
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import FALSE, Builder, ConstInt, Function, Value
from weft.ir.types import I1, I32, I64


class ThreadKernel(GroupProgram, frozen=True):
    """A kernel that runs thread after thread."""

    kernel: Function

    @property
    def functions(self) -> list[Function]:
        return [self.kernel]

    def run(self, entry: GroupEntry) -> None:
        with entry.each_group() as (group, _):
            run_threads(group, self.kernel)


class LaneKernel(GroupProgram, frozen=True):
    """A kernel widened for lane groups of consecutive linear numbers.

    Parameters
    ----------
    width
        Threads of a lane group.
    full
        Runs threads of a row that begin at ``tid.x``.
    partial
        Takes the linear number of the first as ``tid.x`` (`weft.transform.groups.linear_ids`), and has a parameter
        more, how many of them run.
    summary
        What became of `full`.
    bounds
        Says which threads of a row pass the guards that `full` does not ask, but `partial` does
        (`weft.transform.groups.guard_splitting`); None where both are the same.
    """

    width: int
    full: Function
    partial: Function
    summary: VectorizationSummary
    bounds: Function | None = None

    @property
    def functions(self) -> list[Function]:
        return [f for f in (self.full, self.partial, self.bounds) if f is not None]

    def run(self, entry: GroupEntry) -> None:
        with entry.each_group() as (group, _):
            run_lane_groups(group, self)


def run_threads(group: GroupValues, kernel: Function) -> None:
    """Call the kernel for each thread of the group."""
    zero = ConstInt(I64, 0)
    builder, function, size = group.builder, group.function, group.local_size
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
        counted_loop(builder, function, zero, size[0], "tx") as x,
    ):
        builder.call(kernel, group.thread_args([x, y, z]))


class _Passing(Struct, frozen=True):
    """The threads of a row from `first` to ``last - 1``, which pass the guards that `LaneKernel.full` does not ask.

    Whole lane groups of them are from `low` to ``high - 1``.
    """

    first: Value
    last: Value
    low: Value
    high: Value

    def has_others(self, builder: Builder) -> Value:
        """Whether there are more than those of whole lane groups."""
        before, behind = (
            builder.icmp("slt", a, b) for a, b in ((self.first, self.low), (self.high, self.last))
        )
        some = builder.icmp("slt", self.first, self.last)
        return builder.binary("and", some, builder.binary("or", before, behind))

    def has_some_alone(self, builder: Builder, x: Value, width: Value) -> Value:
        """Whether some threads of the lane group at `x` pass, and it is none of the whole ones."""
        end = builder.binary("add", x, width)
        some = builder.binary("and", builder.icmp("slt", x, self.last), builder.icmp("sgt", end, self.first))
        outside = builder.icmp("slt", x, self.low), builder.icmp("sge", x, self.high)
        return builder.binary("and", some, builder.binary("or", *outside))


def run_lane_groups(group: GroupValues, kernel: LaneKernel) -> None:
    """Call the SIMD kernel for each lane group of consecutive linear numbers ``x + bx*(y + by*z)``.

    Where rows are whole lane groups, or there is only one row, the full version runs along rows, on positions that it
    knows to be uniform or consecutive; the partial one, which divides, runs what is left, and also lane groups of which
    only some threads pass the guards.
    """
    zero, width = ConstInt(I64, 0), ConstInt(I64, kernel.width)
    builder, function, size = group.builder, group.function, group.local_size
    threads = builder.binary("mul", builder.binary("mul", size[0], size[1]), size[2])
    row = builder.binary("and", size[0], ConstInt(I64, -kernel.width))
    along_rows = builder.binary("or", builder.icmp("eq", row, size[0]), builder.icmp("eq", threads, size[0]))
    row = builder.select(along_rows, row, zero)
    some_left = variable(function, I1)
    builder.store(FALSE, some_left)
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
    ):
        passing = _passing(group, kernel, row, y, z)
        if kernel.bounds is not None:
            others = builder.binary("or", builder.load(I1, some_left), passing.has_others(builder))
            builder.store(others, some_left)
        with counted_loop(builder, function, passing.low, passing.high, "tx", width.value) as x:
            builder.call(kernel.full, group.thread_args([x, y, z]))
    whole = builder.select(along_rows, builder.binary("and", threads, ConstInt(I64, -kernel.width)), zero)
    first = whole if kernel.bounds is None else builder.select(builder.load(I1, some_left), zero, whole)
    with counted_loop(builder, function, first, threads, "linear", width.value) as number:
        run, done = (function.add_block(f"left.{name}") for name in ("some", "done"))
        if kernel.bounds is None:
            builder.br(run)
        else:
            ask = function.add_block("left.ask")
            builder.cond_br(builder.icmp("slt", number, whole), ask, run)
            builder.at_end(ask)
            line, x = (builder.binary(op, number, size[0]) for op in ("udiv", "urem"))
            z, y = (builder.binary(op, line, size[1]) for op in ("udiv", "urem"))
            passing = _passing(group, kernel, row, y, z)
            builder.cond_br(passing.has_some_alone(builder, x, width), run, done)
        builder.at_end(run)
        left = builder.binary("sub", threads, number)
        count = builder.select(builder.icmp("ult", left, width), left, width)
        active = builder.cast("trunc", count, I32)
        builder.call(kernel.partial, [*group.thread_args([number, zero, zero]), active])
        builder.br(done)
        builder.at_end(done)


def _passing(group: GroupValues, kernel: LaneKernel, end: Value, y: Value, z: Value) -> _Passing:
    """Which of the threads of a row before `end` pass the guards."""
    zero, builder = ConstInt(I64, 0), group.builder
    if kernel.bounds is None:
        return _Passing(zero, end, zero, end)
    pair = builder.call(kernel.bounds, [*group.thread_args([zero, y, z]), zero, end])
    first, last = (builder.extract_value(pair, (i,)) for i in range(2))
    down = ConstInt(I64, -kernel.width)
    low = builder.binary("and", builder.binary("add", first, ConstInt(I64, kernel.width - 1)), down)
    return _Passing(first, last, low, builder.binary("and", last, down))

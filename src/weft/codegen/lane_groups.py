"""Work-group loops of kernels without barriers: thread after thread, or lane group after lane group.

Ids are the counters of the loops (Karrenberg and Hack, §2.2).
"""

from __future__ import annotations

from weft.codegen.group_program import GroupEntry, GroupProgram
from weft.codegen.group_values import GroupValues
from weft.codegen.loops import counted_loop
from weft.codegen.vectorization import VectorizationSummary
from weft.ir import ConstInt, Function
from weft.ir.types import I32, I64


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
    """

    width: int
    full: Function
    partial: Function
    summary: VectorizationSummary

    @property
    def functions(self) -> list[Function]:
        return [self.full, self.partial]

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


def run_lane_groups(group: GroupValues, kernel: LaneKernel) -> None:
    """Call the SIMD kernel for each lane group of consecutive linear numbers ``x + bx*(y + by*z)``.

    Where rows are whole lane groups, or there is only one row, the full version runs along rows, on positions that it
    knows to be uniform or consecutive; the partial one, which divides, runs what is left.
    """
    zero, width = ConstInt(I64, 0), ConstInt(I64, kernel.width)
    builder, function, size = group.builder, group.function, group.local_size
    threads = builder.binary("mul", builder.binary("mul", size[0], size[1]), size[2])
    row = builder.binary("and", size[0], ConstInt(I64, -kernel.width))
    along_rows = builder.binary("or", builder.icmp("eq", row, size[0]), builder.icmp("eq", threads, size[0]))
    row = builder.select(along_rows, row, zero)
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
        counted_loop(builder, function, zero, row, "tx", width.value) as x,
    ):
        builder.call(kernel.full, group.thread_args([x, y, z]))
    whole = builder.binary("and", threads, ConstInt(I64, -kernel.width))
    first = builder.select(along_rows, whole, zero)
    with counted_loop(builder, function, first, threads, "linear", width.value) as number:
        left = builder.binary("sub", threads, number)
        count = builder.select(builder.icmp("ult", left, width), left, width)
        active = builder.cast("trunc", count, I32)
        builder.call(kernel.partial, [*group.thread_args([number, zero, zero]), active])

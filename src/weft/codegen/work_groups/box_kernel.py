"""Work-group loops of kernels without barriers whose lane groups are boxes of threads (`weft.codegen.order.boxes`)."""

from __future__ import annotations

from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.order.lane_order import all_lanes, each_lane_group
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import Function


class BoxKernel(GroupProgram, frozen=True):
    """A kernel widened for boxes of threads.

    Parameters
    ----------
    lanes
        The box.
    full
        Runs all lanes.
    partial
        Has a parameter more, a bit for each lane that runs; None where all always do.
    summary
        What became of `full`.
    """

    lanes: LaneSpace
    full: Function
    summary: VectorizationSummary
    partial: Function | None = None

    @property
    def functions(self) -> list[Function]:
        return [f for f in (self.full, self.partial) if f is not None]

    def run(self, entry: GroupEntry) -> None:
        with entry.each_group() as (group, _):
            run_boxes(group, self)


def run_boxes(group: GroupValues, kernel: BoxKernel) -> None:
    """Call the SIMD kernel for each lane group of the work-group."""
    builder, function = group.builder, group.function
    with each_lane_group(group, kernel.lanes, False) as box:
        arguments = group.thread_args(box.tid)
        if kernel.partial is None:
            builder.call(kernel.full, arguments)
            return
        whole, some, after = (function.add_block(f"box.{n}") for n in ("whole", "some", "done"))
        everyone = builder.icmp("eq", box.lanes, all_lanes(kernel.lanes.width))
        builder.cond_br(everyone, whole, some)
        builder.at_end(whole)
        builder.call(kernel.full, arguments)
        builder.br(after)
        builder.at_end(some)
        builder.call(kernel.partial, [*arguments, box.lanes])
        builder.br(after)
        builder.at_end(after)

"""Work-groups of kernels that have barriers and use warp operations: lane groups are of consecutive linear numbers.

Where rows are whole lane groups, or there is only one row, these are neighbours along x. There are continuations for
this case, which know positions to be uniform or consecutive, and others for any work-group, which divide.
"""

from __future__ import annotations

from functools import partial

from weft.codegen.arena import ArenaNeeds
from weft.codegen.work_groups.continuations import AT_BARRIERS, GroupContinuations
from weft.codegen.work_groups.grid_phases import run_in_phases
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import ConstInt, Function, Value
from weft.ir.types import I64


class WarpContinuations(GroupProgram, frozen=True):
    """The continuations for lane groups along rows, and those for any."""

    along_rows: GroupContinuations
    by_number: GroupContinuations

    @property
    def lines(self) -> tuple[int, ...]:
        """The source line of each barrier."""
        return self.along_rows.lines

    @property
    def functions(self) -> list[Function]:
        """The continuations' code."""
        return [*self.along_rows.functions, *self.by_number.functions]

    @property
    def parameters(self) -> int:
        return AT_BARRIERS

    def run(self, entry: GroupEntry) -> None:
        if self.along_rows.split.of_grid:
            run_in_phases(entry, partial(run_warps, program=self))
            return
        with entry.each_group() as (group, number):
            run_warps(group, self, entry.arena, entry.frames, entry.error, number)

    def arena(self, fixed: int) -> ArenaNeeds:
        """What a work-group needs beside `fixed` bytes, for whichever continuations it runs."""
        a, b = self.along_rows.arena(fixed), self.by_number.arena(fixed)
        return ArenaNeeds(max(a.fixed, b.fixed), max(a.per_lane_group, b.per_lane_group), a.lanes, a.resident)


def run_warps(
    group: GroupValues,
    program: WarpContinuations,
    arena: Value,
    scratch: Value,
    error: Value,
    number: Value,
    resumed: Value | None = None,
) -> None:
    """Run the work-group by the continuations that fit its shape; parameters as for its `run_group`."""
    builder, function, size = group.builder, group.function, group.local_size
    width = ConstInt(I64, program.along_rows.width)
    whole = builder.icmp("eq", builder.binary("urem", size[0], width), ConstInt(I64, 0))
    rows = builder.binary("mul", size[1], size[2])
    fits = builder.binary("or", whole, builder.icmp("eq", rows, ConstInt(I64, 1)))
    along, any_shape, done = (function.add_block(f"warps.{n}") for n in ("rows", "numbers", "done"))
    builder.cond_br(fits, along, any_shape)
    for block, continuations in ((along, program.along_rows), (any_shape, program.by_number)):
        builder.at_end(block)
        continuations.run_group(group, arena, scratch, error, number, resumed)
        builder.br(done)
    builder.at_end(done)

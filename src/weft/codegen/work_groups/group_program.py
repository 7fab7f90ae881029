"""What a kernel has become: the contract between ways to run a work-group and the entry point around them.

A program is code for threads one by one, for lane groups, rows or boxes of them, or for what is between barriers. The
entry point (`weft.codegen.work_groups.groups`) and the launch ask all of them the same things.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from weft.codegen.arena import ArenaNeeds
from weft.codegen.launch_record import STATE_BYTES
from weft.codegen.order.group_order import in_rows, in_strips
from weft.codegen.order.run_unit import RunUnit
from weft.codegen.work_groups.group_values import GroupValues
from weft.ir import Builder, ConstInt, Function, Value
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import I8, I64, pointer
from weft.transform.groups.work_items import WORK_ITEM_PARAMETERS


class ScratchLayout(Struct, frozen=True):
    """What lies where in the scratch memory of a work-group: votes, shared memory, frames.

    Parameters
    ----------
    static_bytes, dynamic_bytes
        Shared memory.
    needs
        What all of it takes.
    """

    static_bytes: int
    dynamic_bytes: Value
    needs: ArenaNeeds

    def parts(self, builder: Builder, arena: Value) -> tuple[Value, Value, Value]:
        """Static and dynamic shared memory, and what is left behind them."""
        shared = builder.gep(I8, arena, (ConstInt(I64, STATE_BYTES),), ("inbounds",))
        dynamic = builder.gep(I8, shared, (ConstInt(I64, self.static_bytes),), ("inbounds",))
        rounded = builder.binary(
            "and", builder.binary("add", self.dynamic_bytes, ConstInt(I64, 63)), ConstInt(I64, -64)
        )
        frames = builder.gep(I8, dynamic, (rounded,), ("inbounds",))
        space = pointer(SHARED_SPACE)
        return (
            builder.cast("addrspacecast", shared, space),
            builder.cast("addrspacecast", dynamic, space),
            frames,
        )


class GroupEntry(Struct, frozen=True):
    """The entry point while it is built.

    Parameters
    ----------
    values
        Of any work-group, all but its position in the grid.
    begin, end
        The groups to run, by linear number.
    arena, frames
        Scratch memory: the votes record at its beginning, and what is left behind shared memory.
    error
        The error record.
    layout
        How scratch memory is divided.
    strips
        Whether groups run in strips (`weft.codegen.order.group_order`).
    """

    values: GroupValues
    begin: Value
    end: Value
    arena: Value
    frames: Value
    error: Value
    layout: ScratchLayout
    strips: bool = False

    @contextmanager
    def each_group(self) -> Iterator[tuple[GroupValues, Value]]:
        """Build the loop over the groups; yields each, and its linear number."""
        own = self.values
        builder, function, grid = own.builder, own.function, list(own.groups)
        if self.strips:
            loop = in_strips(builder, function, self.begin, self.end, grid, own.local_size[0])
        else:
            loop = in_rows(builder, function, self.begin, self.end, grid)
        with loop as (position, number):
            yield replace(own, group=position), number


class GroupProgram(Struct, frozen=True):
    """Code that runs work-groups: each kind says what its functions are and how it runs, which have no default here."""

    @property
    def functions(self) -> list[Function]:
        """What the entry point calls."""
        raise NotImplementedError

    @property
    def parameters(self) -> int:
        """How many parameters these have behind those of the kernel itself."""
        return len(WORK_ITEM_PARAMETERS)

    @property
    def lines(self) -> tuple[int, ...]:
        """The source line of each barrier, numbered from 1."""
        return ()

    @property
    def run_unit(self) -> RunUnit:
        """How groups are handed out."""
        return RunUnit()

    @property
    def row_multiple(self) -> int:
        """It is for work-groups whose rows have a multiple of so many threads."""
        return 1

    @property
    def barrier_width(self) -> int:
        """Threads of a lane group if it has barriers, so that smaller work-groups may have versions; else 0."""
        return 0

    def arena(self, fixed: int) -> ArenaNeeds:
        """The scratch memory of a worker, `fixed` bytes included."""
        return ArenaNeeds(fixed)

    def run(self, entry: GroupEntry) -> None:
        """Build what runs the groups."""
        raise NotImplementedError

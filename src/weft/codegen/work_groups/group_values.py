"""Values of one work-group while its loops are built."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.ir import Builder, Function, Value


class GroupValues(Struct):
    """What code for one work-group is built from.

    Parameters
    ----------
    builder, function
        Where the code goes.
    kernel_args
        The kernel's arguments, those for work-items apart.
    group
        Index of the work-group along x, y and z.
    local_size, groups
        Threads of a work-group, and work-groups of the grid, along each.
    shared, dynamic, dynamic_bytes
        The group's shared memory, static and dynamic, and the size of the latter.
    """

    builder: Builder
    function: Function
    kernel_args: list[Value]
    group: list[Value]
    local_size: list[Value]
    groups: list[Value]
    shared: Value
    dynamic: Value
    dynamic_bytes: Value

    def thread_args(self, tid: Sequence[Value]) -> list[Value]:
        """Arguments for the kernel with work-item parameters, in their order."""
        return [
            *self.kernel_args,
            *tid,
            *self.group,
            *self.local_size,
            *self.groups,
            self.shared,
            self.dynamic,
            self.dynamic_bytes,
        ]

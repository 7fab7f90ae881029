"""Ids and sizes of work-items, which the library asks for by primitives, from weft's intrinsics and hidden parameters.

A kernel is adopted in one of two ways. *Plain* kernels serve launches whose ids begin at 0 and whose work-groups are
all alike. *Placed* ones serve launches with an offset, and parts of launches whose last work-groups are smaller: what
the whole launch was asked for comes in parameters (`HIDDEN`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from weft.ir import Argument, Builder, ConstInt, Instruction, Value
from weft.ir.intrinsics import SMALL_ARRAYS_ATTRIBUTE, SMALL_GRID_ATTRIBUTE, declare
from weft.ir.types import I32, I64

WORK_DIM = "work.dim"
"""The parameter with the number of dimensions, which every kernel has."""

HIDDEN = tuple(
    f"{name}.{d}"
    for name in ("global.offset", "global.size", "num.groups", "enqueued.size", "first.group", "first.id")
    for d in "xyz"
)
"""i64 parameters of placed kernels: what the whole launch was asked for, which of its groups is the first one here, and
the id of that group's first work-item, offset included."""

_NO_WRAP = ("nuw", "nsw")

MAX_GROUPS = (1 << 31) - 1
"""Work-groups along a dimension (`weft.opencl.geometry` and `weft.runtime.shape` see to it)."""


SMALL_LAUNCHES = f'"{SMALL_ARRAYS_ATTRIBUTE}"', f'"{SMALL_GRID_ATTRIBUTE}"'
"""Attributes of kernels for launches that are small."""


class WorkItems(Struct, frozen=True):
    """Builds ids and sizes in one kernel.

    Parameters
    ----------
    hidden
        Its parameters by the names of `HIDDEN`, and `WORK_DIM`.
    small
        Whether all ids of a launch are less than `weft.ir.intrinsics.SMALL_GRID`, so that a source may keep them as
        ``int``.
    max_groups
        Work-groups that a launch has along a dimension at most.
    """

    hidden: Mapping[str, Argument]
    small: bool
    max_groups: int = MAX_GROUPS

    @property
    def placed(self) -> bool:
        """Whether it serves launches that are placed."""
        return HIDDEN[0] in self.hidden

    def build(self, builder: Builder, call: Instruction, name: str) -> Value:
        """What the primitive of the name (without ``__weft_``) gives where `call` stands."""
        if name == "work_dim":
            return builder.cast("trunc", self.hidden[WORK_DIM], I32)
        along, outside = _IDS[name]
        dimension = call.args[0]
        if isinstance(dimension, ConstInt):
            return along(self, builder, dimension.value) if dimension.value < 3 else ConstInt(I64, outside)
        value: Value = ConstInt(I64, outside)
        for d in range(3):
            is_it = builder.icmp("eq", dimension, ConstInt(I32, d))
            value = builder.select(is_it, along(self, builder, d), value)
        return value

    def local_id(self, builder: Builder, d: int) -> Value:
        """The position in the work-group."""
        return self.ask(builder, "weft.local.id", d)

    def local_size(self, builder: Builder, d: int) -> Value:
        """The size of the work-group."""
        return self.ask(builder, "weft.local.size", d)

    def group_id(self, builder: Builder, d: int) -> Value:
        """The number of the work-group in the launch."""
        group = self.ask(builder, "weft.group.id", d)
        return self._after(builder, "first.group", d, group)

    def global_id(self, builder: Builder, d: int) -> Value:
        """The position in the launch, its offset included; no launch is so large that it wraps."""
        group = self.ask(builder, "weft.group.id", d)
        first = builder.binary("mul", group, self.ask(builder, "weft.local.size", d), _NO_WRAP)
        value = builder.binary("add", first, self.ask(builder, "weft.local.id", d), _NO_WRAP)
        return self._narrow(builder, self._after(builder, "first.id", d, value))

    def num_groups(self, builder: Builder, d: int) -> Value:
        """Work-groups of the launch."""
        return (
            self.hidden[f"num.groups.{'xyz'[d]}"] if self.placed else self.ask(builder, "weft.num.groups", d)
        )

    def global_size(self, builder: Builder, d: int) -> Value:
        """Work-items of the launch."""
        if self.placed:
            return self.hidden[f"global.size.{'xyz'[d]}"]
        groups = self.ask(builder, "weft.num.groups", d)
        size = builder.binary("mul", groups, self.ask(builder, "weft.local.size", d), _NO_WRAP)
        return self._narrow(builder, size)

    def enqueued_local_size(self, builder: Builder, d: int) -> Value:
        """The size of work-groups but for the last ones."""
        return self.hidden[f"enqueued.size.{'xyz'[d]}"] if self.placed else self.local_size(builder, d)

    def global_offset(self, builder: Builder, d: int) -> Value:
        """The id of the first work-item."""
        return self.hidden[f"global.offset.{'xyz'[d]}"] if self.placed else ConstInt(I64, 0)

    def ask(self, builder: Builder, intrinsic: str, dimension: int) -> Value:
        """One of weft's ids and sizes, with what LLVM may know of it."""
        low, high = self.bounds(intrinsic)
        function = declare(builder.module, intrinsic)
        function.return_attributes = (f"range(i64 {low}, {high + 1})",)
        return builder.call(function, (ConstInt(I32, dimension),))

    def bounds(self, intrinsic: str) -> tuple[int, int]:
        """The least and greatest value of one of weft's ids and sizes."""
        return {
            "weft.local.id": (0, 1023),
            "weft.local.size": (1, 1024),
            "weft.group.id": (0, self.max_groups - 1),
            "weft.num.groups": (1, self.max_groups),
        }[intrinsic]

    def _narrow(self, builder: Builder, value: Value) -> Value:
        """`value` with the promise that 31 bits hold it, which a conversion to ``int`` takes up."""
        if not self.small:
            return value
        return builder.cast("zext", builder.cast("trunc", value, I32, _NO_WRAP), I64, ("nneg",))

    def _after(self, builder: Builder, name: str, d: int, value: Value) -> Value:
        """`value`, counted from a hidden parameter on where there is one. Ids of any launch are less than 2^63."""
        if not self.placed:
            return value
        return builder.binary("add", self.hidden[f"{name}.{'xyz'[d]}"], value, ("nsw",))


_IDS: dict[str, tuple[Callable[[WorkItems, Builder, int], Value], int]] = {
    "get_global_id": (WorkItems.global_id, 0),
    "get_local_id": (WorkItems.local_id, 0),
    "get_group_id": (WorkItems.group_id, 0),
    "get_global_offset": (WorkItems.global_offset, 0),
    "get_global_size": (WorkItems.global_size, 1),
    "get_local_size": (WorkItems.local_size, 1),
    "get_enqueued_local_size": (WorkItems.enqueued_local_size, 1),
    "get_num_groups": (WorkItems.num_groups, 1),
}
"""What gives an id or size along a dimension, and what it is along those that there are not."""


def is_work_item_primitive(name: str) -> bool:
    """Whether a primitive's name, without ``__weft_``, is an id or size."""
    return name == "work_dim" or name in _IDS

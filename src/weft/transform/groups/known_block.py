"""Work-groups of a known size.

Precondition: ids are parameters (`weft.transform.groups.work_items`). Postcondition: the kernel does not read the
parameters that say how many threads a work-group has, and what it reads of a position is in the range that it can have.
Preserves the program under FR and OBL in launches with such work-groups.
"""

from __future__ import annotations

from weft.ir import Argument, ConstInt, Function
from weft.ir.intrinsics import SMALL_GRID, SMALL_GRID_ATTRIBUTE
from weft.ir.types import I64
from weft.transform.groups.work_items import WorkItems


def know_block(kernel: Function, block: tuple[int, int, int]) -> None:
    """Let `kernel` be for work-groups of `block` threads along x, y and z."""
    items = WorkItems.of(kernel)
    for position, extent, size in zip(items.tid, items.lsize, block, strict=True):
        extent.replace_all_uses(ConstInt(I64, size))
        if size == 1:
            position.replace_all_uses(ConstInt(I64, 0))
        _limit(position, 0, size)
    if kernel.attribute(SMALL_GRID_ATTRIBUTE) is not None:
        for group, count, size in zip(items.gid, items.groups, block, strict=True):
            _limit(group, 0, SMALL_GRID // size)
            _limit(count, 1, SMALL_GRID // size + 1)


def _limit(parameter: Argument, low: int, end: int) -> None:
    others = (a for a in parameter.attributes if not a.startswith("range("))
    parameter.attributes = (*others, f"range(i64 {low}, {end})")

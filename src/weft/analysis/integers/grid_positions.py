"""Positions of threads in launches of which it is known that they are small.

Most launches have fewer than 2³⁰ threads along each dimension, and the launcher has other code for those with more
(`SMALL_GRID_ATTRIBUTE`). What a kernel computes of the parameters for ids and sizes may be larger for all that is known
of each of them; the first thread of a work-group and the number of threads are not.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import Interval
from weft.ir import Argument, Instruction
from weft.ir.intrinsics import SMALL_GRID, SMALL_GRID_ATTRIBUTE

_BEGINS, _SIZES = ("gid.", "groups."), "lsize."


def position_in_grid(instruction: Instruction) -> Interval | None:
    """The range of a product, if it is where the work-group begins or how many threads there are in a row."""
    if instruction.op != "mul" or instruction.block is None:
        return None
    group, size = instruction.operands
    if isinstance(group, Argument) and group.name.startswith(_SIZES):
        group, size = size, group
    if not isinstance(group, Argument) or not isinstance(size, Argument) or not size.name.startswith(_SIZES):
        return None
    if not group.name.startswith(_BEGINS) or group.name[-1] != size.name[-1]:
        return None
    function = instruction.block.function
    if function is None or function.attribute(SMALL_GRID_ATTRIBUTE) is None:
        return None
    # With each of its threads a work-group is within the grid.
    return Interval(1, SMALL_GRID) if group.name.startswith("groups.") else Interval(0, SMALL_GRID - 1)

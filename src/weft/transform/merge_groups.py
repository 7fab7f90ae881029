"""Merging of work-groups into long rows of threads.

Precondition: ids are parameters (`weft.transform.work_items`). Postcondition, where the kernel does the same in
whichever group a thread is: parameter ``tid.<d>`` is the thread's position in the grid along dimension d and
``gid.<d>`` is not read, so that lane groups may go on from one work-group to the next. Karrenberg and Hack (§2.2) leave
the size of groups to the driver when a kernel has no barrier; this is that freedom, while the kernel still sees the
sizes the user asked for. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import Argument, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.effects import is_convergent

GRID_RANGE = "range(i64 0, 2199023255552)"
"""Positions in a grid: at most 2^31 - 1 groups of at most 1024 threads along a dimension."""


def can_merge(function: Function, dimension: str) -> bool:
    """Whether `merge_groups` can do it along `dimension`."""
    return _positions(function, dimension) is not None


def merge_groups(function: Function, dimension: str) -> bool:
    """Let `function` run on rows of whole grids along `dimension` ("x", "y" or "z"); whether it can.

    It can when it has no memory of its work-group, does nothing together with other threads, and asks for its
    position in the group, and for the group's in the grid, only to compute its own position in the grid.
    """
    positions = _positions(function, dimension)
    if positions is None:
        return False
    thread, group = (
        next(a for a in function.args if a.name == f"{what}.{dimension}") for what in ("tid", "gid")
    )
    for position in positions:
        replace_and_erase(position, thread)
    for start in set(group.instruction_users()):
        start.erase()
    thread.attributes = (*(a for a in thread.attributes if not a.startswith("range(")), GRID_RANGE)
    return True


def _positions(function: Function, dimension: str) -> list[Instruction] | None:
    """The computations of a thread's position in the grid; None if the kernel can tell groups apart otherwise."""
    named = {a.name: a for a in function.args}
    if named["shared"].is_used or named["shared.dynamic"].is_used:
        return None
    if any(is_convergent(i) for i in function.instructions()):
        return None
    return _sums(named[f"tid.{dimension}"], named[f"gid.{dimension}"], named[f"lsize.{dimension}"])


def _sums(thread: Argument, group: Argument, size: Argument) -> list[Instruction] | None:
    """The sums ``group*size + thread``; None when `thread` or `group` has another use."""
    starts: list[Value] = []
    for user in group.instruction_users():
        if user.op != "mul" or set(user.operands) != {group, size}:
            return None
        starts.append(user)
    sums = [user for start in starts for user in start.instruction_users()]
    if any(s.op != "add" or thread not in s.operands or s.operands[0] is s.operands[1] for s in sums):
        return None
    if set(thread.instruction_users()) - set(sums):
        return None
    return list(dict.fromkeys(sums))

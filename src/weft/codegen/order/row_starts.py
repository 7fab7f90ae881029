"""Where the lane groups of a row begin: at multiples of their width, or with the first thread of the row.

Lane groups at multiples of their width make known the low bits of a thread's position: ``x // 8``, ``x ^ 1`` and
``x < 64`` are the same in a group, or change places within it. Where the guards of a kernel let a row begin elsewhere,
as those of stencils do, its first group is one of a few threads under a mask, which costs as much as several others
where masks are in registers of values. A kernel that only adds to the position, and scales it to an address, gains
nothing from those bits: its groups begin with the row. Nor does one that asks whether an index counts from the end.

Precondition: guards are bounds of the rows (`weft.transform.groups.guard_splitting`).
"""

from __future__ import annotations

from weft.ir import Argument, Function, Value
from weft.ir.intrinsics import is_lane_operation
from weft.transform.numbers.known_numbers import number_asked_for_sign

_LINEAR = frozenset({"add", "sub", "mul", "shl", "sext", "zext", "trunc", "getelementptr", "freeze"})
"""They need no more of a position than by how much it differs from the neighbour's."""

_ENDS = frozenset({"load", "store", "sitofp", "uitofp"})
"""What they make is not looked at as a position."""


def may_begin_anywhere(kernel: Function, position: Argument) -> bool:
    """Whether a kernel does nothing with its position along a row that its low bits matter for."""
    if any(is_lane_operation(i.callee_name) for i in kernel.instructions()):
        return False
    seen: set[Value] = {position}
    work: list[Value] = [position]
    while work:
        for user in work.pop().instruction_users():
            if user.op in _ENDS or user in seen or number_asked_for_sign(user) is not None:
                continue
            if user.op not in _LINEAR:
                return False
            seen.add(user)
            work.append(user)
    return True

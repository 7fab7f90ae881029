"""Barriers of work-groups that fit in one lane group: there they are synchronization of the lane group.

Precondition: all threads of a work-group are one lane group, and reach the barriers together. Postcondition: no barrier
is left. A lane group runs in lock step, so that its threads meet at every instruction; all that is left of a barrier is
the order of memory accesses among lanes, and votes are those of the lane group. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import Builder, Function, Module
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import declare
from weft.ir.types import I32
from weft.transform.splitting.barriers import barriers_of

_VOTES = {
    "weft.barrier.count": "weft.popcount",
    "weft.barrier.and": "weft.all",
    "weft.barrier.or": "weft.any",
}


def run_in_lock_step(module: Module, kernel: Function) -> None:
    """Replace the barriers of `kernel`."""
    for barrier in barriers_of(kernel):
        builder = Builder(before=barrier)
        builder.loc = barrier.loc
        vote = _VOTES.get(barrier.callee_name or "")
        if vote is None:
            builder.call(declare(module, "weft.warp.sync"), ())
            barrier.erase()
            continue
        result = builder.call(declare(module, vote), barrier.args)
        builder.call(declare(module, "weft.warp.sync"), ())
        narrow = "trunc" if vote == "weft.popcount" else "zext"
        replace_and_erase(barrier, builder.cast(narrow, result, I32))

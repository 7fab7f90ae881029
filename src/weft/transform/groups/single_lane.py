"""Lane groups of one thread: lane intrinsics become constants and the thread's own values.

Precondition: control flow is the thread's own, so no predicate, shadow or total instruction is left. Postcondition:
no lane intrinsic is left, and no update that lanes make one after the other. With W = 1 this is what they mean under
FR and OBL.
"""

from __future__ import annotations

from weft.ir import TRUE, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import INTRINSICS, PREFIX
from weft.ir.lane_updates import build_plain_update, is_lane_update
from weft.ir.types import I32, I64

_OWN_VALUE = (
    *("weft.any", "weft.all", "weft.shfl.idx.i32", "weft.shfl.idx.i64"),
    *("weft.extract.i32", "weft.extract.i64", "weft.compact.i32", "weft.compact.i64"),
)
_ONE_BIT = ("weft.ballot", "weft.ballot.i32", "weft.popcount")


def run_single_lane(function: Function) -> bool:
    """Replace the lane intrinsics that `function` calls; whether there were any."""
    changed = False
    for update in [i for i in function.instructions() if is_lane_update(i)]:
        builder = Builder(before=update)
        builder.loc = update.loc
        replace_and_erase(update, build_plain_update(builder, update, *update.operands))
        changed = True
    for call in [i for i in function.instructions() if i.callee_name in INTRINSICS]:
        value = _alone(call)
        if value is not None:
            replace_and_erase(call, value)
            changed = True
    return changed


def _alone(call: Instruction) -> Value | None:
    name = call.callee_name
    if name in _OWN_VALUE or (name or "").startswith(PREFIX):
        return call.args[0]
    if name in _ONE_BIT:
        return Builder(before=call).cast("zext", call.args[0], call.type)
    if name in ("weft.active", "weft.match.any.i64"):
        return ConstInt(I64, 1)
    if name == "weft.mask":
        return TRUE
    if name in ("weft.lane.id", "weft.lane.coordinate"):
        return ConstInt(I32, 0)
    if name == "weft.num.lanes":
        return ConstInt(I32, 1)
    return None

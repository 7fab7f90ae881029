"""Running a function for some lanes of a lane group only.

Precondition: control-uniform P-LLVM. Postcondition: the function has a parameter more, ``i64 lanes`` with a bit for
each lane, and does for the lanes whose bit is set what it did for all. No other lane has an effect or is seen by a
horizontal operation; at least one bit has to be set. Blocks without a predicate get these lanes as theirs.

The function does under OBL, for these lanes, what it did before when only they were active.
"""

from __future__ import annotations

from weft.ir import FALSE, TRUE, Argument, BasicBlock, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.intrinsics import declare
from weft.ir.types import I32, I64, FunctionType
from weft.transform.linearization.masks import both

_UNSEEN = {"weft.any": FALSE, "weft.all": TRUE, "weft.ballot": FALSE, "weft.popcount": FALSE}
"""Operand of a total vote with which a lane does not count."""


def run_for_lanes(module: Module, function: Function, width: int) -> Argument:
    """Add the parameter ``lanes`` to `function`, whose lane groups have `width` threads."""
    old = function.fn_type
    function.fn_type = FunctionType(old.result, (*old.params, I64), old.vararg)
    argument = Argument(I64, "lanes", len(function.args), ("noundef",))
    function.args.append(argument)
    builder = Builder(before=function.entry.instructions[0])
    builder.total = True
    here = lane_bit(module, builder, argument, width)
    restricted: dict[Value, Value] = {}
    for block in function.blocks:
        if block.predicate is None:
            block.set_predicate(here)
            continue
        own = block.predicate
        if own not in restricted:
            restricted[own] = both(_behind(own, block), here, own)
        block.set_predicate(restricted[own])
    for call in [i for i in function.instructions() if i.total and i.callee_name in _UNSEEN]:
        builder = Builder(before=call)
        builder.total = True
        unseen = _UNSEEN[call.callee_name or ""]
        call.set_operand(0, builder.select(here, call.operands[0], unseen))
    return argument


def lane_bit(module: Module, builder: Builder, lanes: Value, width: int) -> Value:
    """Whether the thread's own bit of `lanes` is set, of an integer that has as few bits as it may."""
    lane: Value = builder.call(declare(module, "weft.lane.id"), ())
    if width <= 32:
        lanes = builder.cast("trunc", lanes, I32)
    else:
        lane = builder.cast("zext", lane, I64)
    type = I32 if width <= 32 else I64
    bit = builder.binary("shl", ConstInt(type, 1), lane)
    return builder.icmp("ne", builder.binary("and", lanes, bit), ConstInt(type, 0), name="here")


def _behind(mask: Value, block: BasicBlock) -> Builder:
    """A builder of total instructions behind the definition of a mask."""
    if isinstance(mask, Instruction) and not mask.is_phi:
        assert mask.block is not None
        following = mask.block.instructions[mask.block.instructions.index(mask) + 1]
        builder = Builder(before=following)
    else:
        at = mask.block if isinstance(mask, Instruction) else block
        assert at is not None
        builder = Builder.after_phis(at)
    builder.total = True
    return builder

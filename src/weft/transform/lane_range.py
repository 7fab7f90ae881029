"""Lane groups of which some threads run: a guard on the lane's number.

Precondition: one return. Postcondition: the function has parameters ``first.lane`` and ``lanes``; lanes from the one
on, as many as the other says, do what they did under FR, the rest nothing. The guard is a divergent branch at the
entry, to be linearized like any other.
"""

from __future__ import annotations

from weft.ir import Argument, Builder, Function, Module
from weft.ir.cfg_edit import split_block
from weft.ir.intrinsics import declare
from weft.ir.types import I32, FunctionType


def guard_by_lane_range(module: Module, function: Function) -> None:
    """Let only a run of lanes of `function` do anything."""
    old = function.fn_type
    function.fn_type = FunctionType(old.result, (*old.params, I32, I32))
    first, count = (
        Argument(I32, name, len(function.args) + i, ("noundef",))
        for i, name in enumerate(("first.lane", "lanes"))
    )
    function.args += (first, count)
    entry = function.entry
    exit_block = next(b for b in function.blocks if b.terminator.op == "ret")
    if exit_block is entry or exit_block.instructions[0].op != "ret":
        exit_block = split_block(exit_block.terminator, "exit")
    guard = function.add_block("guard")
    function.blocks.remove(guard)
    function.blocks.insert(0, guard)
    builder = Builder(guard)
    lane = builder.call(declare(module, "weft.lane.id"), ())
    # Lanes before the first one wrap around to large numbers.
    builder.cond_br(builder.icmp("ult", builder.binary("sub", lane, first), count), entry, exit_block)

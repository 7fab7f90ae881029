"""Functions that run for a part of the lanes they are called for: a divergent branch around the body.

It is linearized like any other branch, so that the lanes behind it carry a mask and nothing else has to know.

Precondition: one return (`weft.transform.unify_returns`). Postcondition: the function has a parameter or two more;
lanes that these leave out do nothing and return poison, the others do what they did under FR.
"""

from __future__ import annotations

from weft.ir import BasicBlock, Builder, ConstInt, Function, Module, Poison, Value
from weft.ir.cfg_edit import split_block
from weft.ir.intrinsics import declare
from weft.ir.types import I1, I32, I64
from weft.ir.values import Argument
from weft.transform.splitting.lane_subset import lane_bit


def skip_body(function: Function) -> tuple[Builder, BasicBlock, BasicBlock]:
    """Put a block before the entry; what is built there ends with a branch to one of the two blocks returned.

    The first is the old entry, the second returns at once; what it returns is poison then.
    """
    entry = function.entry
    exit_block = next(b for b in function.blocks if b.terminator.op == "ret")
    if exit_block is entry or exit_block.instructions[0].op != "ret":
        exit_block = split_block(exit_block.terminator, "exit")
    guard = function.add_block("guard")
    function.blocks.remove(guard)
    function.blocks.insert(0, guard)
    ret = exit_block.terminator
    if ret.operands:
        value = ret.operands[0]
        result = Builder.after_phis(exit_block).phi(value.type, "result")
        for source in exit_block.edge_sources:
            result.add_incoming(value, source)
        result.add_incoming(Poison(value.type), guard)
        ret.set_operand(0, result)
    return Builder(guard), entry, exit_block


def guard_by_mask(function: Function) -> Argument:
    """Let only the lanes run whose new parameter ``mask`` is true."""
    mask = function.append_parameter(I1, "mask")
    builder, entry, leave = skip_body(function)
    builder.cond_br(mask, entry, leave)
    return mask


def guard_by_bits(module: Module, function: Function, width: int) -> Argument:
    """Let only some lanes run: adds a parameter ``lanes`` with a bit for each lane that does."""
    lanes = function.append_parameter(I64, "lanes")
    builder, entry, leave = skip_body(function)
    builder.cond_br(lane_bit(module, builder, lanes, width), entry, leave)
    return lanes


def guard_by_lane(module: Module, function: Function) -> Argument:
    """Let only the first lanes run: adds a parameter ``active``, the number of lanes that do."""
    active = function.append_parameter(I32, "active")
    builder, entry, leave = skip_body(function)
    lane = builder.call(declare(module, "weft.lane.id"), ())
    builder.cond_br(builder.icmp("ult", lane, active), entry, leave)
    return active


def guard_by_coordinates(module: Module, function: Function, dimensions: int) -> tuple[Argument, ...]:
    """Let only a corner of the box of lanes run: adds a parameter for each dimension, how many lanes along it do."""
    counts = tuple(function.append_parameter(I32, f"active.{d}") for d in range(dimensions))
    builder, entry, leave = skip_body(function)
    inside: Value | None = None
    for d, count in enumerate(counts):
        place = builder.call(declare(module, "weft.lane.coordinate"), (ConstInt(I32, d),))
        below = builder.icmp("ult", place, count)
        inside = below if inside is None else builder.binary("and", inside, below)
    assert inside is not None
    builder.cond_br(inside, entry, leave)
    return counts


def guard_by_lane_range(module: Module, function: Function) -> None:
    """Let only a run of lanes run: adds parameters ``first.lane`` and ``lanes``, how many they are."""
    first = function.append_parameter(I32, "first.lane")
    count = function.append_parameter(I32, "lanes")
    builder, entry, leave = skip_body(function)
    lane = builder.call(declare(module, "weft.lane.id"), ())
    # Lanes before the first one wrap around to large numbers.
    builder.cond_br(builder.icmp("ult", builder.binary("sub", lane, first), count), entry, leave)

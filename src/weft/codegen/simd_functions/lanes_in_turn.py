"""SIMD functions whose lanes had better run one after the other: each of them calls the function for one lane.

So it is where each lane loops along a place of its own that was looked up, as through a row of a sparse matrix, and the
model expects a lane to take clearly less time by itself (`weft.costs.one_thread`). Not for functions that ask other
lanes, or have a result that all lanes share, and not where lanes have instances of global variables.

    f.lanes(x): br mask, body, exit         f.lanes(x): br mask, call, exit
          body: ...                    ->         call: r = f(x)
          exit: ret                               exit: ret r

Precondition: a copy of the function, as `weft.codegen.simd_functions.whole_function` makes it. Postcondition: the same,
and what it calls has no SIMD version, so that widening calls it for each active lane. Preserves the program under FR.
"""

from __future__ import annotations

from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.order.width import part_of_time_alone
from weft.ir import Argument, Builder, Function, Instruction, Poison, Value
from weft.ir.intrinsics import is_lane_operation

_EXTENDED = ("zeroext", "signext")
_OWN_COPY = ("byval", "sret", "inalloca", "preallocated", "swifterror", "inreg")
"""Attributes of parameters that are more than a value."""


def run_in_turn(unit: LaneUnit) -> bool:
    """Let lanes run one after the other where that takes less time; tells whether it does."""
    alone = unit.alone
    if alone is None or not _may_run_in_turn(unit, alone):
        return False
    part = part_of_time_alone(unit.divergence, unit.isa, unit.lanes.width)
    if part is None:
        return False
    unit.summary.alone = part
    _call(unit.function, alone)
    unit.find_simd = lambda function, signature: None
    unit.forget()
    return True


def _may_run_in_turn(unit: LaneUnit, alone: Function) -> bool:
    if not alone.fn_type.result.is_void and unit.divergence.result.is_uniform:
        return False
    if any(a.startswith(_OWN_COPY) for argument in alone.args for a in argument.attributes):
        return False
    return not _asks_lanes(alone, set())


def _asks_lanes(function: Function, seen: set[Function]) -> bool:
    """Whether a function, or one that it calls, may ask what other lanes do; nobody knows what pointers lead to."""
    seen.add(function)
    for call in (i for i in function.instructions() if i.op == "call"):
        callee = call.callee
        if is_lane_operation(call.callee_name) or not isinstance(callee, Function):
            return True
        if callee not in seen and _asks_lanes(callee, seen):
            return True
    return False


def _call(function: Function, alone: Function) -> None:
    """Let the copy of a function call it, in the lanes of the mask if it has one as its last parameter."""
    function.remove_blocks(set(function.blocks))
    arguments, mask = function.args[: len(alone.args)], function.args[len(alone.args) :]
    entry = function.add_block("entry")
    b = Builder(entry)
    if not mask:
        result = _built(b, alone, arguments)
        b.ret(None if result.type.is_void else result)
        return
    body, leave = function.add_block("body"), function.add_block("exit")
    b.cond_br(mask[0], body, leave)
    b.at_end(body)
    result = _built(b, alone, arguments)
    b.br(leave)
    b.at_end(leave)
    if result.type.is_void:
        b.ret()
        return
    merged = b.phi(result.type, "result")
    merged.add_incoming(result, body)
    merged.add_incoming(Poison(result.type), entry)
    b.ret(merged)


def _built(b: Builder, alone: Function, arguments: list[Argument]) -> Instruction:
    values: list[Value] = list(arguments)
    call = b.call(alone, values)
    call.attrs["arg_attrs"] = tuple(_extensions(a.attributes) for a in alone.args)
    if extended := _extensions(alone.return_attributes):
        call.attrs["ret_attrs"] = extended
    if alone.calling_convention:
        call.attrs["cc"] = alone.calling_convention
    return call


def _extensions(attributes: tuple[str, ...]) -> tuple[str, ...]:
    """How a value that is narrower than a register is passed."""
    return tuple(a for a in attributes if a in _EXTENDED)

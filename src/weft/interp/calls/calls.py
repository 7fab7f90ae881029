"""Semantics of ``call`` (Moll, §4.9.2): intrinsics, library functions, and functions of the program.

A function of the program runs once for all active threads together, and not at all when there is none
(docs/design.md); an indirect call runs each distinct target for the threads that have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.interp.calls import intrinsics_llvm, intrinsics_weft, library
from weft.interp.calls.lane_functions import run_in_lanes
from weft.interp.code import Compute
from weft.interp.faults import FaultKind, span_of
from weft.interp.lanes import POISON, LaneValue, choose, filled
from weft.interp.memory.byval import copies_of_arguments, local_copy
from weft.interp.threads.active import ActiveSet
from weft.ir.constants import InlineAsm
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import LANES_ATTRIBUTE

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

MAX_DEPTH = 1000
"""Nested calls; a recursion that is deeper counts as a stack overflow."""


def decode_call(decoder: Decoder, i: Instruction) -> Compute:
    """``call``, by what is called."""
    name = i.callee_name
    callee = i.callee
    if name is None or not isinstance(callee, Function):
        return _refused(i, "inline assembly") if isinstance(callee, InlineAsm) else _indirect(decoder, i)
    weft = intrinsics_weft.TABLE.get(name)
    if weft is not None:
        return weft(decoder, i)
    if callee.blocks:
        return _direct(decoder, i, callee)
    if name.startswith("llvm."):
        known = intrinsics_llvm.find(name)
        return known(decoder, i) if known is not None else _refused(i, f"@{name}")
    known = library.find(name)
    return known(decoder, i) if known is not None else _refused(i, f"the external function @{name}")


def _refused(i: Instruction, what: str) -> Compute:
    """A call that cannot be executed; it may stand in code that never runs."""

    def compute(frame: Frame) -> None:
        if frame.active.count:
            raise UnsupportedError(f"the interpreter cannot execute {what}", span_of(i))

    return compute if i.type.is_void else (lambda frame: compute(frame) or filled(i.type, POISON))


def _direct(decoder: Decoder, i: Instruction, callee: Function) -> Compute:
    slots = [decoder.slot(a) for a in i.args]
    lanes = callee.attribute(LANES_ATTRIBUTE)
    if lanes is not None:
        extents = tuple(map(int, lanes.split("x")))
        return lambda frame: run_in_lanes(frame, callee, extents, [frame.env[s] for s in slots], frame.active)
    copies = copies_of_arguments(decoder, i)

    def compute(frame: Frame) -> LaneValue | None:
        return run_callee(frame, i, callee, [frame.env[s] for s in slots], frame.active, copies)

    return compute


def run_callee(
    frame: Frame,
    i: Instruction,
    callee: Function,
    arguments: list[LaneValue],
    active: ActiveSet,
    copies: list[tuple[int, int, int]] = [],  # noqa: B006
) -> LaneValue | None:
    """Execute a function of the program for the threads of `active`."""
    if not active.count:
        return None if i.type.is_void else filled(i.type, POISON)
    machine = frame.machine
    if len(arguments) != len(callee.args):
        raise UnsupportedError(f"a call of @{callee.name} with a variable number of arguments", span_of(i))
    if machine.depth >= MAX_DEPTH:
        where = np.broadcast_to(active.mask(machine.lanes), (machine.lanes,))
        message = f"calls are nested more than {MAX_DEPTH} deep"
        machine.fault(FaultKind.STACK, i, where, message)
        raise machine.error(message, i)
    inner = frame.callee_frame(machine.image.program.code(callee))
    for position, size, align in copies:
        arguments[position] = local_copy(inner, i, arguments[position], size, align, active)
    machine.depth += 1
    try:
        result = inner.run(arguments, active)
    finally:
        machine.depth -= 1
    if result is None and not i.type.is_void:
        return filled(i.type, POISON)
    return result


def _outside(
    decoder: Decoder, frame: Frame, i: Instruction, callee: Function, active: ActiveSet
) -> LaneValue | None:
    """Execute a function without a body that a pointer leads to, for the threads of `active`."""
    known = library.find(callee.name)
    if known is None:
        raise UnsupportedError(
            f"the interpreter cannot execute the external function @{callee.name}", span_of(i)
        )
    before, frame.active = frame.active, active
    try:
        return known(decoder, i)(frame)
    finally:
        frame.active = before


def _indirect(decoder: Decoder, i: Instruction) -> Compute:
    callee_slot = decoder.slot(i.callee)
    slots = [decoder.slot(a) for a in i.args]
    copies = copies_of_arguments(decoder, i)

    def compute(frame: Frame) -> LaneValue | None:
        target = frame.env[callee_slot]
        rest = frame.active
        result: LaneValue | None = None if i.type.is_void else filled(i.type, POISON)
        arguments = [frame.env[s] for s in slots]
        while rest.count:
            address = int(target.data[0 if target.data.shape[0] == 1 else rest.first])
            same, rest = rest.split(target.data == np.uint64(address))
            callee = frame.machine.image.function_at(address)
            if callee is None or callee.fn_type != i.attrs["fn_type"]:
                message = f"indirect call of {address:#x}, where no function of this type is"
                lanes = frame.machine.lanes
                where = np.broadcast_to(same.mask(lanes), (lanes,))
                frame.machine.fault(FaultKind.OUT_OF_BOUNDS, i, where, message)
                continue
            if callee.blocks:
                returned = run_callee(frame, i, callee, list(arguments), same, copies)
            else:
                returned = _outside(decoder, frame, i, callee, same)
            if result is not None and returned is not None:
                result = returned if same.bits is None else choose(same.bits, returned, result)
        return result

    return compute

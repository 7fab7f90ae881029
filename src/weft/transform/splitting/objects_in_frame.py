"""Stack objects that outlive a continuation: they get their place in the lane group's frame.

Precondition: `kernel` has its frame parameter. Postcondition: no stack object is reached from behind a barrier by
any way (a live pointer, memory, a call); those that were are addresses in the frame. Preserves the program under FR
and OBL where each lane group has a frame of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.analysis.liveness import liveness
from weft.diag.errors import UnsupportedError
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.intrinsics import declare
from weft.ir.layout import DataLayout
from weft.ir.types import I8, I64
from weft.transform.interleaved_objects import derived_addresses, element_bytes, spread_elements
from weft.transform.splitting.frame import FRAME_ALIGN

_DERIVES = {
    "getelementptr",
    "phi",
    "select",
    "bitcast",
    "addrspacecast",
    "ptrtoint",
    "inttoptr",
    "freeze",
    "add",
}
"""Instructions whose result may still point into the object that an operand points into."""

_LIFETIMES = "llvm.lifetime."
"""Marks of the stack alone: where inlined functions had their objects."""


def move_objects_to_frame(
    kernel: Function,
    barriers: Sequence[Instruction],
    frame: Argument,
    layout: DataLayout,
    lanes: int,
    uniform: Collection[Instruction] = (),
) -> int:
    """Give each stack object that may be reached from behind a barrier a place in the frame; the bytes they take.

    A stack object keeps its place for the whole run, whatever else is live. The objects in `uniform`, to which all
    threads do the same, have one place for the lane group, all others one for each lane: element by element where they
    are made of elements (`interleaved_objects`), else lane after lane.
    """
    live = liveness(kernel)
    across = {v for b in barriers for v in live.after(b)}
    end = 0
    for alloca in [i for i in kernel.instructions() if i.op == "alloca"]:
        if not _is_reached_through(alloca, across):
            continue
        for user in list(alloca.instruction_users()):
            if (user.callee_name or "").startswith(_LIFETIMES):
                user.erase()
        count = alloca.operands[0]
        if not isinstance(count, ConstInt):
            raise UnsupportedError("a stack object of variable size is used across a barrier")
        type = alloca.allocated_type
        align = max(alloca.attrs.get("align", 0), layout.align(type))
        size = -(-layout.size(type) * count.value // align) * align
        end = -(-end // align) * align
        count_of_places = 1 if alloca in uniform else lanes
        step = size
        addresses = derived_addresses(alloca) if count_of_places > 1 else None
        if addresses is not None and (element := element_bytes(addresses, layout)) is not None:
            spread_elements(addresses, element, lanes, layout)
            step = element
        address = _object_address(Builder(before=alloca), frame, end, step, count_of_places)
        address.name = alloca.name
        alloca.replace_all_uses(address)
        alloca.erase()
        end += size * count_of_places
    return -(-end // FRAME_ALIGN) * FRAME_ALIGN


def _is_reached_through(alloca: Instruction, values: set[Value]) -> bool:
    """Whether one of `values` may point into the object, or memory or a function may know its address."""
    derived = {alloca: None}
    work = [alloca]
    while work:
        pointer_value = work.pop()
        if pointer_value in values:
            return True
        for user in pointer_value.instruction_users():
            if user.op in _DERIVES:
                if user not in derived:
                    derived[user] = None
                    work.append(user)
            elif not _only_accesses(user, pointer_value):
                return True
    return False


def _only_accesses(user: Instruction, address: Value) -> bool:
    if user.op in ("load", "icmp"):
        return True
    if user.op == "store":
        return user.stored_value is not address
    return (user.callee_name or "").startswith((_LIFETIMES, "llvm.memset.", "llvm.memcpy.", "llvm.memmove."))


def _object_address(builder: Builder, frame: Argument, offset: int, step: int, lanes: int) -> Instruction:
    """The address of the thread's object, `step` bytes from that of the thread before."""
    where: Value = ConstInt(I64, offset)
    if lanes > 1:
        lane = builder.cast("zext", builder.call(declare(builder.module, "weft.lane.id"), ()), I64)
        scaled = builder.binary("mul", lane, ConstInt(I64, step), ("nuw", "nsw"))
        where = builder.binary("add", scaled, where, ("nuw", "nsw"))
    return builder.gep(I8, frame, (where,), ("inbounds", "nuw"))

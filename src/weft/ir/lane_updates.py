"""Updates of memory that the lanes of a group make one after the other: ``atomicrmw`` with a scope of its own.

A lane group executes one for each active lane, from the first to the last. No other thread is there to see it, so in
machine code it is a load, an operation and a store.
"""

from __future__ import annotations

from weft.ir.builder import Builder
from weft.ir.instruction import Instruction
from weft.ir.types import FunctionType, IntType
from weft.ir.values import Value

LANE_SCOPE = "weft.lanes"

COPY_SCOPE = "weft.copies"
"""Scope of atomic operations of a kernel that may go to a copy of their array: nobody asks for the old value."""

RMW_OF = {op: op for op in ("add", "sub", "and", "or", "xor", "fadd", "fsub")} | {
    "llvm.smin": "min",
    "llvm.smax": "max",
    "llvm.umin": "umin",
    "llvm.umax": "umax",
}
"""The operation of ``atomicrmw`` for an opcode, or for the name of an intrinsic."""

_INTRINSICS = {rmw: name for name, rmw in RMW_OF.items() if name.startswith("llvm.")}


def is_lane_update(instruction: Instruction) -> bool:
    """Whether an instruction is such an update."""
    return instruction.op == "atomicrmw" and instruction.attrs.get("syncscope") == LANE_SCOPE


def goes_to_copy(instruction: Instruction) -> bool:
    """Whether an instruction is an atomic operation that may go to a copy of its array."""
    return instruction.op == "atomicrmw" and instruction.attrs.get("syncscope") == COPY_SCOPE


def build_lane_update(builder: Builder, rmw: str, pointer: Value, value: Value, align: int) -> Instruction:
    """Add an update; memory gets the old value combined with `value`."""
    attrs = {"rmw": rmw, "ordering": "monotonic", "syncscope": LANE_SCOPE, "align": align}
    return builder.build("atomicrmw", value.type, (pointer, value), attrs=attrs)


def build_plain_update(builder: Builder, update: Instruction, pointer: Value, value: Value) -> Instruction:
    """Add what an update does for one lane; the old value."""
    rmw: str = update.attrs["rmw"]
    old = builder.load(value.type, pointer, align=update.alignment)
    if rmw in _INTRINSICS:
        assert isinstance(value.type, IntType)
        signature = FunctionType(value.type, (value.type, value.type))
        function = builder.module.declare(f"{_INTRINSICS[rmw]}.i{value.type.bits}", signature)
        new = builder.call(function, (old, value))
    else:
        new = builder.binary(rmw, old, value)
    builder.store(new, pointer, align=update.alignment)
    return old

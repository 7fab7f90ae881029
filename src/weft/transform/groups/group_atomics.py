"""Atomic operations on shared memory: a work-group runs on one thread of the processor, so no other one sees them.

They become loads, operations and stores, without the bus locks of the machine's atomic instructions. Lanes and lane
groups of the work-group run one after the other there, as they do around any other access.

Precondition: plain LLVM IR, in which each atomic operation is made for one lane. Postcondition: no atomic operation on
shared memory is left but those that are volatile, order other accesses, or have no plain form. Preserves what a
work-group does as long as one thread of the processor runs it.
"""

from __future__ import annotations

from weft.ir import Builder, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.intrinsics import PURE, SHARED_SPACE
from weft.ir.types import BF16, FloatType, FunctionType, PointerType, VectorType

_BINARY = frozenset({"add", "sub", "and", "or", "xor", "fadd", "fsub"})
_CHOSEN = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}
_EXTREMA = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}


def make_group_atomics_plain(function: Function) -> bool:
    """Replace the atomic operations of `function` on shared memory, as far as plain instructions do the same."""
    own = [
        i
        for i in function.instructions()
        if (i.op == "atomicrmw" and _is_own(i, "ordering")) or (i.op == "cmpxchg" and _is_own(i, "success"))
    ]
    for instruction in own:
        (_replace_update if instruction.op == "atomicrmw" else _replace_exchange)(instruction)
    return bool(own)


def _is_own(atomic: Instruction, ordering: str) -> bool:
    type = atomic.pointer.type
    relaxed = atomic.attrs[ordering] == "monotonic" and not atomic.attrs.get("volatile")
    return relaxed and isinstance(type, PointerType) and type.space == SHARED_SPACE


def _replace_update(atomic: Instruction) -> None:
    pointer, value = atomic.operands
    rmw = atomic.attrs["rmw"]
    if rmw not in _BINARY | _CHOSEN.keys() | _EXTREMA.keys() | {"xchg"} or isinstance(value.type, VectorType):
        return
    builder = _builder(atomic)
    old = builder.load(value.type, pointer, align=atomic.alignment)
    new: Value = value
    if rmw in _BINARY:
        new = builder.binary(rmw, old, value)
    elif rmw in _CHOSEN:
        new = builder.select(builder.icmp(_CHOSEN[rmw], old, value), old, value)
    elif isinstance(value.type, FloatType) and rmw in _EXTREMA:
        new = builder.call(_extremum(builder, rmw, value.type), (old, value))
    builder.store(new, pointer, align=atomic.alignment)
    replace_and_erase(atomic, old)


def _extremum(builder: Builder, rmw: str, type: FloatType) -> Function:
    name = f"llvm.{_EXTREMA[rmw]}.{'b' if type is BF16 else ''}f{type.bits}"
    return builder.module.declare(name, FunctionType(type, (type, type)), PURE)


def _replace_exchange(exchange: Instruction) -> None:
    pointer, expected, new = exchange.operands
    users = list(exchange.instruction_users())
    if any(user.op != "extractvalue" for user in users):
        return
    builder = _builder(exchange)
    old = builder.load(new.type, pointer, align=exchange.alignment)
    same = builder.icmp("eq", old, expected)
    builder.store(builder.select(same, new, old), pointer, align=exchange.alignment)
    for user in users:
        replace_and_erase(user, old if user.attrs["indices"] == (0,) else same)
    exchange.erase()


def _builder(atomic: Instruction) -> Builder:
    builder = Builder(before=atomic)
    builder.loc = atomic.loc
    return builder

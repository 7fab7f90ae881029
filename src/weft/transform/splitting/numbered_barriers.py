"""Barriers with a number, at which some lane groups of a work-group meet while others go on.

``weft.barrier.some(a, n)`` waits until lane groups of `n` threads have come to barrier `a`, each of them counting with
all its lanes, and ``weft.barrier.arrive(a, n)`` counts without waiting. Who runs the continuations
(`weft.codegen.work_groups.scheduled`) counts those that wait; those that go on count themselves, in the votes record.

Precondition: control-uniform P-LLVM of one kernel. Postcondition of `lower_arrivals`: no arrival is left.
"""

from __future__ import annotations

from weft.ir import TRUE, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.intrinsics import ARRIVE, BARRIER_NUMBERS, declare, is_numbered_barrier
from weft.ir.types import I8, I32, I64, FunctionType

WAITS = 24
"""Byte offset in the votes record: i64, where the lane group waits, the barrier in the upper half, the threads in the
lower one."""

ARRIVED_AT = 128
"""Byte offset in the votes record: for each number of a barrier an i64, the threads that have ever arrived there."""

STATE_END = ARRIVED_AT + 8 * BARRIER_NUMBERS
"""Where the votes record ends."""


def drop_arrivals(function: Function) -> None:
    """Erase the arrivals of a function without a barrier: nobody waits for them."""
    for call in _arrivals(function):
        call.erase()


def lower_arrivals(module: Module, kernel: Function, votes: Value, lanes: int) -> None:
    """Let arrivals count the lane group where the driver of the continuations looks."""
    for call in _arrivals(kernel):
        builder = Builder(before=call)
        builder.loc = call.loc
        active = builder.call(declare(module, "weft.active"), ())
        number = _of_lane_group(module, builder, call.args[0], active)
        builder.total = lanes > 1
        is_there = builder.icmp("ne", active, ConstInt(I64, 0))
        number = builder.select(is_there, number, ConstInt(I32, 0))
        threads = builder.select(is_there, ConstInt(I64, lanes), ConstInt(I64, 0))
        at = arrived_at(builder, votes, builder.cast("zext", number, I64))
        builder.store(builder.binary("add", builder.load(I64, at, align=8), threads), at, align=8)
        call.erase()


def note_wait(builder: Builder, barrier: Instruction, votes: Value) -> None:
    """Write down at which barrier the lane group waits, and for how many threads; others wait for all at barrier 0."""
    where: Value = ConstInt(I64, 0)
    if is_numbered_barrier(barrier.callee_name):
        number, threads = (builder.cast("zext", a, I64) for a in barrier.args)
        where = builder.binary("or", builder.binary("shl", number, ConstInt(I64, 32)), threads)
    at = builder.gep(I8, votes, (ConstInt(I64, WAITS),), ("inbounds", "nuw"))
    builder.store(where, at, align=8)


def arrived_at(builder: Builder, votes: Value, number: Value) -> Value:
    """The address of a barrier's count."""
    counts = builder.gep(I8, votes, (ConstInt(I64, ARRIVED_AT),), ("inbounds", "nuw"))
    return builder.gep(I64, counts, (number,), ("inbounds", "nuw"))


def _of_lane_group(module: Module, builder: Builder, number: Value, active: Value) -> Value:
    """A number of the active lanes, which is the same in them."""
    if isinstance(number, ConstInt):
        return number
    zeros = module.declare("llvm.cttz.i64", FunctionType(I64, (I64, TRUE.type)), ("memory(none)", "nounwind"))
    first = builder.cast("trunc", builder.call(zeros, (active, TRUE)), I32)
    return builder.call(declare(module, "weft.extract.i32"), (number, first))


def _arrivals(function: Function) -> list[Instruction]:
    return [i for i in function.instructions() if i.callee_name == ARRIVE]

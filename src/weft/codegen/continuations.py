"""Work-group loops of kernels with barriers: continuation after continuation (Karrenberg and Hack, Fig. 4)."""

from __future__ import annotations

from weft.codegen.group_values import GroupValues
from weft.codegen.launch_record import ErrorCode
from weft.codegen.loops import counted_loop
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.types import I8, I32, I64, pointer
from weft.transform.barriers import FINISHED, BarrierProgram


def run_continuations(
    group: GroupValues, program: BarrierProgram, arena: Value, frames: Value, error: Value, group_index: Value
) -> None:
    """Run continuation after continuation for the whole group until every thread is finished.

    ``states`` holds for each thread the number its last continuation returned. A round runs one continuation for
    the threads that are not finished; `seen` is the barrier they all must report.
    """
    builder, function, size = group.builder, group.function, group.local_size
    zero = ConstInt(I64, 0)
    plane = builder.binary("mul", size[0], size[1])
    threads = builder.binary("mul", plane, size[2])
    states = builder.gep(I8, frames, (builder.binary("mul", threads, ConstInt(I64, program.frame_bytes)),))
    with counted_loop(builder, function, zero, threads, "init") as i:
        builder.store(ConstInt(I32, -1), builder.gep(I32, states, (i,)), align=4)
    votes = arena
    last_votes = builder.gep(I8, arena, (ConstInt(I64, 4),))
    builder.store(ConstInt(I32, 0), votes, align=4)

    before = builder.block
    round_block = function.add_block("round")
    assert before is not None
    builder.br(round_block)
    builder.at_end(round_block)
    current = builder.phi(I32, "barrier")
    current.add_incoming(ConstInt(I32, 0), before)
    next_round = function.add_block("round.next")
    group_done = function.add_block("group.finished")
    seen = Builder(next_round).phi(I32, "seen")
    unknown = function.add_block("round.unreachable")
    Builder(unknown).unreachable()
    cases = [function.add_block(f"continuation.{k}") for k in range(len(program.continuations))]
    builder.switch(current, unknown, list(enumerate(cases)))
    for case, continuation in zip(cases, program.continuations, strict=True):
        builder.at_end(case)
        result = _run_one(group, program, continuation.function, frames, states, votes, error, group_index)
        assert builder.block is not None
        seen.add_incoming(result, builder.block)
        builder.br(next_round)
    builder.at_end(next_round)
    builder.store(builder.load(I32, votes, align=4), last_votes, align=4)
    builder.store(ConstInt(I32, 0), votes, align=4)
    current.add_incoming(seen, next_round)
    builder.cond_br(builder.icmp("eq", seen, ConstInt(I32, FINISHED)), group_done, round_block)
    builder.at_end(group_done)


def _run_one(
    group: GroupValues,
    program: BarrierProgram,
    continuation: Function,
    frames: Value,
    states: Value,
    votes: Value,
    error: Value,
    group_index: Value,
) -> Value:
    """Run one continuation for each unfinished thread; the barrier they reached, or `FINISHED`."""
    builder, function, size = group.builder, group.function, group.local_size
    zero, finished = ConstInt(I64, 0), ConstInt(I32, FINISHED)
    seen = function.entry.insert(
        0, Instruction("alloca", pointer(), (ConstInt(I32, 1),), attrs={"allocated_type": I32})
    )
    builder.store(finished, seen, align=4)
    with (
        counted_loop(builder, function, zero, size[2], "tz") as z,
        counted_loop(builder, function, zero, size[1], "ty") as y,
        counted_loop(builder, function, zero, size[0], "tx") as x,
    ):
        row = builder.binary("add", builder.binary("mul", z, size[1]), y)
        thread = builder.binary("add", builder.binary("mul", row, size[0]), x)
        state = builder.gep(I32, states, (thread,))
        run, skip = function.add_block("run"), function.add_block("next.thread")
        builder.cond_br(builder.icmp("ne", builder.load(I32, state, align=4), finished), run, skip)
        builder.at_end(run)
        offset = builder.binary("mul", thread, ConstInt(I64, program.frame_bytes))
        frame = builder.gep(I8, frames, (offset,))
        reached = builder.call(continuation, [*group.thread_args([x, y, z]), frame, votes])
        builder.store(reached, state, align=4)
        check, note = function.add_block("check"), function.add_block("note")
        builder.cond_br(builder.icmp("eq", reached, finished), skip, check)
        builder.at_end(check)
        before = builder.load(I32, seen, align=4)
        first = builder.icmp("eq", before, finished)
        same = builder.icmp("eq", before, reached)
        diverged = function.add_block("diverged")
        builder.cond_br(builder.select(first, first, same), note, diverged)
        _report_divergence(Builder(diverged), error, group_index, before, reached)
        builder.at_end(note)
        builder.store(reached, seen, align=4)
        builder.br(skip)
        builder.at_end(skip)
    return builder.load(I32, seen, align=4)


def _report_divergence(builder: Builder, error: Value, group: Value, a: Value, b: Value) -> None:
    """Fill the error record with the group and the two barriers, and leave the entry point."""
    for i, value in enumerate((group, builder.cast("zext", a, I64), builder.cast("zext", b, I64))):
        builder.store(value, builder.gep(I64, error, (ConstInt(I64, i),)), align=8)
    builder.ret(ConstInt(I32, ErrorCode.BARRIER_DIVERGENCE))

"""Iterations of a parallel loop that allocate do so in frames of their own (`weft.ir.heap`).

A frame is one function's on one thread. Precondition: a loop that may run in parallel. Postcondition: what it does
with a frame from outside it does with one that begins and ends in the iteration, and hands on only an error. Under FR.
"""

from __future__ import annotations

from weft.analysis.loops.parallel_loops import ParallelLoop, captured_by
from weft.ir import Builder, Instruction, Module
from weft.ir.heap import FRAME, declare, heap_call
from weft.ir.intrinsics import lifetime_start


def privatize_frames(module: Module, parallel: ParallelLoop) -> tuple[Instruction, ...]:
    """Give iterations their own frames; the new stack objects."""
    loop = parallel.loop
    function = loop.header.function
    assert function is not None
    inside = set(loop.blocks)
    made: list[Instruction] = []
    for frame in captured_by(loop):
        if not isinstance(frame, Instruction) or frame.op != "alloca" or frame in parallel.private:
            continue
        if not any(heap_call(user) for user in frame.instruction_users()):
            continue
        own = Builder(before=function.entry.instructions[0]).alloca(FRAME, align=8, name="frame.iteration")
        for call in [user for user in frame.instruction_users() if user.block in inside]:
            # What the loop itself keeps and sweeps is younger than a mark from before it.
            assert heap_call(call) != "enter", "the frame of a function inlined in the loop is its own"
            mark = call.operands[1] if heap_call(call) in ("keep", "sweep") else None
            if isinstance(mark, Instruction) and mark.block not in inside:
                call.erase()
            else:
                call.replace_operand(frame, own)
        first = Builder.after_phis(loop.header)
        first.call(lifetime_start(module), (own,))
        first.call(declare(module, "enter"), (own,))
        last = Builder(before=loop.latch.terminator)
        last.call(declare(module, "leave"), (own, frame))
        made.append(own)
    return tuple(made)

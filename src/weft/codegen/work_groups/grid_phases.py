"""Work-groups that wait for each other: all of them run in phases, each up to a barrier of the grid.

Each group has scratch memory of its own, in which its frames and shared memory stay while it waits. A phase runs every
group that is not finished from where it waits to its next barrier of the grid, or to its end. All groups that wait must
do so at the same barrier; those that have returned do not count.

Precondition: a program of continuations of which some end at barriers of the grid; the launch gives all groups to one
call of the entry point. Postcondition: no group passes a barrier of the grid before all that are left have come to it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from weft.codegen.arena import RESUMED_BYTES
from weft.codegen.launch_record import ErrorCode
from weft.codegen.loops import variable
from weft.codegen.work_groups.arena_code import emit_bytes
from weft.codegen.work_groups.divergence_report import report_divergence
from weft.codegen.work_groups.group_program import GroupEntry
from weft.ir import Builder, ConstInt, Value
from weft.ir.types import I8, I32, I64
from weft.transform.splitting.barriers import FINISHED

_ENDED = ConstInt(I32, -1)


def run_in_phases(entry: GroupEntry, run: Callable[..., None]) -> None:
    """Build the phases; `run` runs a group on, given its values, scratch memory, and where it says how it went on."""
    builder, function = entry.values.builder, entry.values.function
    size = emit_bytes(entry.layout.needs, builder, entry.values.local_size, entry.layout.dynamic_bytes)
    seen = variable(function, I32)

    def place(builder: Builder, number: Value) -> tuple[Value, Value]:
        arena = builder.gep(I8, entry.arena, (builder.binary("mul", number, size),))
        behind = builder.gep(I8, arena, (builder.binary("sub", size, _i64(RESUMED_BYTES)),))
        return arena, behind

    with entry.each_group() as (_, number):
        _, resumed = place(builder, number)
        builder.store(ConstInt(I32, 0), resumed, align=4)
        builder.store(ConstInt(I32, 0), builder.gep(I32, resumed, (_i64(1),)), align=4)
    phase, done = function.add_block("phase"), function.add_block("phases.done")
    builder.br(phase)
    builder.at_end(phase)
    finished = ConstInt(I32, FINISHED)
    builder.store(finished, seen, align=4)
    with entry.each_group() as (group, number):
        arena, resumed = place(builder, number)
        left, skip = function.add_block("group.left"), function.add_block("group.skip")
        ended = builder.icmp("eq", builder.load(I32, resumed, align=4), _ENDED)
        builder.cond_br(ended, skip, left)
        builder.at_end(left)
        shared, dynamic, frames = entry.layout.parts(builder, arena)
        own = replace(group, shared=shared, dynamic=dynamic)
        run(own, arena=arena, scratch=frames, error=entry.error, number=number, resumed=resumed)
        reached = builder.load(I32, resumed, align=4)
        ends, waits = function.add_block("group.ends"), function.add_block("group.waits")
        builder.cond_br(builder.icmp("eq", reached, finished), ends, waits)
        builder.at_end(ends)
        builder.store(_ENDED, resumed, align=4)
        builder.br(skip)
        builder.at_end(waits)
        before = builder.load(I32, seen, align=4)
        first = builder.icmp("eq", before, finished)
        same = builder.icmp("eq", before, reached)
        note, diverged = function.add_block("group.note"), function.add_block("grid.diverged")
        builder.cond_br(builder.select(first, first, same), note, diverged)
        end = Builder(diverged)
        report_divergence(end, entry.error, number, before, reached)
        end.ret(ConstInt(I32, ErrorCode.BARRIER_DIVERGENCE))
        builder.at_end(note)
        builder.store(reached, seen, align=4)
        builder.br(skip)
        builder.at_end(skip)
    waiting = builder.icmp("ne", builder.load(I32, seen, align=4), finished)
    builder.cond_br(waiting, phase, done)
    builder.at_end(done)


def _i64(value: int) -> ConstInt:
    return ConstInt(I64, value)

"""Work-group loops of kernels with barriers: continuation after continuation (Karrenberg and Hack, Fig. 4).

A work-group runs in rounds. Each round runs one continuation for all lane groups that are not finished; they all must
report the same barrier, and its continuation is what the next round runs. ``live`` holds for each lane group a bit for
each of its threads that has not returned. Where only a part of these arrives at a barrier, or none, `settling` runs
the others on. If it is known that all threads pass the same barriers and return together, nothing is noted or compared.

Precondition: continuations as `weft.transform.splitting.barriers` leaves them, widened or for one thread.
Postcondition: rounds in the loops of `weft.codegen.work_groups.groups` that run them in the order of the barriers, or
end with an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from weft.codegen.arena import ArenaNeeds
from weft.codegen.launch_record import STATE_BYTES, ErrorCode
from weft.codegen.loops import two_arms, variable
from weft.codegen.order.lane_order import LaneGroupValues, all_lanes, count_lane_groups, each_lane_group
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.divergence_report import report_divergence
from weft.codegen.work_groups.grid_phases import run_in_phases
from weft.codegen.work_groups.group_program import GroupEntry, GroupProgram
from weft.codegen.work_groups.group_values import GroupValues
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I8, I32, I64, Type
from weft.transform.groups.work_items import WORK_ITEM_PARAMETERS, WorkItems
from weft.transform.splitting.barriers import FINISHED, FRAME_PARAMETERS, BarrierProgram
from weft.transform.splitting.continuations import ARRIVED, VOTED

AT_BARRIERS = len(WORK_ITEM_PARAMETERS) + len(FRAME_PARAMETERS)
"""How many parameters continuations have behind those of the kernel."""

LEFT = 16
"""Byte offset in the votes record: i64, the lanes that `settle` leaves unfinished."""

SHORT = 256
"""Instructions of a continuation for which code of its own pays where rows are one lane group each. Guess."""

DIVERGED = -1
"""What `settle` returns when threads of the lane group have arrived at different barriers."""


class LaneContinuation(Struct, frozen=True):
    """A continuation for lane groups: `full` runs all threads, `masked` those whose bits its last argument has.

    There is no `masked` with one lane, or where no lane group runs in part.
    """

    full: Function
    masked: Function | None = None


class GroupContinuations(GroupProgram, frozen=True):
    """A kernel with barriers as code for lane groups.

    Parameters
    ----------
    lanes
        The lanes of a lane group: so many threads along x, y and z, unless they are `linear`.
    parts
        The continuations by the number of the barrier that they follow.
    split
        How the kernel was split: what is kept across its barriers, and where.
    settle
        Runs on the lanes that did not arrive at a barrier with others; None where all always do.
    linear
        Whether lane groups are of consecutive linear numbers (`weft.codegen.order.lane_order`).
    multiple
        Rows of work-groups have a multiple of so many threads.
    in_step
        Whether all threads of a work-group pass the same barriers, and return in the same round.
    """

    lanes: LaneSpace
    parts: tuple[LaneContinuation, ...]
    split: BarrierProgram
    settle: Function | None = None
    linear: bool = False
    multiple: int = 1
    in_step: bool = False

    @property
    def width(self) -> int:
        """Threads of a lane group."""
        return self.lanes.width

    @property
    def lines(self) -> tuple[int, ...]:
        """The source line of each barrier."""
        return self.split.lines

    @property
    def functions(self) -> list[Function]:
        """The continuations' code."""
        return [f for part in self.parts for f in (part.full, part.masked) if f is not None]

    @property
    def row_multiple(self) -> int:
        return self.multiple

    @property
    def barrier_width(self) -> int:
        return self.width

    @property
    def parameters(self) -> int:
        return AT_BARRIERS

    def run(self, entry: GroupEntry) -> None:
        if self.split.of_grid:
            run_in_phases(entry, self.run_group)
            return
        with entry.each_group() as (group, number):
            self.run_group(group, entry.arena, entry.frames, entry.error, number)

    def run_group(
        self,
        group: GroupValues,
        arena: Value,
        scratch: Value,
        error: Value,
        number: Value,
        resumed: Value | None = None,
    ) -> None:
        """Build what runs a work-group; parameters as for `run_continuations`."""
        run_continuations(group, self, arena, scratch, error, number, resumed)

    def arena(self, fixed: int) -> ArenaNeeds:
        """What a work-group needs beside `fixed` bytes: frames, live lanes, and what is kept once for all."""
        frame, common = self.split.frame_bytes, self.split.common_bytes
        aside = frame if self.settle is not None else 0
        state = 0 if self.in_step else 8
        resident = bool(self.split.of_grid)
        return ArenaNeeds(fixed + aside + 2 * common, frame + state, self.lanes.extents, resident)


def thread_by_thread(program: BarrierProgram) -> GroupContinuations:
    """The continuations as they are, for lane groups of one thread."""
    parts = tuple(LaneContinuation(c.function) for c in program.continuations)
    return GroupContinuations(LaneSpace((1,)), parts, program)


def run_continuations(
    group: GroupValues,
    program: GroupContinuations,
    arena: Value,
    scratch: Value,
    error: Value,
    number: Value,
    resumed: Value | None = None,
) -> None:
    """Run continuation after continuation for the whole group until every thread is finished.

    `arena` begins with the votes record, and frames are put at `scratch`; `number` is the group's linear index. With
    `resumed`, two i32 in memory say where the group goes on, and afterwards at which barrier of the grid it waits.
    """
    builder, function = group.builder, group.function
    lane_groups = count_lane_groups(group, program.lanes, program.linear)
    frames = builder.gep(I8, scratch, (_i64(2 * program.split.common_bytes),))
    live = builder.gep(I8, frames, (builder.binary("mul", lane_groups, _i64(program.split.frame_bytes)),))
    aside = builder.gep(I64, live, (lane_groups,))
    rounds = Rounds(group, program, arena, scratch, frames, live, aside, error, number)
    voted = builder.gep(I8, arena, (_i64(VOTED),))
    builder.store(ConstInt(I32, 0), arena, align=4)

    first, known_first = _start(builder, resumed, program.split.common_bytes)
    before = builder.block
    round_block = function.add_block("round")
    assert before is not None
    builder.br(round_block)
    builder.at_end(round_block)
    current = builder.phi(I32, "barrier")
    current.add_incoming(first, before)
    # What one round keeps for all lane groups is read by the next one, and each is still read while others write.
    known = builder.phi(I64, "common.at")
    known.add_incoming(known_first, before)
    next_round = function.add_block("round.next")
    group_done = function.add_block("group.finished")
    seen = Builder(next_round).phi(I32, "seen")
    unknown = function.add_block("round.unreachable")
    Builder(unknown).unreachable()
    cases = [function.add_block(f"continuation.{k}") for k in range(len(program.parts))]
    builder.switch(current, unknown, list(enumerate(cases)))
    for k, case in enumerate(cases):
        builder.at_end(case)
        result = rounds.run(k, known)
        assert builder.block is not None
        seen.add_incoming(result, builder.block)
        builder.br(next_round)
    builder.at_end(next_round)
    builder.store(builder.load(I32, arena, align=4), voted, align=4)
    builder.store(ConstInt(I32, 0), arena, align=4)
    current.add_incoming(seen, next_round)
    known_next = builder.binary("sub", _i64(program.split.common_bytes), known)
    known.add_incoming(known_next, next_round)
    finished: Value = builder.icmp("eq", seen, ConstInt(I32, FINISHED))
    stops = finished
    for barrier in sorted(program.split.of_grid):
        stops = builder.binary("or", stops, builder.icmp("eq", seen, ConstInt(I32, barrier)))
    builder.cond_br(stops, group_done, round_block)
    builder.at_end(group_done)
    if resumed is not None:
        builder.store(seen, resumed, align=4)
        swapped = builder.cast("zext", builder.icmp("ne", known_next, _i64(0)), I32)
        builder.store(swapped, builder.gep(I32, resumed, (_i64(1),)), align=4)


def _start(builder: Builder, resumed: Value | None, common_bytes: int) -> tuple[Value, Value]:
    """The continuation that a group begins with, and which of the two places for values kept once is read."""
    if resumed is None:
        return ConstInt(I32, 0), _i64(0)
    swapped = builder.icmp(
        "ne", builder.load(I32, builder.gep(I32, resumed, (_i64(1),)), align=4), ConstInt(I32, 0)
    )
    return (
        builder.load(I32, resumed, align=4),
        builder.select(swapped, _i64(common_bytes), _i64(0)),
    )


class Rounds(Struct):
    """Builds the round of each continuation."""

    group: GroupValues
    program: GroupContinuations
    votes: Value
    common: Value
    frames: Value
    live: Value
    aside: Value
    error: Value
    number: Value

    def run(self, k: int, common_at: Value) -> Value:
        """Run continuation `k` for each unfinished lane group; the barrier they reached, or `FINISHED`."""
        if self.program.in_step:
            return self._run_in_step(k, common_at)
        builder, function = self.group.builder, self.group.function
        finished = ConstInt(I32, FINISHED)
        seen = variable(self.group.function, I32)
        builder.store(finished, seen, align=4)
        with self._lane_groups(k) as lanes:
            state = builder.gep(I64, self.live, (lanes.index,))
            skip = function.add_block("next.lanes")
            live = lanes.lanes if self.program.parts[k].masked else all_lanes(self.program.width)
            if k:
                live = builder.load(I64, state, align=8)
                run = function.add_block("run")
                builder.cond_br(builder.icmp("ne", live, _i64(0)), run, skip)
                builder.at_end(run)
            reached, left = self.run_lane_group(k, lanes, live, common_at)
            builder.store(left, state, align=8)
            check, note = function.add_block("check"), function.add_block("note")
            builder.cond_br(builder.icmp("eq", reached, finished), skip, check)
            builder.at_end(check)
            before = builder.load(I32, seen, align=4)
            first = builder.icmp("eq", before, finished)
            same = builder.icmp("eq", before, reached)
            diverged = function.add_block("diverged")
            builder.cond_br(builder.select(first, first, same), note, diverged)
            end = Builder(diverged)
            report_divergence(end, self.error, self.number, before, reached)
            end.ret(ConstInt(I32, ErrorCode.BARRIER_DIVERGENCE))
            builder.at_end(note)
            builder.store(reached, seen, align=4)
            builder.br(skip)
            builder.at_end(skip)
        return builder.load(I32, seen, align=4)

    def run_lane_group(
        self, k: int, lanes: LaneGroupValues, live: Value, common_at: Value
    ) -> tuple[Value, Value]:
        """Run continuation `k` for the live lanes of one lane group: the barrier it has reached, and who is there."""
        builder = self.group.builder
        arguments = self._arguments(lanes, common_at)
        reached = self._call(self.program.parts[k], arguments, live)
        finished = builder.icmp("eq", reached, ConstInt(I32, FINISHED))
        left = builder.select(finished, _i64(0), live)
        if self.program.settle is None:
            return reached, left
        return self._settle(self.program.settle, arguments, live, reached, left)

    def _run_in_step(self, k: int, common_at: Value) -> Value:
        """The same where all lane groups reach the same barrier, whichever it is."""
        builder, program = self.group.builder, self.program
        seen = variable(self.group.function, I32)

        def run(rounds: Rounds) -> None:
            with rounds._lane_groups(k) as lanes:
                arguments = rounds._arguments(lanes, common_at)
                builder.store(rounds._call(program.parts[k], arguments, lanes.lanes), seen, align=4)

        row, *others = self.group.local_size
        width = _i64(program.width)
        if not isinstance(row, ConstInt) and self._has_short_rows(k):
            with two_arms(builder, self.group.function, builder.icmp("eq", row, width)) as otherwise:
                run(replace(self, group=replace(self.group, local_size=[width, *others])))
                otherwise()
                run(self)
        else:
            run(self)
        ends = program.split.continuations[k].ends
        return builder.load(I32, seen, align=4) if len(ends) > 1 else ConstInt(I32, *ends)

    def _has_short_rows(self, k: int) -> bool:
        """Whether continuation `k` is so short that a loop along rows of one lane group is much beside it.

        Without that loop LLVM unrolls the one over rows.
        """
        full, program = self.program.parts[k].full, self.program
        if program.linear or len(program.lanes.extents) != 1 or not WorkItems.of(full).tid[1].is_used:
            return False
        return sum(1 for _ in full.instructions()) <= SHORT and not loop_forest(cfg_of(full).cfg).loops

    def _lane_groups(self, k: int) -> AbstractContextManager[LaneGroupValues]:
        """The loops over the lane groups that run continuation `k`."""
        part, program = self.program.parts[k], self.program
        functions = [f for f in (part.full, part.masked, program.settle) if f is not None]
        alike = not any(a.is_used for f in functions for a in WorkItems.of(f).tid[1:])
        return each_lane_group(self.group, program.lanes, program.linear, alike)

    def _arguments(self, lanes: LaneGroupValues, common_at: Value) -> list[Value]:
        """What a continuation is called with."""
        builder = self.group.builder
        offset = builder.binary("mul", lanes.index, _i64(self.program.split.frame_bytes))
        frame = builder.gep(I8, self.frames, (offset,))
        return [*self.group.thread_args(lanes.tid), frame, self.votes, self.common, common_at]

    def _call(self, part: LaneContinuation, arguments: Sequence[Value], live: Value) -> Value:
        """Run a continuation for the live lanes."""
        builder = self.group.builder
        if part.masked is None or live == all_lanes(self.program.width):
            return builder.call(part.full, arguments)
        whole, some, after = (self.group.function.add_block(f"lanes.{n}") for n in ("whole", "some", "done"))
        builder.cond_br(builder.icmp("eq", live, all_lanes(self.program.width)), whole, some)
        builder.at_end(whole)
        from_whole = builder.call(part.full, arguments)
        builder.br(after)
        builder.at_end(some)
        from_some = builder.call(part.masked, [*arguments, live])
        builder.br(after)
        builder.at_end(after)
        return _phi(builder, I32, {whole: from_whole, some: from_some})

    def _settle(
        self, settle: Function, arguments: Sequence[Value], live: Value, reached: Value, left: Value
    ) -> tuple[Value, Value]:
        """Where not all live lanes arrived at the barrier, run on the others; what the lane group has reached then."""
        builder, function = self.group.builder, self.group.function
        before = builder.block
        assert before is not None
        waits = builder.icmp("ne", reached, ConstInt(I32, FINISHED))
        arrived = builder.load(I64, _field(builder, self.votes, ARRIVED), align=8)
        apart = builder.binary("and", waits, builder.icmp("ne", arrived, live))
        settling, settled, after = (function.add_block(n) for n in ("settle", "settled", "whole"))
        builder.cond_br(apart, settling, after)
        builder.at_end(settling)
        outcome = builder.call(settle, [*arguments, self.aside, live, reached, self.error, self.number])
        failed = function.add_block("diverged")
        Builder(failed).ret(ConstInt(I32, ErrorCode.BARRIER_DIVERGENCE))
        builder.cond_br(builder.icmp("eq", outcome, ConstInt(I32, DIVERGED)), failed, settled)
        builder.at_end(settled)
        remaining = builder.load(I64, _field(builder, self.votes, LEFT), align=8)
        builder.br(after)
        builder.at_end(after)
        return (
            _phi(builder, I32, {before: reached, settled: outcome}),
            _phi(builder, I64, {before: left, settled: remaining}),
        )


def _field(builder: Builder, votes: Value, offset: int) -> Value:
    return builder.gep(I8, votes, (_i64(offset),), ("inbounds",))


def _phi(builder: Builder, type: Type, values: dict[BasicBlock, Value]) -> Instruction:
    phi = builder.phi(type)
    for block, value in values.items():
        phi.add_incoming(value, block)
    return phi


def _i64(value: int) -> ConstInt:
    return ConstInt(I64, value)


assert LEFT + 8 <= STATE_BYTES

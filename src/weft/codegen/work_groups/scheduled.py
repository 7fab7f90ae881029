"""Work-groups whose lane groups wait at barriers for some of the others only.

Each lane group is at a continuation of its own. In a round every lane group that waits for nobody runs its next
continuation; what it arrives at counts it, and says how many arrivals it waits for: the next multiple of the number of
threads that the barrier has (`weft.transform.splitting.numbered_barriers`). A barrier for all opens when nobody else
can run. If all that are left wait and no barrier opens, the launch ends with an error, as on a GPU it would not end.

Precondition: continuations as `weft.codegen.work_groups.vectorize_barriers` makes them, none of whose values is kept
once for the whole work-group. Postcondition: as of `weft.codegen.work_groups.continuations`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from msgspec import Struct

from weft.codegen.arena import ArenaNeeds
from weft.codegen.launch_record import NOBODY, STATE_BYTES, ErrorCode
from weft.codegen.loops import variable
from weft.codegen.order.lane_order import LaneGroupValues, all_lanes, count_lane_groups, each_lane_group
from weft.codegen.work_groups.continuations import GroupContinuations, Rounds
from weft.codegen.work_groups.divergence_report import report_divergence
from weft.codegen.work_groups.group_values import GroupValues
from weft.diag.errors import UnsupportedError
from weft.ir import BasicBlock, Builder, ConstInt, Value
from weft.ir.intrinsics import BARRIER_NUMBERS
from weft.ir.types import I8, I32, I64
from weft.transform.splitting.numbered_barriers import STATE_END, WAITS, arrived_at

LIVE, NEXT, BARRIER, UNTIL = 0, 8, 16, 24
"""Byte offsets in what is known of a lane group, of i64 each: its live lanes, its next continuation, the barrier where
it waits, the arrivals that it waits for."""

GROUP_STATE = 32

EVERYBODY = -1
"""It waits for all threads of the work-group: more arrivals than there ever are."""

NOT_YET, DIFFERENT = -1, -2
"""Instead of the barrier for all at which everyone waits: nobody has been seen; they wait elsewhere, too."""


class ScheduledContinuations(GroupContinuations, frozen=True):
    """A kernel with numbered barriers as code for lane groups."""

    def run_group(
        self,
        group: GroupValues,
        arena: Value,
        scratch: Value,
        error: Value,
        number: Value,
        resumed: Value | None = None,
    ) -> None:
        if resumed is not None:
            raise UnsupportedError(
                "the kernel has barriers for some warps of a block beside barriers of the grid",
                self.split.spans[0],
                "let all threads of a block wait: bar.sync without a number of threads",
            )
        _Schedule.of(group, self, arena, scratch, error, number).build()

    def arena(self, fixed: int) -> ArenaNeeds:
        frame = self.split.frame_bytes
        aside = frame if self.settle is not None else 0
        return ArenaNeeds(fixed + aside, frame + GROUP_STATE, self.lanes.extents)


class _Schedule(Struct):
    """Builds the rounds of a work-group."""

    program: ScheduledContinuations
    rounds: Rounds
    states: Value

    @classmethod
    def of(
        cls,
        group: GroupValues,
        program: ScheduledContinuations,
        arena: Value,
        scratch: Value,
        error: Value,
        number: Value,
    ) -> _Schedule:
        builder = group.builder
        lane_groups = count_lane_groups(group, program.lanes, program.linear)
        frames = builder.binary("mul", lane_groups, _i64(program.split.frame_bytes))
        states = builder.gep(I8, scratch, (frames,))
        aside = builder.gep(I8, states, (builder.binary("mul", lane_groups, _i64(GROUP_STATE)),))
        return cls(
            program, Rounds(group, program, arena, scratch, scratch, states, aside, error, number), states
        )

    @property
    def builder(self) -> Builder:
        return self.rounds.group.builder

    def build(self) -> None:
        """Run rounds until every thread is finished."""
        builder, function = self.builder, self.rounds.group.function
        names = ("round", "left", "stuck", "all.wait", "deadlock", "group.finished")
        round_block, left, stuck, all_wait, deadlock, done = (function.add_block(n) for n in names)
        self._begin()
        seen = _Seen(*(variable(function, I64) for _ in range(4)))
        builder.br(round_block)
        builder.at_end(round_block)
        for place, value in ((seen.unfinished, 0), (seen.ran, 0), (seen.meeting, NOT_YET)):
            builder.store(_i64(value), place, align=8)
        with self._lane_groups() as lanes:
            self._turn(lanes, seen)
        builder.cond_br(self._is(seen.unfinished, 0), done, left)
        builder.at_end(left)
        builder.cond_br(self._is(seen.ran, 0), stuck, round_block)
        builder.at_end(stuck)
        builder.cond_br(self._is(seen.meeting, DIFFERENT), deadlock, all_wait)
        builder.at_end(all_wait)
        with self._lane_groups() as lanes:
            builder.store(_i64(0), self._field(lanes, UNTIL), align=8)
        builder.br(round_block)
        builder.at_end(deadlock)
        at = builder.cast("trunc", builder.load(I64, seen.waiting_at, align=8), I32)
        report_divergence(builder, self.rounds.error, self.rounds.number, at, ConstInt(I32, NOBODY))
        builder.ret(ConstInt(I32, ErrorCode.BARRIER_DIVERGENCE))
        builder.at_end(done)

    def _begin(self) -> None:
        """Nobody has arrived anywhere, and all lane groups are at the kernel's start."""
        builder = self.builder
        for number in range(BARRIER_NUMBERS):
            builder.store(_i64(0), arrived_at(builder, self.rounds.votes, _i64(number)), align=8)
        masked = self.program.parts[0].masked is not None
        with self._lane_groups() as lanes:
            first = lanes.lanes if masked else all_lanes(self.program.width)
            for offset, value in ((LIVE, first), (NEXT, _i64(0)), (BARRIER, _i64(0)), (UNTIL, _i64(0))):
                builder.store(value, self._field(lanes, offset), align=8)

    def _turn(self, lanes: LaneGroupValues, seen: _Seen) -> None:
        """Let a lane group run its next continuation unless it waits."""
        builder, rounds = self.builder, self.rounds
        names = ("lives", "waits", "runs", "behind", "arrives", "next.lanes")
        lives, waits, runs, behind, arrives, over = (rounds.group.function.add_block(n) for n in names)
        live = self._load(lanes, LIVE)
        builder.cond_br(builder.icmp("eq", live, _i64(0)), over, lives)
        builder.at_end(lives)
        builder.store(_i64(1), seen.unfinished, align=8)
        current, until, barrier = (self._load(lanes, offset) for offset in (NEXT, UNTIL, BARRIER))
        arrived = builder.load(I64, arrived_at(builder, rounds.votes, barrier), align=8)
        builder.cond_br(builder.icmp("ult", arrived, until), waits, runs)

        builder.at_end(waits)
        builder.store(current, seen.waiting_at, align=8)
        meeting = builder.load(I64, seen.meeting, align=8)
        here = builder.icmp("eq", meeting, barrier)
        alone = builder.icmp("eq", meeting, _i64(NOT_YET))
        for_all = builder.icmp("eq", until, _i64(EVERYBODY))
        together = builder.binary("and", for_all, builder.binary("or", here, alone))
        builder.store(builder.select(together, barrier, _i64(DIFFERENT)), seen.meeting, align=8)
        builder.br(over)

        builder.at_end(runs)
        builder.store(_i64(1), seen.ran, align=8)
        reached, left = self._run_next(lanes, current, live, behind)
        builder.store(left, self._field(lanes, LIVE), align=8)
        builder.cond_br(builder.icmp("eq", left, _i64(0)), over, arrives)

        builder.at_end(arrives)
        builder.store(builder.cast("zext", reached, I64), self._field(lanes, NEXT), align=8)
        self._arrive(lanes)
        builder.br(over)
        builder.at_end(over)

    def _run_next(
        self, lanes: LaneGroupValues, current: Value, live: Value, behind: BasicBlock
    ) -> tuple[Value, Value]:
        """Run the lane group's continuation: the barrier that it has reached, and its lanes that are left."""
        builder, rounds = self.builder, self.rounds
        function = rounds.group.function
        unknown = function.add_block("turn.unreachable")
        Builder(unknown).unreachable()
        cases = [function.add_block(f"continuation.{k}") for k in range(len(self.program.parts))]
        builder.switch(current, unknown, list(enumerate(cases)))
        ends: list[tuple[Value, Value, BasicBlock]] = []
        for k, case in enumerate(cases):
            builder.at_end(case)
            # Nothing is kept for the whole work-group: it has no memory of its own.
            reached, left = rounds.run_lane_group(k, lanes, live, _i64(0))
            assert builder.block is not None
            ends.append((reached, left, builder.block))
            builder.br(behind)
        builder.at_end(behind)
        result, remaining = builder.phi(I32, "reached"), builder.phi(I64, "left")
        for reached, left, block in ends:
            result.add_incoming(reached, block)
            remaining.add_incoming(left, block)
        return result, remaining

    def _arrive(self, lanes: LaneGroupValues) -> None:
        """Count the lane group at the barrier that it has noted, and see how many arrivals that one waits for."""
        builder, votes = self.builder, self.rounds.votes
        where = builder.load(I64, builder.gep(I8, votes, (_i64(WAITS),), ("inbounds",)), align=8)
        barrier = builder.binary("lshr", where, _i64(32))
        threads = builder.binary("and", where, _i64((1 << 32) - 1))
        for_all = builder.icmp("eq", threads, _i64(0))
        count = arrived_at(builder, votes, barrier)
        before = builder.load(I64, count, align=8)
        own = builder.select(for_all, _i64(0), _i64(self.program.width))
        builder.store(builder.binary("add", before, own), count, align=8)
        divisor = builder.select(for_all, _i64(1), threads)
        full = builder.binary("add", builder.binary("udiv", before, divisor), _i64(1))
        until = builder.select(for_all, _i64(EVERYBODY), builder.binary("mul", full, threads))
        builder.store(barrier, self._field(lanes, BARRIER), align=8)
        builder.store(until, self._field(lanes, UNTIL), align=8)

    def _lane_groups(self) -> AbstractContextManager[LaneGroupValues]:
        return each_lane_group(self.rounds.group, self.program.lanes, self.program.linear)

    def _field(self, lanes: LaneGroupValues, offset: int) -> Value:
        at = self.builder.binary("mul", lanes.index, _i64(GROUP_STATE))
        own = self.builder.gep(I8, self.states, (at,))
        return self.builder.gep(I8, own, (_i64(offset),), ("inbounds",))

    def _load(self, lanes: LaneGroupValues, offset: int) -> Value:
        return self.builder.load(I64, self._field(lanes, offset), align=8)

    def _is(self, variable: Value, value: int) -> Value:
        return self.builder.icmp("eq", self.builder.load(I64, variable, align=8), _i64(value))


class _Seen(Struct, frozen=True):
    """Variables of a round.

    Parameters
    ----------
    unfinished, ran
        Whether lane groups are unfinished, and whether one has run.
    meeting
        The barrier for all at which those are that wait.
    waiting_at
        The continuation behind which one of them goes on.
    """

    unfinished: Value
    ran: Value
    meeting: Value
    waiting_at: Value


def _i64(value: int) -> ConstInt:
    return ConstInt(I64, value)


assert STATE_END <= STATE_BYTES

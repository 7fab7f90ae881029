"""Liveness, intervals and pressure."""

import random

import pytest

from ptx.text import kernel_of
from weft.graph.cfg import reachable
from weft.ptx.flow import Flow, flow_of
from weft.ptx.regalloc.intervals import Interval, intervals_of, pressure_of
from weft.ptx.regalloc.liveness import Liveness, liveness_of
from weft.ptx.regalloc.sizes import register_words
from weft.ptx.registers import kills, reads, writes
from weft.ptx.syntax import Function


def intervals(body: str) -> dict[str, Interval]:
    function = kernel_of(body)
    found = intervals_of(liveness_of(flow_of(function)), register_words(function))
    return {interval.register: interval for interval in found}


def test_a_value_has_a_hole_where_nobody_needs_it():
    found = intervals(
        """
        mov.u32 %r1, 1;
        mov.u32 %r2, 2;
        add.s32 %r3, %r1, %r2;
        mov.u32 %r1, 4;
        add.s32 %r3, %r3, %r1;
        st.global.u32 [%rd1], %r3;
        """
    )
    assert found["%r1"].segments == [(1, 5), (7, 9)]
    assert found["%r2"].segments == [(3, 5)]
    assert found["%r3"].segments == [(5, 11)]
    assert "%rd1" not in found, "nothing has been written there"
    assert found["%r1"].next_use(2) == 4 and found["%r1"].next_use(9) is None
    assert not found["%r2"].overlaps(found["%r3"]), "an operand and the result can share a register"


def test_around_a_loop_values_live_on():
    #  0 -> L;  L -> L | 2
    found = intervals(
        """
        mov.u32 %r1, 1;
        mov.u32 %r2, 5;
        L: add.s32 %r2, %r2, %r1;
        setp.lt.s32 %p1, %r2, 9;
        @%p1 bra L;
        ret;
        """
    )
    assert found["%r1"].segments == [(1, 10)] and found["%r2"].segments == [(3, 10)]
    assert found["%p1"].segments == [(7, 9)] and found["%p1"].words == 0


def test_a_guarded_write_keeps_the_value_before():
    body = "{first} setp.eq.s32 %p1, 1, 2; @%p1 mov.u32 %r1, 3; st.shared.u32 [%r9], %r1;"
    assert intervals(body.format(first="mov.u32 %r1, 7;"))["%r1"].segments == [(1, 7)]
    assert intervals(body.format(first="mov.u32 %r2, 7;"))["%r1"].segments == [(5, 7)]


def test_pressure_counts_words_of_one_file():
    function = kernel_of(
        """
        mov.u32 %r1, 1;
        mov.u64 %rd1, 2;
        mov.u16 %h1, 3;
        setp.eq.u32 %p1, %r1, 4;
        mov.b128 %q1, {%rd1, %rd1};
        @%p1 st.global.b128 [%rd1], %q1;
        st.global.u16 [%rd1], %h1;
        st.global.u32 [%rd1], %r1;
        """
    )
    pressure = pressure_of(liveness_of(flow_of(function)), register_words(function))
    assert (pressure.words, pressure.point, pressure.predicates) == (1 + 2 + 1 + 4, 9, 1)
    assert pressure.by_instruction == (1, 3, 4, 4, 8, 8, 4, 3)


def drawn(rng: random.Random) -> Function:
    """A body of a few blocks, with loops, guards and unreachable code."""
    lines: list[str] = []
    for block in range(5):
        lines.append(f"B{block}:")
        for _ in range(rng.randrange(3)):
            guard = rng.choice(("", "", "@%p1 "))
            a, b, c = (rng.randrange(1, 5) for _ in range(3))
            lines.append(f"{guard}add.s32 %r{a}, %r{b}, %r{c};")
        lines.append(
            rng.choice(("", "@%p1 exit;", "@%p1 bra B{};", "bra B{};", "ret;")).format(rng.randrange(5))
        )
    return kernel_of("\n".join(lines))


def by_paths(flow: Flow) -> list[set[str]]:
    """For each instruction, what is live before it by definition: written on a way to it, and read on a way from it."""
    where = [
        (block, number)
        for block in range(len(flow.blocks))
        for number in range(len(flow.instructions(block)))
    ]
    blocks = [flow.instructions(block) for block in range(len(flow.blocks))]

    def after(block: int, number: int) -> set[tuple[int, int]]:
        """The instructions that may come next."""
        if number + 1 < len(blocks[block]):
            return {(block, number + 1)}
        found, work, seen = set(), list(flow.cfg.succs[block]), set()
        while work:
            at = work.pop()
            if at in seen:
                continue
            seen.add(at)
            if blocks[at]:
                found.add((at, 0))
            else:
                work.extend(flow.cfg.succs[at])
        return found

    start = (0, 0) if blocks[0] else next(iter(after(0, -1)), None)
    live = []
    for point in where:
        needed = set()
        for name in (f"%r{number}" for number in range(1, 5)):
            work, seen = [point], set()
            while work:
                at = work.pop()
                if at in seen:
                    continue
                seen.add(at)
                instruction = blocks[at[0]][at[1]]
                if name in reads(instruction):
                    needed.add(name)
                if name not in kills(instruction):
                    work.extend(after(*at))
            work, seen, there = [start] if start else [], set(), False
            # Ways from the entry that pass a write of the register before the point.
            states = [(at, False) for at in work]
            while states:
                at, has = states.pop()
                if (at, has) in seen:
                    continue
                seen.add((at, has))
                there |= at == point and has
                has |= name in writes(blocks[at[0]][at[1]])
                states.extend((successor, has) for successor in after(*at))
            if not there:
                needed.discard(name)
        live.append(needed)
    return live


@pytest.mark.parametrize("seed", range(25))
def test_liveness_is_what_ways_through_the_program_say(seed):
    flow = flow_of(drawn(random.Random(seed)))
    liveness: Liveness = liveness_of(flow)
    found = [
        {name for name in liveness.names(before) if name[1] == "r"} if there else None
        for block, there in enumerate(reachable(flow.cfg.succs))
        for before, _ in liveness.around(block)
    ]
    assert found == [
        live if there is not None else None for live, there in zip(by_paths(flow), found, strict=True)
    ]

"""A loop over time, of which each step goes through rows, is done wave by wave (skewing, tiling over time).

    for t in a..b:                 for s in a..b by T:
        for i in l..h: A(t, i)         for w in l..max(h, h' + c) + f·(min(s + T, b) - 1 - s):
        for i in l'..h': B(t, i)           for t in s..min(s + T, b):
                                               i = w - f·(t - s);      if l <= i < h: A(t, i)
                                               i = w - f·(t - s) - c;  if l' <= i < h': B(t, i)

A wave holds a row of each of T steps, each f rows behind that of the step before it, and a row of each part of a step,
c behind. T steps then go over the rows together, so what they use stays in the cache; and where rows of one wave do not
depend on each other, they are done at the same time (wavefronts).

Precondition: a loop-closed function; `skewable` says that the loop over time holds nothing but loops, each of which
goes up by 1 over rows that are known before the loop over time, or is done as one row; all counters have one type. The
caller knows that no dependence turns around, and that no sum of bounds, shifts, and f·T wraps around. Postcondition:
the header and the latch of the loop over time are those of the loop over t in a wave. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView
from weft.ir.intrinsics import PURE
from weft.ir.types import FunctionType, IntType
from weft.transform.loops.distribute import Part, Statements, parts_of
from weft.transform.loops.tile_loop import goes_up


class Rows(Struct, frozen=True):
    """A part of a step.

    Parameters
    ----------
    part
        Where it stands.
    loop
        How it goes over rows; None where all of it is one row, the first one of the first part that has rows.
    """

    part: Part
    loop: CountedLoop | None


class TimeNest(Struct, frozen=True):
    """A loop over time, and its parts in their order."""

    time: CountedLoop
    parts: tuple[Rows, ...]

    @property
    def first(self) -> CountedLoop:
        """The first loop over rows."""
        return next(p.loop for p in self.parts if p.loop is not None)


def skewable(view: CFGView, loop: Loop) -> TimeNest | None:
    """A loop over time whose steps go through rows; None for any other."""
    parts = parts_of(view, loop)
    if parts is None or any(isinstance(p, Statements) for p in parts.inside):
        return None
    time = parts.loop
    if not _counts_up(time):
        return None
    around, headed = set(time.blocks), {view.blocks[c.header]: c for c in loop.children}
    rows: list[Rows] = []
    for part in parts.inside:
        assert isinstance(part, Part)
        inner = headed[part.header]
        if not inner.children:
            rows.append(Rows(part, None))
            continue
        counted = counted_loop(view, inner)
        if isinstance(counted, str) or not _counts_up(counted) or counted.counter.type != time.counter.type:
            return None
        if any(
            isinstance(v, Instruction) and v.block in around for v in (counted.counter.start, counted.bound)
        ):
            return None
        rows.append(Rows(part, counted))
    return TimeNest(time, tuple(rows)) if any(r.loop is not None for r in rows) else None


def _counts_up(loop: CountedLoop) -> bool:
    return loop.predicate in ("slt", "sle") and goes_up(loop)


def skew(function: Function, nest: TimeNest, length: int, slope: int, shifts: Sequence[int]) -> BasicBlock:
    """Do a loop over time wave by wave; the header of the loop over strips.

    Parameters
    ----------
    length
        Steps that go over the rows together.
    slope
        By how many rows a step is behind the one before it.
    shifts
        By how many rows each part is behind the first one.
    """
    time = nest.time
    counter, header, type = time.counter, time.header, time.counter.type
    step = function.add_block(f"{header.name}.strips", time.preheader)
    strip = function.add_block(f"{header.name}.strip", step)
    waves = function.add_block(f"{header.name}.waves", strip)
    wave = function.add_block(f"{header.name}.wave", waves)
    next_wave = function.add_block(f"{header.name}.wave.next", time.latch)
    next_strip = function.add_block(f"{header.name}.strip.next", next_wave)
    build = _Sums(Builder(step), type)
    build.at.loc = header.terminator.loc
    before = _Sums(Builder(before=time.preheader.terminator), type)
    before.at.loc = header.terminator.loc
    behind = before.behind(time)
    begin = build.at.phi(type, name=f"{counter.phi.name}.strip")
    build.at.cond_br(build.at.icmp("slt", begin, behind), strip, time.exit)
    build.at.at_end(strip)
    following = build.add(begin, length)
    end = build.least("smin", [following, behind])
    lows, highs = _extent(build, nest, shifts)
    last = build.add(build.subtract(end, begin), -1)
    bound = build.at.binary("add", build.least("smax", highs), build.times(last, slope), ("nsw",))
    first = build.least("smin", lows)
    build.at.br(waves)
    build.at.at_end(waves)
    number = build.at.phi(type, name=f"{nest.first.counter.phi.name}.wave")
    build.at.cond_br(build.at.icmp("slt", number, bound), wave, next_strip)
    build.at.at_end(wave)
    build.at.br(header)
    build.at.at_end(next_wave)
    following_wave = build.add(number, 1)
    build.at.br(waves)
    build.at.at_end(next_strip)
    build.at.br(step)
    begin.add_incoming(counter.start, time.preheader)
    begin.add_incoming(following, next_strip)
    number.add_incoming(first, strip)
    number.add_incoming(following_wave, next_wave)
    time.preheader.replace_successor(header, step)
    for index, source in enumerate(counter.phi.blocks):
        if source is time.preheader:
            counter.phi.set_operand(index, begin)
            counter.phi.set_block(index, wave)
    _end_at(header, time, end)
    header.replace_successor(time.exit, next_wave)
    time.exit.replace_phi_source(header, step)
    for rows, shift in zip(nest.parts, shifts, strict=True):
        before = rows.part.before
        at = _Sums(Builder(before=before.terminator), type)
        at.at.loc = rows.part.header.terminator.loc
        row = at.subtract(number, at.times(at.subtract(counter.phi, begin), slope))
        _do_row(at, rows, at.add(row, -shift), nest.first.counter.start)
    return step


def _extent(build: _Sums, nest: TimeNest, shifts: Sequence[int]) -> tuple[list[Value], list[Value]]:
    """The first waves of parts in the first step, and those behind the last ones."""
    lows: list[Value] = []
    highs: list[Value] = []
    for rows, shift in zip(nest.parts, shifts, strict=True):
        if rows.loop is None:
            only = build.add(nest.first.counter.start, shift)
            lows.append(only)
            highs.append(build.add(only, 1))
        else:
            lows.append(build.add(rows.loop.counter.start, shift))
            highs.append(build.add(build.behind(rows.loop), shift))
    return lows, highs


def _do_row(at: _Sums, rows: Rows, row: Value, only: Value) -> None:
    """Do one row of a part, if it has that row."""
    part, loop = rows.part, rows.loop
    branch = part.before.terminator
    if loop is None:
        at.at.cond_br(at.at.icmp("eq", row, only), part.header, part.behind)
        branch.erase()
        return
    low = at.at.icmp("sge", row, loop.counter.start)
    inside = at.at.binary("and", low, at.at.icmp(loop.predicate, row, loop.bound))
    at.at.cond_br(inside, part.header, part.behind)
    branch.erase()
    test = loop.header.terminator
    body = next(b for b in loop.header.successors if b is not loop.exit)
    build = Builder(before=test)
    build.loc = test.loc
    build.br(body)
    condition = test.operands[0]
    test.erase()
    assert isinstance(condition, Instruction)
    condition.erase()
    loop.counter.phi.replace_all_uses(row)
    loop.counter.phi.erase()
    loop.latch.replace_successor(loop.header, part.behind)


def _end_at(header: BasicBlock, loop: CountedLoop, end: Value) -> None:
    branch = header.terminator
    test = branch.operands[0]
    assert isinstance(test, Instruction)
    build = Builder(before=branch)
    build.loc = branch.loc
    leaves_if_true = branch.blocks[0] is loop.exit
    branch.set_operand(0, build.icmp("sge" if leaves_if_true else "slt", loop.counter.phi, end))
    test.erase()


class _Sums:
    """Sums of one type that do not wrap around."""

    __slots__ = ("at", "type")

    def __init__(self, at: Builder, type: IntType) -> None:
        self.at = at
        self.type = type

    def add(self, value: Value, number: int) -> Value:
        return self.at.binary("add", value, const_int(number, self.type), ("nsw",)) if number else value

    def behind(self, loop: CountedLoop) -> Value:
        """The number that a counter has behind its loop's last iteration, if there is one."""
        return self.add(loop.bound, 1 if loop.predicate == "sle" else 0)

    def subtract(self, a: Value, b: Value) -> Value:
        return self.at.binary("sub", a, b, ("nsw",))

    def times(self, value: Value, number: int) -> Value:
        return self.at.binary("mul", value, const_int(number, self.type), ("nsw",)) if number != 1 else value

    def least(self, which: str, values: Sequence[Value]) -> Value:
        """The least of some values, or the greatest."""
        found = values[0]
        kind = FunctionType(self.type, (self.type, self.type))
        for value in values[1:]:
            if value is not found:
                declared = self.at.module.declare(f"llvm.{which}.i{self.type.bits}", kind, PURE)
                found = self.at.call(declared, (found, value))
        return found

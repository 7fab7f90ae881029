"""What a loop counts in 64 bits is counted in 32, and added to a number of 64 bits now and then.

Integers of Python have 64 bits, and nothing says how many rounds a loop has whose bound is one. In lanes a count, to
which a round adds little, takes twice the registers. Lanes count in 32 bits what has come since the last flush, which
comes after so many rounds that 32 bits hold what these add up to::

    head:  n = φ(n0, n')                 head:   t = φ(n0, t'); d = φ(0, d'); r = φ(0, r')
           ...                                   ...
           n' = hit ? n + 1 : n                  d1 = hit ? d + 1 : d
           br head                       ==>     r' = r + 1; br r' % 2³⁰ == 0, flush, again
                                         flush:  t1 = t + d1; br again
                                         again:  t' = φ(t, t1); d' = φ(d1, 0); br head
    exit:  x = φ(n)                      exit:   x = φ(t) + φ(d)

Loops that threads leave together alone are rewritten: behind others what each of them has when it leaves would be
kept, which is two numbers here.

Precondition: P-LLVM without predicates, shadows and guards, loop-simplified and loop-closed; the divergence is of the
function as it is. Postcondition: the same, and such counts have 32 bits. Preserves the program under FR: no-wrap flags
are dropped, and what is poison was before.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import Interval, join
from weft.analysis.integers.ranges import Ranges
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import split_edge
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import I32, I64

MOST_ROUNDS, LEAST_ROUNDS = 30, 12
"""How many rounds there are from flush to flush, as powers of two."""

MOST_STEPS = 32
"""Instructions looked at for one count."""


class _Count(Struct, frozen=True):
    """A count of a loop: what it is computed by, operands first, and what is added, by the sums that add it.

    It is flushed after so many `rounds`, as a power of two.
    """

    phi: Instruction
    members: list[Instruction]
    added: dict[Instruction, Value]
    rounds: int


def flush_counts(function: Function, divergence: Divergence) -> int:
    """Count in 32 bits what loops count in 64; return how many counts these are."""
    view = cfg_of(function)
    found: list[tuple[Loop, list[_Count]]] = []
    for loop in loop_forest(view.cfg).loops:
        header = view.blocks[loop.header]
        if loop.is_irreducible or len(loop.latches) != 1 or divergence.is_divergent_loop(header):
            continue
        counts = [c for p in header.phis() if (c := _count(p, loop, view, divergence)) is not None]
        if counts:
            found.append((loop, counts))
    for loop, counts in found:
        _rewrite(loop, view, counts)
    return sum(len(counts) for _, counts in found)


def _count(phi: Instruction, loop: Loop, view: CFGView, divergence: Divergence) -> _Count | None:
    """The count that a φ of a loop's header is, if lanes have their own and its loop uses it for nothing else."""
    if phi.type != I64 or divergence.shape(phi).is_strided:
        return None
    ranges = divergence.engine.ranges
    assert ranges is not None
    known = ranges.of(phi)
    if known is not None and known.hi - known.lo < 1 << 32:
        # That is narrowed as it is.
        return None
    walk = _Walk(phi, loop, view, ranges)
    (latch,) = (view.blocks[b] for b in loop.latches)
    change = walk.change(phi.incoming_value(latch))
    if change is None or change == Interval(0, 0):
        return None
    rounds = min(MOST_ROUNDS, 31 - max(abs(change.lo), abs(change.hi)).bit_length())
    if rounds < LEAST_ROUNDS or any(v in walk.members for v in walk.added.values()):
        return None
    for member in walk.members:
        for user in member.instruction_users():
            assert user.block is not None
            inside = view.index[user.block] in loop.blocks
            if user not in walk.members if inside else not _closes(user, loop, view):
                return None
    return _Count(phi, list(walk.members), walk.added, rounds)


class _Walk:
    """What a φ of a loop's header is changed by in a round."""

    def __init__(self, phi: Instruction, loop: Loop, view: CFGView, ranges: Ranges) -> None:
        self._loop, self._view, self._ranges = loop, view, ranges
        self.members: dict[Instruction, Interval] = {phi: Interval(0, 0)}
        self.added: dict[Instruction, Value] = {}

    def change(self, value: Value) -> Interval | None:
        """What has been added where the φ has become `value`; None where that is unknown."""
        if not isinstance(value, Instruction) or value.block is None:
            return None
        if value in self.members:
            return self.members[value]
        if self._view.index[value.block] not in self._loop.blocks or len(self.members) > MOST_STEPS:
            return None
        found = self._changed(value)
        if found is not None:
            self.members[value] = found
        return found

    def _changed(self, value: Instruction) -> Interval | None:
        if value.op in ("add", "sub"):
            return self._sum(value)
        if value.op == "select":
            return self._joined(value.operands[1:])
        assert value.block is not None
        if value.is_phi and loop_forest(self._view.cfg).headed_by[self._view.index[value.block]] is None:
            return self._joined(value.operands)
        return None

    def _sum(self, value: Instruction) -> Interval | None:
        first, second = value.operands
        for whole, part in ((first, second), (second, first))[: 2 if value.op == "add" else 1]:
            added = self._ranges.of(part)
            if added is None or max(abs(added.lo), abs(added.hi)) >> 31:
                continue
            before = self.change(whole)
            if before is None:
                continue
            self.added[value] = part
            if value.op == "sub":
                added = Interval(-added.hi, -added.lo)
            return Interval(before.lo + added.lo, before.hi + added.hi)
        return None

    def _joined(self, values: list[Value]) -> Interval | None:
        found: Interval | None = None
        for value in values:
            change = self.change(value)
            if change is None:
                return None
            found = join(found, change)
        return found


def _closes(user: Instruction, loop: Loop, view: CFGView) -> bool:
    """Whether a user behind a loop is a φ that all of its threads come to from the loop."""
    return user.is_phi and all(view.index[b] in loop.blocks for b in user.blocks)


def _rewrite(loop: Loop, view: CFGView, counts: list[_Count]) -> None:
    header, (latch,) = view.blocks[loop.header], (view.blocks[b] for b in loop.latches)
    (before,) = (b for b in header.predecessors if b is not latch)
    ends = split_edge(latch, header, f"{header.name}.round")
    again = split_edge(ends, header, f"{header.name}.again")
    flush = split_edge(ends, again, f"{header.name}.flush")
    shorts = [_shortened(count, before) for count in counts]
    rounds = Builder(header).phi(I32, "rounds")
    loc = ends.terminator.loc
    ends.terminator.erase()
    builder = Builder(ends)
    builder.loc = loc
    next_round = builder.binary("add", rounds, const_int(1, I32))
    rounds.add_incoming(const_int(0, I32), before)
    rounds.add_incoming(next_round, again)
    mask = (1 << min(count.rounds for count in counts)) - 1
    left = builder.binary("and", next_round, const_int(mask, I32))
    is_due = builder.icmp("eq", left, const_int(0, I32))
    builder.cond_br(is_due, flush, again).attrs["chance"] = 1.0 / (mask + 1)
    for count, short in zip(counts, shorts, strict=True):
        _flush(count, short, ends, flush, again)
    inside = {view.blocks[b] for b in loop.blocks} | {flush, again}
    for count, short in zip(counts, shorts, strict=True):
        for member in count.members:
            for user in [u for u in member.instruction_users() if u.block not in inside]:
                _close(user, count, short)
    for count in counts:
        old = [m for m in count.members if m is not count.phi]
        for member in old:
            member.drop_operands()
        for member in old:
            member.erase()


def _shortened(count: _Count, before: BasicBlock) -> Mapping[Value, Instruction]:
    """Put beside each number of a count what has come since the last flush, in 32 bits."""
    header = count.phi.block
    assert header is not None
    short: dict[Value, Instruction] = {}
    for member in count.members:
        builder = Builder(before=member)
        builder.loc = member.loc
        if member.is_phi:
            short[member] = builder.build("phi", I32, name=member.name)
        elif member.op == "select":
            condition, *arms = member.operands
            then, otherwise = (short[v] for v in arms)
            short[member] = builder.select(condition, then, otherwise, name=member.name)
        else:
            part = count.added[member]
            first, second = member.operands
            whole = short[first if second is part else second]
            short[member] = builder.binary(member.op, whole, _cut(part, builder), name=member.name)
    for member in count.members:
        if member.is_phi and member is not count.phi:
            for value, source in member.incoming():
                short[member].add_incoming(short[value], source)
    # What goes around comes with the flush.
    short[count.phi].add_incoming(const_int(0, I32), before)
    return short


def _cut(part: Value, builder: Builder) -> Value:
    """A number that is known to fit, in 32 bits."""
    if isinstance(part, ConstInt):
        return const_int(part.signed, I32)
    if isinstance(part, Instruction) and part.op in ("zext", "sext"):
        source = part.operands[0]
        return source if source.type == I32 else builder.cast(part.op, source, I32)
    return builder.cast("trunc", part, I32)


def _flush(
    count: _Count, short: Mapping[Value, Instruction], ends: BasicBlock, flush: BasicBlock, again: BasicBlock
) -> None:
    """Let a count go around as what it was at the last flush, and what has come since."""
    phi = count.phi
    since = short[phi.incoming_value(again)]
    builder = Builder(before=flush.terminator)
    builder.loc = phi.loc
    total = builder.binary("add", phi, builder.cast("sext", since, I64))
    at_end = Builder.after_phis(again)
    kept, rest = at_end.phi(I64, f"{phi.name}.kept"), at_end.phi(I32, f"{phi.name}.since")
    for whole, part, source in ((phi, since, ends), (total, const_int(0, I32), flush)):
        kept.add_incoming(whole, source)
        rest.add_incoming(part, source)
    phi.set_operand(phi.blocks.index(again), kept)
    short[phi].add_incoming(rest, again)


def _close(user: Instruction, count: _Count, short: Mapping[Value, Instruction]) -> None:
    """Let a φ behind the loop be what was flushed and what has come since."""
    assert user.block is not None
    builder = Builder(user.block, user)
    whole, since = builder.build("phi", I64, name=user.name), builder.build("phi", I32, name=user.name)
    for value, source in user.incoming():
        is_counted = value in short
        whole.add_incoming(count.phi if is_counted else value, source)
        since.add_incoming(short[value] if is_counted else const_int(0, I32), source)
    behind = Builder.after_phis(user.block)
    behind.loc = user.loc
    user.replace_all_uses(behind.binary("add", whole, behind.cast("sext", since, I64)))
    user.erase()

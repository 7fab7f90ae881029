"""Loops that were unrolled become one loop again, tested at its head.

    if a < n:                                  T = (n - a - 1) / s + 1, the number of rounds
        for T % 4 times: body(i); i += s
        if T >= 4: do 4 times body(i), i += s, while i < n

is what nvcc makes of ``for (i = a; i < n; i += s) body(i);``, or the other way around, with the rest behind it, in a
loop or written out. It becomes

    for (64-bit c = a; c < n; c += s) body(c)

where the parts are found to do the same (`weft.transform.loops.unrolled.rounds`), and to run as often as that
(`weft.transform.loops.unrolled.counts`). A test before it that is that of the loop is dropped. The transforms of
work-groups, and the model of lanes, know loops of this form; of the other one, lanes leave three loops one by one.

Precondition: canonical P-LLVM without predicates, shadows and guards. Postcondition: no loop of one block is left that
was found to be unrolled so, or without a rest (`weft.transform.loops.unrolled.whole`). Preserves the program under FR:
what a thread does is the same, in its order, but where it was undefined before.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I32, I64
from weft.transform.loops.simplify_loops import simplify_loops
from weft.transform.loops.unrolled.counts import Rounds, below, counting, rising, rounds_of, total_of
from weft.transform.loops.unrolled.rolling import Counter, roll
from weft.transform.loops.unrolled.rounds import Parts
from weft.transform.loops.unrolled.shapes import OneBlockLoop, pairs
from weft.transform.loops.unrolled.sums import Sum, number, plus, quotient
from weft.transform.loops.unrolled.terms import Stuck
from weft.transform.loops.unrolled.whole import undo_whole

_FACTORS = (2, 4, 8, 16)
_LONGEST = 800


def undo_unrolling(function: Function) -> list[BasicBlock]:
    """Let unrolled loops of a function be loops again; the headers of these."""
    found: list[BasicBlock] = []
    while (header := _undo_one(function)) is not None:
        found.append(header)
    found += undo_whole(function)
    if found:
        simplify_loops(function)
    return found


def _undo_one(function: Function) -> BasicBlock | None:
    for pair in pairs(function):
        view = cfg_of(function)
        ranges = ranges_of(function, view)
        for unrolled_first in (True, False):
            for factor in _FACTORS:
                parts = Parts(pair, factor, unrolled_first)
                try:
                    counter = _counter(parts, ranges)
                    if counter is not None and parts.agree() and _is_left_in_time(parts, counter):
                        header = roll(function, parts, counter)
                        if header is not None:
                            return header
                except Stuck:
                    continue
    return None


def _counter(parts: Parts, ranges: Ranges) -> Counter | None:
    """What counts all rounds, if the loops run as often as that."""
    pair = parts.pair
    unrolled, rest = (pair.first, pair.second) if parts.unrolled_first else (pair.second, pair.first)
    if unrolled is None or len(unrolled.body.instructions) > _LONGEST:
        return None
    parts.follow()
    for counter in _from_total(parts, unrolled) if parts.unrolled_first else _from_test(parts, unrolled):
        if not _is_below(counter, pair.before, ranges) or not _goes_up(counter.step, pair.before, ranges):
            continue
        plain = parts.plain()
        rounds = Rounds(
            plain, parts.factor, below(plain, counter.bound, counter.first), plain.of(counter.step)
        )
        if _are_all(rounds, parts, counter, unrolled, rest, ranges):
            return counter
    return None


def _from_test(parts: Parts, unrolled: OneBlockLoop) -> Iterator[Counter]:
    """The counter that the second loop, which is unrolled, compares with a bound."""
    found = rising(unrolled)
    if found is None and (counted := counting(parts.plain(), unrolled)) is not None:
        bound = _value(parts, counted[2])
        found = (counted[0], bound) if bound is not None else None
    if found is None:
        return
    middle = unrolled.first(found[0])
    first = parts.pair.first
    for phi in first.phis:
        if (
            isinstance(middle, Instruction)
            and phi in parts.lines
            and parts.lines.get(middle) is parts.lines[phi]
        ):
            following = first.following(phi)
            assert isinstance(following, Instruction)
            step = next((v for v in following.operands if v is not phi), None)
            is_one = isinstance(step, ConstInt) and step.value == 1
            if (
                following.op == "add"
                and step is not None
                and phi.type in (I32, I64)
                and (is_one or (phi.type == I32 and rising(unrolled)))
            ):
                yield Counter(first.first(phi), found[1], step)


def _from_total(parts: Parts, unrolled: OneBlockLoop) -> Iterator[Counter]:
    """Counters of which the number of rounds is that of which the first loop, which is unrolled, does most."""
    plain = parts.plain()
    whole = rounds_of(plain, unrolled, parts.factor)
    total = total_of(plain, whole, parts.factor) if whole is not None else None
    if total is None or total.bits not in (32, 64):
        return
    one = number(1, total.bits)
    dividend, step = plus(total, one, -1), one
    divided = plain.meaning(dividend)
    # In 64 bits a counter in longer steps may wrap around behind its last round.
    if total.bits == 32 and isinstance(divided, tuple) and divided[0] == "udiv":
        dividend, step = (Sum(key[1], key[0]) for key in divided[1:])
    by = _value(parts, step)
    if by is None:
        return
    type = I32 if total.bits == 32 else I64
    starts: list[Value] = [parts.lines[p].first for p in unrolled.phis if p in parts.lines and p.type == type]
    for start in (*starts, ConstInt(type, 0)):
        bound = _value(parts, plus(plus(dividend, plain.of(start)), one))
        if bound is not None:
            yield Counter(start, bound, by)


def _value(parts: Parts, sum: Sum) -> Value | None:
    """A value that is known to be a sum."""
    type = I32 if sum.bits == 32 else I64
    if sum.constant is not None:
        return ConstInt(type, sum.constant)
    meaning = parts.plain().meaning(sum)
    return meaning if isinstance(meaning, Value) and meaning.type == type else None


def _is_below(counter: Counter, block: BasicBlock, ranges: Ranges) -> bool:
    """Whether it is known in a block that there is a round."""
    first, bound = counter.first, counter.bound
    if any(c.other is bound and c.predicate == "slt" for c in ranges.bounds_of(first, block)):
        return True
    if any(c.other is first and c.predicate == "sgt" for c in ranges.bounds_of(bound, block)):
        return True
    low, high = ranges.at(first, block), ranges.at(bound, block)
    return low is not None and high is not None and low.hi < high.lo


def _goes_up(step: Value, block: BasicBlock, ranges: Ranges) -> bool:
    known = ranges.at(step, block)
    return known is not None and known.lo >= (1 if isinstance(step, ConstInt) else 0)


def _is_small(counter: Counter, block: BasicBlock, ranges: Ranges) -> bool:
    """Whether the rounds are less than half of what there could be: the counter is not negative at first."""
    known = ranges.at(counter.first, block)
    return known is not None and known.lo >= 0


def _are_all(
    rounds: Rounds,
    parts: Parts,
    counter: Counter,
    unrolled: OneBlockLoop,
    rest: OneBlockLoop | None,
    ranges: Ranges,
) -> bool:
    """Whether the loops together do all rounds."""
    pair = parts.pair
    plain = rounds.terms
    if rest is not None:
        left = rounds_of(plain, rest, 1)
        if left is None or not rounds.is_rest(left):
            return False
    if not parts.unrolled_first:
        return rounds.asks_for_rest(pair.before.terminator, pair.middle) and rounds.asks_for_few(
            pair.middle.terminator, pair.after
        )
    whole = rounds_of(plain, unrolled, parts.factor)
    if whole is None or not rounds.is_whole(whole, _is_small(counter, pair.before, ranges)):
        return False
    if not rounds.asks_for_few(pair.before.terminator, pair.middle):
        return False
    return rounds.asks_for_rest(pair.middle.terminator, pair.after) and all(
        rounds.asks_for_rest(block.terminator, pair.after, k + 1) for k, block in enumerate(pair.chain[:-1])
    )


def _is_left_in_time(parts: Parts, counter: Counter) -> bool:
    """Whether a loop that compares its counter is not defined if that wraps around.

    It goes on then, and accesses what is 2 GiB from what it has accessed before, be it in many rounds. One that goes
    up by one in each round comes to its bound.
    """
    is_one = isinstance(counter.step, ConstInt) and counter.step.value == 1
    if parts.unrolled_first or (counter.first.type == I64 and is_one):
        return True
    step = parts.plain().of(counter.step)
    wide = Sum(step.products, 64)
    return any((quotient(p.step, wide) or 0) > 0 and parts.has_base(p) for p in parts.places)

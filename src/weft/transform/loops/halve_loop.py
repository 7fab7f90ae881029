"""A loop that works in every other stretch of a distance runs over the numbers of these stretches alone.

    for i in range(s, n):             for t in range(m):             m = how many of s ... n - 1 have bit d clear
        q = i ^ d                         i = s + 2*t - (t & (d - 1))
        if q > i:                         q = i + d
            body(i, q)                    body(i, q)

No lane is idle, and pairs of elements are butterflies, which have a version for each distance below the lanes
(`weft.transform.numbers.aligned_versions`).

Precondition: a loop of `weft.analysis.loops.half_guards`, entered where its distance is a power of two, start and bound
are natural, and the start is a multiple of twice the distance. Postcondition: it counts from 0, and the guards are
known to hold. Preserves the program under FR; iterations stay in their order.
"""

from __future__ import annotations

from weft.analysis.loops.half_guards import HalfLoop, partner
from weft.ir import BasicBlock, Builder, Instruction, Value
from weft.ir.builder import const_int
from weft.transform.loops.count_turns import count_turns, hold_guards, replace_counter

_EXACT = ("nuw", "nsw")


def count_of_half(builder: Builder, found: HalfLoop, distance: Value) -> Value:
    """How many iterations work, where the bound is not below the start."""
    type, loop = found.loop.counter.type, found.loop
    one = const_int(1, type)
    length = builder.binary("sub", loop.bound, loop.counter.start)
    rest = builder.binary("and", length, builder.binary("sub", builder.binary("shl", distance, one), one))
    half = builder.binary("lshr", builder.binary("sub", length, rest), one)
    if found.is_set:
        over = builder.binary("sub", rest, distance)
        least = builder.select(builder.icmp("slt", over, const_int(0, type)), const_int(0, type), over)
    else:
        least = builder.select(builder.icmp("slt", rest, distance), rest, distance)
    return builder.binary("add", half, least)


def halve_loop(found: HalfLoop, preheader: BasicBlock, distance: Value, count: Value) -> None:
    """Let a loop run over the numbers that pass its guards, `count` of them."""
    turn = count_turns(found.loop, preheader, count)
    number = _number(found, preheader, distance, turn)
    hold_guards(found.loop, found.guards)
    _combine_anew(found, number, distance)


def _number(found: HalfLoop, preheader: BasicBlock, distance: Value, turn: Instruction) -> Instruction:
    """Compute the number that the counter was, and put it into its place."""
    counter, header = found.loop.counter, found.loop.header
    type = counter.type
    one = const_int(1, type)
    mask = Builder(before=preheader.terminator).binary("sub", distance, one)
    b = Builder.after_phis(next(s for s in header.terminator.blocks if s is not found.loop.exit))
    b.loc = counter.phi.loc
    within = b.binary("and", turn, mask)
    number = b.binary("sub", b.binary("shl", turn, one, _EXACT), within, _EXACT)
    if counter.start != const_int(0, type):
        number = b.binary("add", number, counter.start, _EXACT)
    if found.is_set:
        number = b.binary("add", number, distance, _EXACT)
    replace_counter(counter, number)
    return number


def _combine_anew(found: HalfLoop, number: Instruction, distance: Value) -> None:
    """Combinations of number and distance are sums, differences, or one of them: the bit is known."""
    inside = set(found.loop.blocks)
    for user in dict.fromkeys(number.instruction_users()):
        if partner(user, user.op, number, inside) is not found.distance:
            continue
        b = Builder(before=user)
        b.loc = user.loc
        known: Value | None = None
        if user.op == "xor":
            known = b.binary("sub" if found.is_set else "add", number, distance, _EXACT)
        elif user.op == "or":
            known = number if found.is_set else b.binary("add", number, distance, _EXACT)
        elif user.op == "and":
            known = distance if found.is_set else const_int(0, number.type)
        if known is not None:
            user.replace_all_uses(known)
            user.erase()

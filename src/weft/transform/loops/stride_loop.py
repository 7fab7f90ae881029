"""A loop that works where its counter has a remainder runs over these numbers alone.

    for x in range(s, n):                     r = (colour - y - s) & 1
        if (x + y) & 1 == colour:             for t in range(m):          m = (n - s - r + 1) / 2
            ...                                   x = s + r + 2*t
                                                  ...

Precondition: a loop of `weft.analysis.loops.residue_guards`. Postcondition: it counts from 0, and its guard is known to
hold. Preserves the program under FR; iterations stay in their order.
"""

from __future__ import annotations

from weft.analysis.loops.residue_guards import ResidueLoop
from weft.ir import FALSE, Builder, Constant, ConstInt, Value
from weft.ir.builder import const_int
from weft.transform.loops.count_turns import count_turns, hold_guards, replace_counter


def stride_loop(found: ResidueLoop) -> None:
    """Let a loop run over the numbers that have the remainder."""
    loop, counter, residue = found.loop, found.loop.counter, found.residue
    type = counter.type
    zero, bits = const_int(0, type), const_int(residue.bits, type)
    mask = const_int((1 << residue.bits) - 1, type)
    b = Builder(before=loop.preheader.terminator)
    b.loc = counter.phi.loc
    start, bound = _frozen(b, counter.start), _frozen(b, loop.bound)
    wanted = _frozen(b, residue.wanted)
    rest: Value = wanted
    for op, other in residue.undone:
        rest = b.binary(op, rest, _frozen(b, other))
    rest = b.binary("and", b.binary("sub", rest, start), mask)
    # Of 32 bits, a loop may run through more numbers than half of all; its counter ends before it wraps around.
    natural = loop.predicate == "slt" and isinstance(start, ConstInt) and start.signed >= 0
    exact = ("nuw", "nsw") if natural else ()
    first = b.binary("add", start, rest, exact)
    # Between the first such number and the bound, both of which may be anything, there are less than 2^bits numbers.
    length = b.binary("sub", b.binary("sub", bound, start), rest)
    rounded = b.binary(
        "add", b.binary("lshr", b.binary("sub", length, const_int(1, type)), bits), const_int(1, type)
    )
    begins: Value = b.icmp(loop.predicate, start, bound)
    reaches = b.icmp("ult", rest, b.binary("sub", bound, start))
    count = b.select(b.select(begins, reaches, FALSE), rounded, zero)
    if not isinstance(wanted, Constant):
        count = b.select(b.icmp("ule", wanted, mask), count, zero)
    turn = count_turns(loop, loop.preheader, count, exact=natural or type.bits == 64)
    inside = Builder.after_phis(next(s for s in loop.header.terminator.blocks if s is not loop.exit))
    inside.loc = counter.phi.loc
    further = inside.binary("shl", turn, bits, ("nuw", "nsw") if natural else ("nuw",))
    replace_counter(counter, inside.binary("add", first, further, exact))
    hold_guards(loop, [found.guard])


def _frozen(builder: Builder, value: Value) -> Value:
    return value if isinstance(value, Constant) else builder.unary("freeze", value)

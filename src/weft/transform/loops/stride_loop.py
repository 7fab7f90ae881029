"""A loop that works where its counter has a remainder runs over these numbers alone.

    for x in range(s, n):                     r = (colour - y - s) & 1
        if (x + y) & 1 == colour:             for t in range(m):          m = (n - s - r + 1) / 2
            ...                                   x = s + r + 2*t
                                                  ...

Precondition: a loop of `weft.analysis.loops.residue_guards`. Postcondition: it counts from 0, and its guard is known to
hold. Preserves the program under FR; iterations stay in their order.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import known_iterations
from weft.analysis.loops.residue_guards import ResidueLoop
from weft.ir import FALSE, Builder, Constant, ConstInt, Value
from weft.ir.builder import const_int
from weft.transform.loops.count_turns import count_turns, hold_guards, replace_counter


def stride_loop(found: ResidueLoop) -> None:
    """Let a loop run over the numbers that have the remainder."""
    loop, counter, residue = found.loop, found.loop.counter, found.residue
    type = counter.type
    start = counter.start
    # Of 32 bits, a loop may run through more numbers than half of all; its counter ends before it wraps around.
    natural = loop.predicate == "slt" and isinstance(start, ConstInt) and start.signed >= 0
    exact = ("nuw", "nsw") if natural else ()
    b = Builder(before=loop.preheader.terminator)
    b.loc = counter.phi.loc
    first, count = _known(found) or _computed(b, found, exact)
    turn = count_turns(loop, loop.preheader, count, exact=natural or type.bits == 64)
    inside = Builder.after_phis(next(s for s in loop.header.terminator.blocks if s is not loop.exit))
    inside.loc = counter.phi.loc
    bits = const_int(residue.bits, type)
    further = inside.binary("shl", turn, bits, ("nuw", "nsw") if natural else ("nuw",))
    replace_counter(counter, inside.binary("add", first, further, exact))
    hold_guards(loop, [found.guard])


def _known(found: ResidueLoop) -> tuple[Value, Value] | None:
    """The first number and how many there are, where the program says so: loops over few numbers are written out."""
    numbers, remainder = known_iterations(found.loop), found.residue.constant
    if numbers is None or remainder is None:
        return None
    counter, step = found.loop.counter, 1 << found.residue.bits
    assert isinstance(counter.start, ConstInt)
    rest = (remainder - counter.start.signed) % step
    count = max(numbers - rest + step - 1, 0) // step
    return const_int(counter.start.signed + rest, counter.type), const_int(count, counter.type)


def _computed(b: Builder, found: ResidueLoop, exact: tuple[str, ...]) -> tuple[Value, Value]:
    loop, residue = found.loop, found.residue
    type = loop.counter.type
    zero, bits = const_int(0, type), const_int(residue.bits, type)
    mask = const_int((1 << residue.bits) - 1, type)
    start, bound = _frozen(b, loop.counter.start), _frozen(b, loop.bound)
    wanted = _frozen(b, residue.wanted)
    rest: Value = wanted
    for op, other in residue.undone:
        rest = b.binary(op, rest, _frozen(b, other))
    if start != zero:
        rest = b.binary("sub", rest, start)
    rest = b.binary("and", rest, mask)
    length = b.binary("sub", bound, start)
    after = b.binary("sub", b.binary("sub", length, rest), const_int(1, type))
    rounded = b.binary("add", b.binary("lshr", after, bits), const_int(1, type))
    begins = b.icmp(loop.predicate, start, bound)
    count = b.select(b.select(begins, b.icmp("ult", rest, length), FALSE), rounded, zero)
    if not isinstance(wanted, ConstInt) or wanted.value >= 1 << residue.bits:
        count = b.select(b.icmp("ule", wanted, mask), count, zero)
    return b.binary("add", start, rest, exact), count


def _frozen(builder: Builder, value: Value) -> Value:
    return value if isinstance(value, Constant) else builder.unary("freeze", value)

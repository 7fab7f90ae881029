"""Quotients and roots of doubles under fastmath, in loops that wait for little else: from estimates, with AVX-512.

A quotient of eight doubles keeps an Intel server core busy for 16 cycles and a root for 24, and the core has nothing
else to do then where a loop divides and does few things beside it. Estimates and what makes them exact are sums and
products, of which there are two at a time. Eight quotients take 2.0 ns and not 5.6, roots 2.1 and not 8.4 (Emerald
Rapids); behind 24 products and sums or more they take longer than the divider does, which works beside those::

    q = x / y      ==>      r = about 1 / y,   e = 1 - y r      rcp14
                            r = r + r e, where e is one
                            q = x r
                            q = q + (x - y q) r, where e is one

    s = sqrt y     ==>      r = about y ** -0.5, 0 where y is 0      rsqrt14
                            s = y r,   e = 1 - s r
                            s = s + s e (1 / 2 + 3 e / 8 + 5 e e / 16)

Of zero the root is zero, and what is divided by zero or infinity becomes infinite or zero; other infinite results may
be NaN, as they are of floats, of which LLVM estimates inverses. What several numbers are divided by is inverted once.

One after the other takes longer than in the divider: eight lanes, or sixteen, that wait for their own last quotient
stay.

Precondition: plain LLVM IR. Postcondition: vectors of doubles are divided, and roots taken, with an instruction for it
only where the loop has enough to do beside it, or not all flags of fastmath. Preserves the program under FR and OBL,
but for the last place.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.inverse_roots import estimates_inverses, is_fast, is_root
from weft.costs.divider import regions, vector_cycles
from weft.ir import Builder, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import ConstZero
from weft.machine.targets import Isa
from weft.transform.numbers.estimates import MOST_LANES, Sums, doubles_of, estimate

DIVIDED = {"fdiv": 16.0, "call": 24.0}
"""Cycles of the divider, a register: quotients and roots."""

ESTIMATED = {"fdiv": 4.5, "call": 5.5}
"""Cycles of what takes their place."""

ROOT = (1 / 2, 3 / 8 + 35 / 128 * 2**-26, 5 / 16)
"""Of ``(1 - e) ** -0.5`` behind 1; the next term is spread over these, as far as it is even."""


def estimate_quotients(function: Function, isa: Isa) -> int:
    """Take quotients and roots of doubles from estimates where that is faster; return how many."""
    if not estimates_inverses(isa) or isa.vector_bits < 512 or isa.core.fast_divisions:
        return 0
    count = 0
    for instructions, loop in regions(function):
        groups = _groups(instructions, loop)
        taken = {i for group in groups for i in group}
        beside = sum(vector_cycles(i, MOST_LANES) for i in instructions if i not in taken)
        divided = sum(DIVIDED[group[0].op] * _registers(group[0]) for group in groups)
        estimated = sum((ESTIMATED[group[0].op] + len(group) / 2) * _registers(group[0]) for group in groups)
        if beside + estimated < divided:
            for group in groups:
                _replace(group)
            count += len(taken)
    if count:
        remove_dead_instructions(function)
    return count


def _groups(instructions: list[Instruction], loop: bool) -> list[list[Instruction]]:
    """Roots, and quotients of a block by the same number, that estimates may replace."""
    inside = set(instructions)
    groups: dict[tuple[object, ...], list[Instruction]] = {}
    for i in instructions:
        if doubles_of(i) < MOST_LANES:
            continue
        if is_root(i):
            groups[i,] = [i]
        # LLVM takes inverses of what does not change in front of the loop.
        elif i.op == "fdiv" and is_fast(i) and not (loop and i.operands[1] not in inside):
            groups.setdefault((i.block, i.operands[1]), []).append(i)
    return [
        group
        for group in groups.values()
        if doubles_of(group[0]) >= 4 * MOST_LANES
        or not loop
        or not any(_waits_for_itself(i, inside) for i in group)
    ]


def _replace(group: list[Instruction]) -> None:
    first = group[0]
    build = Builder(before=first)
    build.loc = first.loc
    if first.op == "call":
        first.replace_all_uses(_root(build, first.args[0]))
    elif len(group) == 1:
        first.replace_all_uses(_quotient(build, *first.operands))
    else:
        y = first.operands[1]
        inverse = _quotient(build, Sums.of(build, y).number(1), y)
        for quotient in group:
            here = Builder(before=quotient)
            here.loc = quotient.loc
            quotient.replace_all_uses(here.binary("fmul", quotient.operands[0], inverse, ("contract",)))


def _registers(value: Value) -> float:
    return doubles_of(value) / MOST_LANES


def _waits_for_itself(quotient: Instruction, inside: Collection[Instruction]) -> bool:
    """Whether an iteration's quotient is computed from that of the last."""
    known, work = set[Value](), [quotient]
    while work:
        for operand in work.pop().operands:
            if operand is quotient:
                return True
            if isinstance(operand, Instruction) and operand in inside and operand not in known:
                known.add(operand)
                work.append(operand)
    return False


def _quotient(build: Builder, x: Value, y: Value) -> Value:
    s = Sums.of(build, y)
    r = estimate(build, "rcp14", y)
    e = s.lacking(y, r)
    # Neither so where r is infinite, or y is.
    usual = build.fcmp("ogt", e, s.number(-1))
    r = build.select(usual, s.fma(r, e, r), r)
    q = s.times(x, r)
    return build.select(usual, s.fma(s.fma(build.unary("fneg", y), q, x), r, q), q)


def _root(build: Builder, y: Value) -> Value:
    s = Sums.of(build, y)
    zero = ConstZero(y.type)
    r = build.select(build.fcmp("une", y, zero), estimate(build, "rsqrt14", y), zero)
    root = s.times(y, r)
    e = s.lacking(root, r)
    return s.fma(s.times(root, e), s.polynomial(e, ROOT), root)

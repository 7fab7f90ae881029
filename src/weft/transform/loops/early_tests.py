"""Loops that test the next value of their counter before their body get a counter that has this value.

    i = φ(a, next)                     i = φ(a, j); j = φ(a + 1, j + 1)
    next = i + 1
    while next < n: body(next)         while j < n: body(j)

``for (j = i + 1; j < n; j++)`` is such a loop where i + 1 is used beside. What transforms loops expects that the tested
value is that of a φ (`weft.analysis.loops.counted_loops`).

Precondition: canonical P-LLVM. Postcondition: no counted loop tests the next value of its counter in its
header; the counter is gone where only its next value was used.
Preserves the program under FR and OBL: each sum is one that was computed at the same time, with its flags.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.ir import Builder, ConstInt, Function, Instruction
from weft.ir.cfg_view import cfg_of


def test_present_values(function: Function) -> int:
    """Give loops such a counter; how many."""
    view = cfg_of(function)
    found = 0
    for loop in loop_forest(view.cfg).loops:
        if not isinstance(counted_loop(view, loop), str):
            continue
        counted = counted_loop(view, loop, early=True)
        if isinstance(counted, CountedLoop):
            _shift(counted)
            found += 1
    return found


def _shift(loop: CountedLoop) -> None:
    phi, following, step = loop.counter.phi, loop.counter.following, loop.counter.step
    op, amount = ("add", step) if following.op == "add" else ("sub", -step)
    number = ConstInt(loop.counter.type, amount)
    before = Builder(before=loop.preheader.terminator)
    before.loc = following.loc
    first = before.binary(op, loop.counter.start, number, following.flags)
    shifted = Instruction("phi", phi.type, name=f"{phi.name}.next" if phi.name else "", loc=phi.loc)
    loop.header.insert(0, shifted)
    behind = Builder(before=loop.latch.terminator)
    behind.loc = following.loc
    shifted.add_incoming(first, loop.preheader)
    shifted.add_incoming(behind.binary(op, shifted, number, following.flags), loop.latch)
    following.replace_all_uses(shifted)
    following.erase()
    if all(user is phi for user in phi.users):
        phi.drop_operands()
        phi.erase()

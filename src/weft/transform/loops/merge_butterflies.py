"""The loops over pairs of stretches, and over the pairs in them, become one loop over all pairs.

    for first in range(s, n, 2*d):            for t in range(0, m):        m = (n - s + 2d - 1) / 2d * d
        for k in range(first, first + d):         j = t & (d - 1)
            body(first, k)                        body(s + 2*(t - j), s + 2*t - j)

Lanes that run along the one loop are full at any distance, and have a version for each that is less than their number
(`weft.transform.numbers.aligned_versions`).

Precondition: a nest of `weft.analysis.loops.butterflies`, entered where what that asks for has been tested.
Postcondition: the outer loop's blocks are those of the one loop; the inner loop is none any more. Questions for signs
of natural numbers are answered. Preserves the program under FR, but for the order of iterations.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.loops.butterflies import Butterflies, Outer
from weft.ir import BasicBlock, Builder, Instruction, Value
from weft.ir.builder import const_int
from weft.transform.numbers.known_numbers import answer


def count_of_pairs(builder: Builder, found: Butterflies, distance: Value) -> Value:
    """How many iterations the inner loop has in all, where its bound is above its start."""
    assert found.outer is not None
    type, outer = found.type, found.outer
    both = builder.binary("shl", distance, const_int(1, type))
    length = builder.binary("sub", outer.bound, outer.start)
    ends = builder.binary("add", length, builder.binary("sub", both, const_int(1, type)))
    whole = builder.binary("and", ends, builder.binary("sub", const_int(0, type), both))
    return builder.binary("lshr", whole, const_int(1, type))


def answer_signs(found: Butterflies) -> None:
    """Answer the questions for signs of numbers that are not negative."""
    for question in found.signs:
        answer(question)


def merge_butterflies(found: Butterflies, preheader: BasicBlock, distance: Value, pairs: Value) -> None:
    """Let the outer loop run over `pairs` pairs; `distance`, of the same value, takes the place of the loop's own."""
    outer = found.outer
    assert outer is not None
    answer_signs(found)
    if distance is not found.distance:
        _replace_in(outer.blocks, found.distance, distance)
    pair = _count_pairs(outer, found, preheader, pairs)
    _run_once(outer, found, preheader, pair, distance)


def _replace_in(blocks: Sequence[BasicBlock], value: Value, other: Value) -> None:
    for instruction in (i for block in blocks for i in block.instructions):
        for position, operand in enumerate(instruction.operands):
            if operand is value:
                instruction.set_operand(position, other)


def _count_pairs(outer: Outer, found: Butterflies, preheader: BasicBlock, pairs: Value) -> Instruction:
    """Give the outer loop the counter of pairs, and a test of it."""
    type, header = found.type, outer.header
    tests = [i for i in header.non_phis() if not i.is_terminator]
    pair = Builder(before=header.instructions[0]).phi(type, "pair")
    end = Builder(before=outer.latch.terminator)
    end.loc = outer.latch.terminator.loc
    following = end.binary("add", pair, const_int(1, type), ("nuw", "nsw"))
    pair.add_incoming(const_int(0, type), preheader)
    pair.add_incoming(following, outer.latch)
    branch = header.terminator
    test = Builder(before=branch)
    test.loc = branch.loc
    branch.set_operand(0, test.icmp("ult", pair, pairs))
    for instruction in reversed(tests):
        instruction.erase()
    return pair


def _run_once(
    outer: Outer, found: Butterflies, preheader: BasicBlock, pair: Instruction, distance: Value
) -> None:
    """Compute the counters from the number of the pair, and let the inner loop's body run once."""
    type, inner = found.type, found.inner
    before = Builder(before=preheader.terminator)
    mask = before.binary("sub", distance, const_int(1, type))
    b = Builder.after_phis(outer.header.terminator.blocks[0])
    b.loc = outer.first.loc
    exact = ("nuw", "nsw")
    one = const_int(1, type)
    within = b.binary("and", pair, mask)
    made: list[Instruction] = [within, b.binary("shl", pair, one, exact)]
    made.append(b.binary("sub", made[-1], within, exact))
    lower: Value = made[-1]
    made.append(b.binary("sub", pair, within, exact))
    made.append(b.binary("shl", made[-1], one, exact))
    stretch: Value = made[-1]
    if outer.start != const_int(0, type):
        made.append(b.binary("add", lower, outer.start, exact))
        made.append(b.binary("add", stretch, outer.start, exact))
        lower, stretch = made[-2:]
    begins = inner.counter.start
    number: Value = lower
    if begins is not outer.first:
        enter = Builder(before=inner.header.terminator)
        number = within if begins == const_int(0, type) else enter.binary("add", begins, within)
    inner.counter.phi.replace_all_uses(number)
    inner.counter.phi.erase()
    test = inner.header.terminator
    condition = test.operands[0]
    Builder(before=test).br(next(s for s in test.blocks if s is not inner.exit))
    test.erase()
    assert isinstance(condition, Instruction)
    condition.erase()
    back = inner.latch.terminator
    for position, target in enumerate(back.blocks):
        if target is inner.header:
            back.set_block(position, inner.exit)
    back.set_metadata("llvm.loop", None)
    following = outer.first.incoming_value(outer.latch)
    outer.first.replace_all_uses(stretch)
    outer.first.erase()
    assert isinstance(following, Instruction)
    following.erase()
    for instruction in reversed(made):
        if not instruction.is_used:
            instruction.erase()

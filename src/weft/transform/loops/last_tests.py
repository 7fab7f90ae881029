"""Loops that are tested at their end, by a comparison of a number that they count, or of two that they carry.

What a loop asks without sign of numbers that are known to have none, or of a number before it is counted on, is the
same as what it asks of the next number with a sign:

    latch: if i <u 127 goto header, with i from 0 by 1             latch: if i + 1 < 128 goto header

Searches by halves carry the ends of a range, and ask how far one is from the other.
"""

from __future__ import annotations

import operator

from msgspec import Struct

from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.analysis.memory.far_steps import step_of
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType, Type

HOLDS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}
_SIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}


class TestedLast(Struct, frozen=True):
    """A loop of this form.

    Parameters
    ----------
    before, header, latch, exit
        The blocks around its edges; the latch goes on or leaves.
    blocks
        The loop.
    """

    before: BasicBlock
    header: BasicBlock
    latch: BasicBlock
    exit: BasicBlock
    blocks: frozenset[BasicBlock]


class LastTest(TestedLast, frozen=True):
    """One that goes on while ``counter predicate bound``."""

    counter: Instruction
    bound: Value
    predicate: str


class RangeTest(TestedLast, frozen=True):
    """One that goes on while ``first - second predicate limit``, or ``first predicate second`` where there is no limit.

    Both are φs, and `difference` is the subtraction of what they become.
    """

    first: Instruction
    second: Instruction
    predicate: str
    limit: ConstInt | None
    difference: Instruction | None


def last_test(view: CFGView, loop: Loop) -> LastTest | None:
    """A loop that is tested by a number that it counts; None where it is none."""
    if (found := _asks_last(view, loop)) is None:
        return None
    edges, test, predicate = found
    before, header, latch, _, blocks = _parts(edges)
    if "samesign" in test.flags:
        predicate = _SIGNED.get(predicate, predicate)
    for value, bound, says in (
        (*test.operands, predicate),
        (*test.operands[::-1], SWAPPED[predicate]),
    ):
        if isinstance(bound, Instruction) and bound.block in blocks:
            continue
        for phi in header.phis():
            asked: tuple[Value, str] | None = None
            if phi.incoming_value(latch) is value:
                asked = (bound, says) if says in HOLDS else _asked(phi, before, latch, bound, says, 0)
            elif phi is value:
                asked = _asked(phi, before, latch, bound, says, 1)
            if asked is not None:
                found = LastTest(*_parts(edges), phi, *asked)
                return found if _hands_on_phis(found) else None
    return None


def range_test(view: CFGView, loop: Loop) -> RangeTest | None:
    """A loop that is tested by two numbers that it carries; None where it is none."""
    if (found := _asks_last(view, loop)) is None:
        return None
    edges, test, predicate = found
    first, second = test.operands
    limit: ConstInt | None = None
    difference: Instruction | None = None
    if isinstance(second, ConstInt):
        if not isinstance(first, Instruction) or first.op != "sub" or first.block not in edges.blocks:
            return None
        limit, difference = second, first
        first, second = first.operands
    nexts = {phi.incoming_value(edges.latch): phi for phi in edges.header.phis()}
    if predicate not in HOLDS or first not in nexts or second not in nexts:
        return None
    range = RangeTest(*_parts(edges), nexts[first], nexts[second], predicate, limit, difference)
    return range if _hands_on_phis(range) else None


def _parts(
    loop: TestedLast,
) -> tuple[BasicBlock, BasicBlock, BasicBlock, BasicBlock, frozenset[BasicBlock]]:
    return loop.before, loop.header, loop.latch, loop.exit, loop.blocks


def _asks_last(view: CFGView, loop: Loop) -> tuple[TestedLast, Instruction, str] | None:
    """A loop whose latch asks whether to go on, that comparison, and the predicate by which it does."""
    blocks = frozenset(view.blocks[b] for b in loop.blocks)
    header = view.blocks[loop.header]
    before = [b for b in header.predecessors if b not in blocks]
    if loop.is_irreducible or len(loop.latches) != 1 or len(before) != 1 or len(before[0].successors) != 1:
        return None
    latch = view.blocks[loop.latches[0]]
    branch = latch.terminator
    if branch.op != "br" or len(branch.successors) != 2 or {*branch.successors} <= blocks:
        return None
    (exit,) = (b for b in branch.successors if b is not header)
    test = branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp":
        return None
    predicate = test.predicate if branch.successors[0] is header else INVERTED[test.predicate]
    return TestedLast(before[0], header, latch, exit, blocks), test, predicate


def _asked(
    phi: Instruction, before: BasicBlock, latch: BasicBlock, bound: Value, says: str, ahead: int
) -> tuple[Value, str] | None:
    """What is asked with a sign of what a counter becomes: of it, or of it as it is so many steps ahead of that.

    It goes up from a number that is not negative, and in all rounds stays one that has the same sign either way.
    """
    first, step = phi.incoming_value(before), step_of(phi, latch)
    if not isinstance(first, ConstInt) or not isinstance(step, ConstInt) or not isinstance(bound, ConstInt):
        return None
    by, end = step.signed, bound.signed
    if _SIGNED.get(says, says) not in ("slt", "sle") or min(first.signed, end) < 0 or by <= 0:
        return None
    end += by * ahead
    if not is_signed(max(end, first.signed) + 2 * by, phi.type):
        return None
    return const_int(end, phi.type), _SIGNED.get(says, says)


def _hands_on_phis(loop: TestedLast) -> bool:
    """Whether all that is used behind the test is what φs of the header become, or comes from before the loop."""
    nexts = {phi.incoming_value(loop.latch) for phi in loop.header.phis()}
    return all(
        value in nexts or not isinstance(value, Instruction) or value.block not in loop.blocks
        for phi in loop.exit.phis()
        for value in (phi.incoming_value(loop.latch),)
    ) and not any(
        user.block not in loop.blocks and not user.is_phi
        for block in loop.blocks
        for i in block.instructions
        for user in i.instruction_users()
    )


def is_signed(number: int, type: Type) -> bool:
    """Whether a type has the number; beyond its ends a comparison without equality would say something else."""
    assert isinstance(type, IntType)
    return -(1 << (type.bits - 1)) <= number < 1 << (type.bits - 1)

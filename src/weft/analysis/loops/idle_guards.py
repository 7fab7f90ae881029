"""Conditions without which an iteration of a loop does nothing.

    for i in range(s, n):
        if c(i) and d(i):
            if not e(i):
                ...                 c and d hold, e does not

Loads may stand between them: an iteration that is known to fail one of them need not run.

Precondition: canonical P-LLVM.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import FALSE, TRUE, BasicBlock, Instruction, Value
from weft.ir.effects import is_speculatable

_GOES_ON = ("slt", "ult", "ne")


class Guard(Struct, frozen=True):
    """A condition that has to hold, or not to hold, where an iteration does something."""

    condition: Instruction
    holds: bool


def is_plain(loop: CountedLoop) -> bool:
    """Whether a loop counts up by one, hands on nothing else, and its header only tests."""
    counter, header = loop.counter, loop.header
    if not loop.top_tested or loop.tests_next or counter.step != 1 or loop.predicate not in _GOES_ON:
        return False
    if list(header.phis()) != [counter.phi] or counter.type.bits not in (32, 64):
        return False
    if list(counter.following.instruction_users()) != [counter.phi] or any(True for _ in loop.exit.phis()):
        return False
    test = header.terminator.operands[0]
    if [i for i in header.non_phis() if i is not counter.following] != [test, header.terminator]:
        return False
    assert isinstance(test, Instruction)
    return list(test.instruction_users()) == [header.terminator] and _is_left_alone(loop)


def _is_left_alone(loop: CountedLoop) -> bool:
    """Whether nothing that the loop computes is used behind it, and its latch does nothing."""
    inside = set(loop.blocks)
    if any(u.block not in inside for b in loop.blocks for i in b.instructions for u in i.instruction_users()):
        return False
    return list(loop.latch.instructions) == [loop.counter.following, loop.latch.terminator]


def conditions(loop: CountedLoop) -> Iterator[Guard]:
    """Conditions without any of which an iteration does nothing."""
    inside = set(loop.blocks)
    block = next(s for s in loop.header.terminator.blocks if s in inside)
    source = loop.header
    while block.predecessors == [source] and block is not loop.latch and _only_looks(block):
        branch = block.terminator
        if branch.op != "br" or not branch.operands or loop.latch not in branch.blocks:
            return
        holds = branch.blocks[1] is loop.latch
        yield from _parts(branch.operands[0], holds, set())
        source, block = block, branch.blocks[0 if holds else 1]


def _only_looks(block: BasicBlock) -> bool:
    return all(
        i.is_terminator or is_speculatable(i) or (i.op == "load" and i.is_plain_access)
        for i in block.instructions
    )


def _parts(condition: Value, holds: bool, seen: set[Value]) -> Iterator[Guard]:
    """The conditions that all hold where one does, or all fail where it fails; each once."""
    if not isinstance(condition, Instruction) or condition in seen:
        return
    seen.add(condition)
    if condition.op == ("and" if holds else "or"):
        parts = condition.operands
    elif condition.op == "select" and condition.operands[2 if holds else 1] == (FALSE if holds else TRUE):
        parts = (condition.operands[0], condition.operands[1 if holds else 2])
    else:
        yield Guard(condition, holds)
        return
    for part in parts:
        yield from _parts(part, holds, seen)

"""Two loops inside of each other change places (interchange).

    for k: for j: body        for j: for k: body

Precondition: `interchangeable` says that the nest is perfect: nothing but the inner loop and what it needs stands in
the outer one, both count, the inner one from and to what the outer one does not change, and nothing leaves either. The
caller knows that no iteration of the pair depends on one that comes before it in one order and behind it in the other.
Postcondition: each header has the counter, the test and the line of the other loop; what stood between the loops
stands at the beginning of the inner body. Calling it again restores the order. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.integers.intervals import INVERTED
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_read, may_trap, may_write


class Pair(Struct, frozen=True):
    """Two loops that may change places.

    Parameters
    ----------
    outer, inner
        How they count.
    between
        What stands between their headers, in order.
    body
        The first block of the inner body.
    """

    outer: CountedLoop
    inner: CountedLoop
    between: tuple[Instruction, ...]
    body: BasicBlock


def interchangeable(view: CFGView, outer: Loop, inner: Loop) -> Pair | None:
    """Two loops of which the outer one holds nothing but the inner one; None where that is not so."""
    counted = counted_loop(view, outer), counted_loop(view, inner)
    if isinstance(counted[0], str) or isinstance(counted[1], str):
        return None
    first, second = counted[0], counted[1]
    around = set(first.blocks)
    if not all(_is_plain(loop, around) for loop in (first, second)):
        return None
    between = _between(view, first, outer, inner)
    inside = set(second.blocks)
    if between is None:
        return None
    body = next(b for b in second.header.successors if b in inside)
    if body.predecessors != [second.header]:
        return None
    if any(u.block is second.header for i in between for u in i.instruction_users()):
        return None
    return Pair(first, second, tuple(_in_order(between)), body)


def holds_only(view: CFGView, outer: Loop, inner: Loop) -> bool:
    """Whether an outer loop counts and holds nothing but an inner one and what that needs, its bounds among it."""
    counted = counted_loop(view, outer)
    if isinstance(counted, str) or not _is_plain(counted, set(counted.blocks)):
        return False
    return _between(view, counted, outer, inner) is not None


def _between(view: CFGView, first: CountedLoop, outer: Loop, inner: Loop) -> list[Instruction] | None:
    """What stands between two loops, if it has no effect and is for the inner one only."""
    if inner.parent is not outer or len(outer.children) != 1:
        return None
    between: list[Instruction] = []
    inside = {view.blocks[b] for b in inner.blocks}
    for block in (view.blocks[b] for b in sorted(outer.blocks - inner.blocks)):
        if block is first.header:
            continue
        for instruction in block.instructions:
            if instruction is block.terminator or instruction is first.counter.following:
                continue
            if may_write(instruction) or may_read(instruction) or may_trap(instruction) or instruction.is_phi:
                return None
            between.append(instruction)
        if len(block.successors) != 1:
            return None
    if any(u.block not in inside and u not in between for i in between for u in i.instruction_users()):
        return None
    return between


def _in_order(between: list[Instruction]) -> list[Instruction]:
    """Instructions of blocks that follow each other, definitions before uses."""
    left, found = list(between), []
    while left:
        ready = next(i for i in left if not any(o in left for o in i.operands))
        found.append(ready)
        left.remove(ready)
    return found


def _is_plain(loop: CountedLoop, around: set[BasicBlock]) -> bool:
    """Whether a loop's header only counts and tests, from and to what is known before the pair."""
    counter, header = loop.counter, loop.header
    if not loop.top_tested or loop.tests_next or list(header.phis()) != [counter.phi]:
        return False
    branch = header.terminator
    test = branch.operands[0]
    computed = [i for i in header.non_phis() if i is not counter.following]
    if computed != [test, branch] or list(test.instruction_users()) != [branch]:
        return False
    if any(isinstance(v, Instruction) and v.block in around for v in (counter.start, loop.bound)):
        return False
    inside = set(loop.blocks)
    return all(u.block in inside for b in loop.blocks for i in b.instructions for u in i.instruction_users())


def interchange(pair: Pair) -> None:
    """Let two loops change places."""
    for position, instruction in enumerate(pair.between):
        instruction.detach()
        pair.body.insert(pair.body.first_insertion + position, instruction)
    loops = pair.outer, pair.inner
    for loop, other in (loops, loops[::-1]):
        phi = loop.counter.phi
        for index, source in enumerate(list(phi.blocks)):
            phi.set_block(index, other.preheader if source is loop.preheader else other.latch)
        loop.counter.following.detach()
        phi.detach()
    tests = [loop.header.terminator.operands[0] for loop in loops]
    places = [loop.header.terminator.loc for loop in loops]
    for test in tests:
        assert isinstance(test, Instruction)
        test.detach()
    leave_if_true = [loop.header.terminator.blocks[0] is loop.exit for loop in loops]
    for position, loop in enumerate(loops):
        other, test = loops[1 - position], tests[1 - position]
        header = loop.header
        assert isinstance(test, Instruction)
        if leave_if_true[0] != leave_if_true[1]:
            test.attrs["predicate"] = INVERTED[test.predicate]
        header.insert(0, other.counter.phi)
        header.insert_before(header.terminator, test)
        header.terminator.set_operand(0, test)
        header.terminator.loc = places[1 - position]
        following = other.counter.following
        if list(following.instruction_users()) == [other.counter.phi]:
            loop.latch.insert_before(loop.latch.terminator, following)
        else:
            # The body counts with the next value, too.
            header.insert_before(test, following)

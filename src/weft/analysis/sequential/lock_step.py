"""Loops whose iterations cannot run in any order, but in lanes: in lock step, one lane group after the other.

A lane group executes each access of the body for all of its iterations before it goes on to the next (Moll, §3.1). A
dependence of a later iteration on an earlier one is kept if the access of the earlier one stands before that of the
later one in the body: ``a[i] = a[i + 1]`` reads before it writes. So does a store that may meet itself, as of
``a[k[i]]``: lanes store in the order of iterations. One in the other direction, as in ``a[i] = a[i - 4]``, is kept in
groups of no more iterations than are between the two.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.sequential.accesses import Access
from weft.analysis.sequential.dependences import Dependence, Dependences
from weft.analysis.sequential.scope import LoopContext
from weft.ir import BasicBlock, Instruction

MOST_LANES = 64
LEAST_LANES = 4
"""Fewer are not worth it."""


def lanes_in_step(loop: LoopContext, dependences: Dependences) -> int:
    """How many iterations of an innermost loop may run in lock step, a power of two; 0 for none."""
    if not dependences.is_complete or dependences.opaque:
        return 0
    most = MOST_LANES
    for dependence in dependences.found:
        if not _is_plain(dependence.source, loop) or not _is_plain(dependence.sink, loop):
            return 0
        if dependence.source.base is None or dependence.source.base is not dependence.sink.base:
            return 0
        if keeps_in_step(dependence, loop):
            continue
        if dependence.distance is None:
            return 0
        most = min(most, dependence.distance)
    lanes = 1 << (most.bit_length() - 1)
    return lanes if lanes >= LEAST_LANES else 0


def _is_plain(access: Access, loop: LoopContext) -> bool:
    return access.scope is loop.scope and access.loop is loop and access.instruction.op in ("load", "store")


def keeps_in_step(dependence: Dependence, loop: LoopContext) -> bool:
    """Whether lock step keeps a dependence, however many iterations are between its ends."""
    first, second = dependence.source, dependence.sink
    if first.instruction is second.instruction:
        # Of lanes that store to one place as a whole, it is not said which is the last.
        return first.is_write and any(loop.contains(s.loop) for s in first.offset.symbols())
    if first.block is second.block:
        body = first.block.instructions
        return body.index(first.instruction) < body.index(second.instruction)
    return _leads_to(first.block, second.block, loop)


def pairs_of_one_iteration(accesses: Iterable[Access]) -> list[tuple[Instruction, Instruction]]:
    """Accesses, in their order, that may meet in one iteration, one of them a write.

    Accesses of different objects are apart if they do not meet in different iterations.
    """
    accesses = list(accesses)
    found: list[tuple[Instruction, Instruction]] = []
    for number, first in enumerate(accesses):
        for second in accesses[number + 1 :]:
            if first.instruction is second.instruction or not (first.is_write or second.is_write):
                continue
            if first.base is not None and second.base is not None and first.base is not second.base:
                continue
            distance = (second.offset - first.offset).constant
            sizes = first.size.constant, second.size.constant
            if distance is None or None in sizes or -(sizes[1] or 0) < distance < (sizes[0] or 0):
                found.append((first.instruction, second.instruction))
    return found


def _leads_to(first: BasicBlock, second: BasicBlock, loop: LoopContext) -> bool:
    """Whether a block comes before another in every iteration that comes to both."""
    inside, seen = set(loop.blocks), {first}
    work = [first]
    while work:
        for block in work.pop().successors:
            if block is loop.header:
                # Of the next iteration.
                continue
            if block is second:
                return True
            if block in inside and block not in seen:
                seen.add(block)
                work.append(block)
    return False

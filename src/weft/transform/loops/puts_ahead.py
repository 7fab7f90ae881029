"""Where places are put on a shared stack without a branch: the height says whether they are there.

Whether a child is there depends on the node, and is as good as random to the processor, so a branch is often guessed
wrong. What lies above the height is never read: a place may be written whether or not it is to be there::

    B:  br c, P, J                       B:  stack[h] = child
    P:  stack[h] = child            ==>      h' = select c, h + 1, h
        h' = h + 1; br J                     br c, P, J
                                         P:  br J

The branch is left, around nothing. That is for threads that agree on the condition: of others, those that do not want
the place would be noted, too.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.loops.traversals import Put
from weft.ir import Instruction, Value
from weft.ir.effects import is_speculatable

MOST_PLACES = 2
"""Of more places the stores take longer than a wrong guess now and then."""

MOST_MOVED = 8
"""More is not done for nothing, either."""


def branch_around(put: Put, is_uniform: Callable[[Value], bool]) -> Instruction | None:
    """The branch before which the places of a block may be put instead; None if they have to stay.

    Asks whether the threads that come to a value agree on it. What places are computed of is moved before the branch.
    """
    block = put.stores[0].block
    assert block is not None
    if len(put.places) > MOST_PLACES or len(block.predecessors) != 1 or len(block.successors) != 1:
        return None
    branch = block.predecessors[0].terminator
    if branch.op != "br" or len(set(branch.successors)) != 2 or not is_uniform(branch.operands[0]):
        return None
    moved = [i for i in block.instructions[:-1] if i not in put.stores]
    if len(moved) > MOST_MOVED or not all(map(is_speculatable, moved)):
        return None
    assert branch.block is not None
    for instruction in moved:
        block.instructions.remove(instruction)
        branch.block.insert_before(branch, instruction)
    return branch

"""Descents: loops in which each thread looks up where to look next, and writes nothing.

    while labels[node] != wanted:
        node = left[node] if wanted < labels[node] else right[node]

An iteration waits for what the one before has looked up, for as long as it is away, and the machine has little else to
do than to wait for more of them at once. Where threads look up one number in an iteration, as in ``n = parent[n]``, it
does that without being asked for more lanes, and threads whose ways are of different lengths would wait for each other.

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if values[middle] > wanted else (middle, high)

Where a number that is looked up only decides which ones go on, the ways are of about one length, and there is more to
compute for each.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_write
from weft.ir.types import I1


def descends(loop: Loop, view: CFGView, divergence: Divergence) -> bool:
    """Whether a loop is a descent, all of whose exits follow from what threads look up."""
    if loop.children or loop.parent is not None or loop.is_irreducible:
        return False
    blocks = [view.blocks[n] for n in sorted(loop.blocks)]
    instructions = [i for block in blocks for i in block.instructions]
    if any(may_write(i) for i in instructions if not i.is_terminator):
        return False
    gathers = [i for i in instructions if i.op == "load" and divergence.access_form(i).form is Form.GATHER]
    header = view.blocks[loop.header]
    looked_up = _behind(gathers, set(instructions))
    carried = {p for p in header.phis() if any(v in looked_up for v, _ in p.incoming())}
    by_looking = _behind(carried, set(instructions))
    exits = [view.blocks[source].terminator for source, _ in loop.exit_edges]
    return (
        (len(gathers) > 1 or _only_decide(gathers, header, exits, set(instructions)))
        and all(g in by_looking for g in gathers)
        and all(e.op == "br" and e.operands and e.operands[0] in by_looking | looked_up for e in exits)
    )


def _only_decide(
    gathers: list[Instruction], header: BasicBlock, exits: list[Instruction], inside: set[Instruction]
) -> bool:
    """Whether what is looked up in an iteration only decides, by comparisons, which numbers the next one begins with.

    It is no such number itself, and the loop does not end by it in this iteration.
    """
    numbers, decisions = set[Value](), set[Value]()
    work: list[Value] = [*gathers]
    while work:
        value = work.pop()
        found = decisions if value.type == I1 else numbers
        if value in found:
            continue
        found.add(value)
        for user in value.instruction_users():
            if user not in inside or (user.op == "select" and user.operands[0] is value):
                continue
            if user.is_phi and user.block is header:
                return False
            work.append(user)
    return bool(decisions) and not any(e.operands and e.operands[0] in decisions for e in exits)


def _behind(values: list[Instruction] | set[Instruction], inside: set[Instruction]) -> set[Value]:
    """What is computed of some values in the loop, these included."""
    found: set[Value] = set(values)
    work: list[Value] = list(values)
    while work:
        for user in work.pop().instruction_users():
            if user in inside and user not in found:
                found.add(user)
                work.append(user)
    return found

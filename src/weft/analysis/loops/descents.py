"""Descents: loops in which each thread looks up where to look next, and writes nothing.

    while labels[node] != wanted:
        node = left[node] if wanted < labels[node] else right[node]

An iteration waits for what the one before has looked up, for as long as it is away, and the machine has little else to
do than to wait for more of them at once. Where threads look up one number in an iteration, as in ``n = parent[n]``, it
does that without being asked for more lanes.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import may_write


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
        len(gathers) > 1
        and all(g in by_looking for g in gathers)
        and all(e.op == "br" and e.operands and e.operands[0] in by_looking | looked_up for e in exits)
    )


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

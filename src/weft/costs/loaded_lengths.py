"""Loops in which each thread counts to a number of its own that it has loaded, as through a row of a sparse matrix."""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.memory.far_steps import step_of
from weft.graph.loops import Loop
from weft.ir import Instruction, Value


def counts_to_loaded(condition: Value, loop: Loop, divergence: Divergence) -> bool:
    """Whether a condition compares what a loop counts with what has been loaded before it, by each thread."""
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return False
    view = divergence.facts.probability.view
    inside = {view.blocks[n] for n in loop.blocks}
    header, latches = view.blocks[loop.header], [view.blocks[n] for n in loop.latches]
    a, b = map(_without_casts, condition.operands)
    for counter, bound in ((a, b), (b, a)):
        if not isinstance(bound, Instruction) or bound.op != "load" or bound.block in inside:
            continue
        phis = (counter, *counter.operands) if isinstance(counter, Instruction) else ()
        if any(
            isinstance(p, Instruction) and p.is_phi and p.block is header and step_of(p, latch) is not None
            for p in phis
            for latch in latches
        ):
            return not divergence.shape(bound).is_uniform
    return False


def _without_casts(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op in ("sext", "zext", "trunc"):
        value = value.operands[0]
    return value

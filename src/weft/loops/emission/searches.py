"""Loops that end where something is found: threads share the iterations, the first one that leaves the loop counts."""

from __future__ import annotations

from weft.ir.types import I64
from weft.loops.emission.arguments import (
    Target,
    arguments_of,
    assumptions_of,
    host_arguments,
    lines_of,
    told_of,
)
from weft.loops.emission.blocks import MOST_BLOCKS, THREADS
from weft.loops.emission.nests import Nest
from weft.loops.emission.plan import KernelPlan, Plan, Result
from weft.loops.emission.reductions import blocks_for, iterations_of
from weft.loops.emission.sections import sections_of
from weft.loops.emission.structure import Structure
from weft.loops.emission.tree import Argument, Assign, Buffer, Launch, Node, Statement, Variable, number


def search_plan(nest: Nest, name: str, target: Target) -> Plan:
    """The kernel of a search.

    Raises
    ------
    EmissionError
        Something has no form.
    """
    parts = target.parts(nest)
    loop = Structure(parts, parts.values).spread()
    counter = loop.variable
    bits = counter.type.bits  # type: ignore[attr-defined]
    if bits not in (32, 64):
        raise parts.values.error(
            nest.loop.header.terminator, f"a counter of {bits} bits has no atomic operations"
        )
    blocks = Variable(parts.unique("blocks"), I64, "s")
    count = iterations_of(parts)
    body: list[Statement] = [loop]
    low, high = (
        (0, (1 << bits) - 1) if counter.reading == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    )
    worst = high if loop.step > 0 else low
    nothing = Node("int", counter.type, number=worst, reading=counter.reading)
    found = Argument(parts.found, counter.type, counter.reading, True, True)
    notes = list(assumptions_of(nest))
    notes.append(
        "All iterations may be run: what the arrays have behind the one that ends the loop is read, too."
    )
    title = f"Iterations of {lines_of(nest)}: the first that leaves the loop is noted."
    kernel = KernelPlan(
        f"{name}_kernel", title, tuple(notes), arguments_of(parts, body, (found,)), body, (THREADS,)
    )
    steps: list[Statement] = [
        Assign(blocks, blocks_for(count, THREADS, MOST_BLOCKS)),
        Launch(kernel.name, kernel.arguments, kernel.block, blocks=blocks.node),
    ]
    made = Buffer(parts.found, counter.type, counter.reading, number(1), nothing)
    result = Result(counter.name, parts.found, nothing)
    return Plan(
        name, nest.report.line, (kernel,), host_arguments(parts), told_of(parts), tuple(sections_of(parts)), (made,),
        steps, (result,), parts,
    )  # fmt: skip

"""What threads bring along the edges into a block whose edges linearization has redrawn (Moll, §8.4).

The threads that took different old edges into a block now come to it together, over whatever path runs all their
sources. A variable collects what they bring: at the end of each source, the threads that take the edge from there
set it, the others keep what earlier sources on the path have set. So there is nothing to choose on a path on which
a uniform branch left only one source.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.types import Type
from weft.transform.redrawn_graph import RedrawnGraph
from weft.transform.ssa_repair import ReachingDefinition

Define = Callable[[int, Value], Value]
"""Given a source and the value that threads brought so far, the value at the source's end."""


def collect_arrivals(
    graph: RedrawnGraph, target: int, type: Type, name: str, nothing: Value, define: Define
) -> Value:
    """The value of the variable at the start of block `target`; `nothing` where no thread came yet."""
    blocks = graph.blocks
    reaching = ReachingDefinition(type, {}, name, nothing)
    around = graph.loops.innermost[target]
    if around is not None:
        # What threads brought in an earlier iteration must not be seen in this one.
        reaching.at_start[blocks[around.header]] = nothing
    sources = sorted(set(graph.old_preds[target]), key=graph.index.number.__getitem__)
    for source in sources:
        _enter_loops(graph, reaching, source, around)
        prior = _settled(reaching, blocks[source])
        reaching.at_end[blocks[source]] = define(source, prior)
    return _settled(reaching, blocks[target])


def _enter_loops(graph: RedrawnGraph, reaching: ReachingDefinition, source: int, around: Loop | None) -> None:
    """All threads leave a loop by one exit in one iteration: before, nobody brought anything from inside."""
    inside: list[Loop] = []
    loop = graph.loops.innermost[source]
    while loop is not None and loop is not around:
        inside.append(loop)
        loop = loop.parent
    for loop in reversed(inside):
        header = graph.blocks[loop.header]
        if header not in reaching.at_start:
            outside = next(p for p in header.predecessors if graph.number[p] not in loop.blocks)
            reaching.at_start[header] = reaching.at_end.get(outside) or _settled(reaching, outside)


def _settled(reaching: ReachingDefinition, block: BasicBlock) -> Value:
    """The value at the start of `block`, without φs that merge a single value."""
    value = reaching.start_of(block)
    if isinstance(value, Instruction) and value in reaching.new_phis:
        reaching.simplify()
        value = reaching.start_of(block)
    return value

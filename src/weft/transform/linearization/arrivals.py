"""What threads bring along the edges into a block whose edges linearization has redrawn (Moll, §8.4).

The threads that took different old edges into a block now come to it together, over whatever path runs all their
sources. A variable collects what they bring: at the end of each source, the threads that take the edge from there
set it, and those that come later may, as they set it again; the others keep what earlier sources on the path have set.
So there is nothing to choose on a path on which a uniform branch left only one source.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.graph.dominators import NONE
from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.ir.types import Type
from weft.transform.linearization.redrawn_graph import RedrawnGraph
from weft.transform.ssa_repair import ReachingDefinition

Define = Callable[[int, Value], Value]
"""Given a source and the value that threads brought so far, the value at the source's end."""


def collect_arrivals(
    graph: RedrawnGraph, target: int, type: Type, name: str, nothing: Value, define: Define
) -> Value:
    """The value of the variable at the start of block `target`; `nothing` where no thread came yet."""
    variable = _Variable(graph, ReachingDefinition(type, {}, name, nothing, graph.predecessors))
    at_start = variable.reaching.at_start
    sources = sorted(set(graph.old_preds[target]), key=graph.index.number.__getitem__)
    # Nobody brought anything above the block through which all sources are reached: what is above is not looked at.
    at_start[graph.blocks[_common_dominator(graph, sources)]] = nothing
    around = graph.loops.innermost[target]
    if around is not None:
        # What threads brought in an earlier iteration must not be seen in this one.
        at_start[graph.blocks[around.header]] = nothing
    for source in sources:
        for loop in reversed(_loops_within(graph, source, around)):
            # All threads leave a loop by one exit in one iteration: before, nobody brought anything from inside.
            header = graph.blocks[loop.header]
            if header not in at_start:
                (outside,) = (p for p in header.predecessors if graph.number[p] not in loop.blocks)
                at_start[header] = variable.at_end(graph.number[outside])
        variable.define(source, define(source, variable.at_start(source)))
    return variable.at_start(target)


def _common_dominator(graph: RedrawnGraph, blocks: list[int]) -> int:
    """The nearest block that dominates all of `blocks`; the entry where one of them is not reached."""
    tree, found = graph.new_dominators, blocks[0]
    for block in blocks:
        while found not in (tree.root, NONE) and not tree.dominates(found, block):
            found = tree.idom[found]
    return tree.root if found == NONE else found


def _loops_within(graph: RedrawnGraph, block: int, around: Loop | None) -> list[Loop]:
    """The loops that `block` lies in, within the loop `around`, from the inside out."""
    found: list[Loop] = []
    loop = graph.loops.innermost[block]
    while loop is not None and loop is not around:
        found.append(loop)
        loop = loop.parent
    return found


class _Variable(Struct):
    """What reaches a block from the sources so far, found without a search where the last of them dominates it."""

    graph: RedrawnGraph
    reaching: ReachingDefinition
    last: int = -1

    def define(self, source: int, value: Value) -> None:
        self.reaching.at_end[self.graph.blocks[source]] = value
        self.last = source

    def at_end(self, block: int) -> Value:
        known = self.reaching.set_in(self.graph.blocks[block])
        return known if known is not None else self.at_start(block)

    def at_start(self, block: int) -> Value:
        """The value at the start of `block`, without φs that merge a single value."""
        if self.last < 0:
            return self.reaching.unreached
        if self.graph.new_dominators.strictly_dominates(self.last, block):
            known = self.reaching.set_in(self.graph.blocks[self.last])
            assert known is not None
            return known
        value = self.reaching.start_of(self.graph.blocks[block])
        if isinstance(value, Instruction) and value in self.reaching.new_phis:
            self.reaching.simplify()
            value = self.reaching.start_of(self.graph.blocks[block])
        return value

"""The masks of a linearized function's blocks and edges (Moll, §8.4), each built where it is first needed.

A mask is a total i1 value that is never poison: the threads that execute a block, or that go along an edge of the
graph as it was. A block that runs exactly when its immediate dominator runs gets that one's mask, and so does a
block behind a loop; the mask of any other block is the disjunction of its edges' masks. So there are as few as
Karrenberg and Hack (§3.3) want.
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.masks import implies
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Instruction, Value
from weft.ir.types import I1, IntType
from weft.transform.linearization.arrivals import collect_arrivals
from weft.transform.linearization.masks import both, either, negated
from weft.transform.linearization.redrawn_graph import RedrawnGraph


class BlockMasks(Struct):
    """Builds masks for the blocks of `graph`, which have to be asked for in the order of its index."""

    graph: RedrawnGraph
    _of_block: dict[int, Value] = field(default_factory=dict)
    _of_edge: dict[tuple[int, int], Value] = field(default_factory=dict)
    _equal: dict[tuple[int, int], Value] = field(default_factory=dict)
    _replaced: dict[Value, Value] = field(default_factory=dict)

    def place(self, i: int) -> Value:
        """Find the mask of block `i`, within the predicate that it has already.

        A predicate that is constant true is a promise: only all threads together come to the block.
        """
        block = self.graph.blocks[i]
        mask = self._from_edges(i)
        own = block.predicate
        if own == TRUE and self._is_entered_as_before(i):
            mask = TRUE
        elif own is not None and not implies(mask, own):
            mask = own if implies(own, mask) else both(_top_of(block, own, mask), own, mask)
        self._of_block[i] = mask
        return mask

    def _is_entered_as_before(self, i: int) -> bool:
        return self.graph.is_intact(i) and not any(map(self.graph.is_folded, self.graph.old_preds[i]))

    def replace(self, old: Instruction, new: Value) -> None:
        """Put `new` in the place of `old`, which masks and conditions noted here may still name."""
        old.replace_all_uses(new)
        self._replaced[old] = new
        old.erase()

    def _current(self, value: Value) -> Value:
        while (new := self._replaced.get(value)) is not None:
            value = new
        return value

    def of(self, i: int) -> Value:
        """The mask of block `i`, once it is placed."""
        return self._current(self._of_block[i])

    def _from_edges(self, i: int) -> Value:
        graph = self.graph
        if i == 0:
            return TRUE
        loop = graph.loops.headed_by[i]
        if loop is not None:
            (outside,) = (p for p in dict.fromkeys(graph.old_preds[i]) if p not in loop.blocks)
            return self.arriving(outside, i)
        above = graph.equivalent_above(i)
        if above is not None:
            return self.of(above)
        return self._phi_of_masks(i) if graph.is_intact(i) else self._disjunction(i)

    def _phi_of_masks(self, i: int) -> Value:
        """The mask of a block that is reached as before: the one that comes along the edge that is taken."""
        graph = self.graph
        block = graph.blocks[i]
        sources = list(dict.fromkeys(graph.old_preds[i]))
        masks = [self.arriving(p, i) for p in sources]
        if all(m is masks[0] or m == masks[0] for m in masks):
            return masks[0]
        phi = Builder(block).phi(I1, f"{block.name}.mask")
        for source, mask in zip(sources, masks, strict=True):
            # A switch may have several edges to the block, and a φ has one entry for each.
            for _ in range(graph.blocks[source].terminator.successors.count(block)):
                phi.add_incoming(mask, graph.blocks[source])
        return phi

    def _disjunction(self, i: int) -> Value:
        block = self.graph.blocks[i]
        name = f"{block.name}.mask"

        def joined(source: int, prior: Value) -> Value:
            return either(self.at_end(source), prior, self.of_edge(source, i), name)

        return collect_arrivals(self.graph, i, I1, name, FALSE, joined)

    def arriving(self, source: int, target: int) -> Value:
        """The threads on an edge that is still there; all those in `source` if its branch is."""
        return self.of_edge(source, target) if self.graph.is_folded(source) else self.of(source)

    def of_edge(self, source: int, target: int) -> Value:
        """The mask of the threads that went from `source` to `target`, valid at the end of `source`."""
        known = self._of_edge.get((source, target))
        if known is not None:
            return self._current(known)
        mask = self.of(source)
        if len(set(self.graph.branches[source].targets)) > 1:
            builder = self.at_end(source)
            mask = both(builder, mask, self._condition(builder, source, self.graph.blocks[target]))
        self._of_edge[source, target] = mask
        return mask

    def at_end(self, i: int) -> Builder:
        """A builder of total instructions at the end of block `i`."""
        builder = Builder(before=self.graph.blocks[i].terminator)
        builder.total = True
        return builder

    def _condition(self, builder: Builder, source: int, target: BasicBlock) -> Value:
        """The condition under which the branch that `source` had goes to `target`."""
        branch = self.graph.branches[source]
        assert branch.condition is not None
        tested = self._current(branch.condition)
        if branch.cases is None:
            return tested if target is branch.targets[0] else negated(builder, tested)
        condition: Value = FALSE
        for case in branch.cases.get(target, ()):
            equal = self._equals(builder, source, tested, case)
            condition = equal if condition == FALSE else builder.binary("or", condition, equal)
        if target is not branch.targets[0]:
            return condition
        others: Value = TRUE
        for destination, cases in branch.cases.items():
            if destination is not target:
                for case in cases:
                    equal = self._equals(builder, source, tested, case)
                    others = both(builder, others, negated(builder, equal))
        return others if condition == FALSE else builder.binary("or", condition, others)

    def _equals(self, builder: Builder, source: int, tested: Value, case: int) -> Value:
        """Whether the switch of block `source` tests `case`."""
        known = self._equal.get((source, case))
        if known is None:
            assert isinstance(tested.type, IntType)
            number = ConstInt(tested.type, case)
            known = self._equal[source, case] = builder.icmp("eq", tested, number)
        return known


def _top_of(block: BasicBlock, *values: Value) -> Builder:
    """A builder of total instructions at the top of `block`, below those of `values` that are defined there."""
    at = block.first_insertion
    for value in values:
        if isinstance(value, Instruction) and value.block is block and not value.is_phi:
            at = max(at, block.instructions.index(value) + 1)
    builder = Builder(block, block.instructions[at])
    builder.total = True
    return builder

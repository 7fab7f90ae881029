"""Loads from stack objects that read what an earlier iteration of an outer loop has stored.

    for row in range(m):
        for column in range(n):
            over = above[column + 1]            stored by the row before, or before the first one
            ...
            above[column + 1] = score

In one run of the inner loop each element is touched by one iteration, which loads before it stores. So what goes around
by way of the object goes around once in an iteration of the outer loop at most, however long the inner one is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.analysis.memory.addresses import decompose, with_factors
from weft.analysis.memory.stack_objects import Site, StackObjects
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import I64, IntType

_SHORT = 33
"""Bits by which extended counters may differ."""


class EarlierStores:
    """Asks of one function's loads which iteration has stored what they read.

    Parameters
    ----------
    innermost
        The innermost loop around each block, by numbers of the view.
    rounds
        How often a loop goes back to its header at most, where that is known.
    """

    __slots__ = ("_dominators", "_function", "_innermost", "_known", "_objects", "_rounds", "_view")

    def __init__(
        self,
        function: Function,
        view: CFGView,
        objects: StackObjects,
        innermost: Sequence[Loop | None],
        rounds: Callable[[Loop], int | None],
    ) -> None:
        self._rounds = rounds
        self._function = function
        self._view = view
        self._objects = objects
        self._innermost = innermost
        self._dominators: DominatorTree | None = None
        self._known: dict[tuple[Instruction, Loop], bool] = {}

    def reads_earlier(self, load: Instruction, outer: Loop) -> bool:
        """Whether no iteration of a loop loads there what it has stored itself."""
        known = self._known.get((load, outer))
        if known is None:
            known = self._known[load, outer] = self._find(load, outer)
        return known

    def _find(self, load: Instruction, outer: Loop) -> bool:
        if load.op != "load" or load.block not in self._view.index:
            return False
        inner = self._innermost[self._view.index[load.block]]
        sites = self._objects.of(load.pointer)
        if inner is None or inner.parent is not outer or inner.is_irreducible or len(sites) != 1:
            return False
        (site,) = sites
        if site in self._objects.escaped or not self._moves_on(load.pointer, site, load, inner):
            return False
        return all(self._comes_behind(writer, load, outer) for writer in self._objects.writers(site))

    def _comes_behind(self, writer: Instruction, load: Instruction, outer: Loop) -> bool:
        """Whether a store is outside of a loop, or to what is loaded in the same iteration, behind that."""
        assert writer.block is not None and load.block is not None
        index = self._view.index
        if writer.block not in index or index[writer.block] not in outer.blocks:
            return True
        if writer.op != "store" or writer.pointer is not load.pointer:
            return False
        if writer.block is load.block:
            instructions = load.block.instructions
            return instructions.index(load) < instructions.index(writer)
        if self._dominators is None:
            self._dominators = dominator_tree(self._view.cfg)
        inside = self._innermost[index[writer.block]] is self._innermost[index[load.block]]
        return inside and self._dominators.dominates(index[load.block], index[writer.block])

    def _moves_on(self, pointer: Value, site: Site, load: Instruction, inner: Loop) -> bool:
        """Whether each iteration of a loop has an element of an object for itself."""
        assert self._function.module is not None
        layout = self._function.module.layout
        scale = 0
        counter: Value | None = None
        while pointer is not site:
            if not isinstance(pointer, Instruction) or pointer.op != "getelementptr":
                return False
            address = with_factors(decompose(pointer.operands, pointer.source_type, layout))
            for index, factor in zip(address.indices, address.scales, strict=True):
                if counter is not None:
                    return False
                counter, scale = index, factor
            pointer = address.base
        if isinstance(counter, Instruction) and counter.op in ("sext", "zext"):
            counter = counter.operands[0]
            if isinstance(counter.type, IntType) and counter.type.bits > 32:
                return False
        elif counter is not None and counter.type != I64:
            return False
        if not isinstance(counter, Instruction) or not counter.is_phi or counter.shadow is not None:
            return False
        if counter.block is not self._view.blocks[inner.header] or not isinstance(counter.type, IntType):
            return False
        step, rounds = self._step(counter, inner), self._rounds(inner)
        if not step or rounds is None or abs(scale) < layout.size(load.type):
            return False
        # The counter comes to no number twice, and no multiple of it to the same address.
        bits = counter.type.bits
        return rounds * abs(step) < 1 << (bits - 1) and max(rounds, 1 << _SHORT) * abs(step * scale) < 1 << 62

    def _step(self, counter: Instruction, loop: Loop) -> int:
        """The constant by which a φ moves in each iteration; 0 if there is none."""
        found = 0
        for value, source in counter.incoming():
            if self._view.index[source] not in loop.blocks:
                continue
            if not isinstance(value, Instruction) or value.op != "add":
                return 0
            first, second = value.operands
            if first is not counter or not isinstance(second, ConstInt) or found not in (0, second.signed):
                return 0
            found = second.signed
        return found

"""Which branches decide what a φ of a loop's body is.

Those in blocks between the φ's block and the nearest one through which every way to it leads: at them ways part that
come together in the φ. Of a φ of an inner loop's header these are all branches of that loop, which decide how often it
runs. The header's own φs are decided by nothing: one value is there when the loop
begins, and the other one in each later iteration.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.graph.cfg import CFG
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.ir import BasicBlock, Instruction


class Deciders:
    """The deciding branches of a loop.

    Parameters
    ----------
    blocks
        The blocks of the loop.
    header
        The one that it begins with.
    """

    def __init__(self, blocks: Collection[BasicBlock], header: BasicBlock) -> None:
        self._header = header
        self._blocks = [header, *(b for b in blocks if b is not header)]
        self._numbers = {b: k for k, b in enumerate(self._blocks)}
        self._graph: CFG | None = None
        self._tree: DominatorTree | None = None
        self._found: dict[BasicBlock, tuple[Instruction, ...]] = {}

    def of(self, phi: Instruction) -> tuple[Instruction, ...]:
        """The terminators that decide which value a φ takes."""
        block = phi.block
        if block is None or block is self._header or block not in self._numbers:
            return ()
        if block not in self._found:
            self._found[block] = tuple(b.terminator for b in self._between(self._numbers[block]))
        return self._found[block]

    def _between(self, end: int) -> list[BasicBlock]:
        if self._graph is None or self._tree is None:
            own = (
                [self._numbers[s] for s in b.successors if s in self._numbers and s is not self._header]
                for b in self._blocks
            )
            self._graph = CFG(own)
            self._tree = dominator_tree(self._graph)
        begin = self._tree.idom[end]
        found: set[int] = set()
        work = list(self._graph.preds[end])
        while work:
            number = work.pop()
            if number in found:
                continue
            found.add(number)
            if number != begin:
                work += self._graph.preds[number]
        return [self._blocks[n] for n in sorted(found)]

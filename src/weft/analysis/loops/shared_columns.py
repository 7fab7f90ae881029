"""Values in a loop that all its iterations have in common, and blocks that these come to as often.

What is computed of numbers, of what the loop does not change and of counters of loops in it is the same in all of its
iterations, if these inner loops all have as many rounds. A load is, if its address is: this is a question of what pays,
and nothing rests on it. Facts are about a function in canonical form.
"""

from __future__ import annotations

from weft.analysis.loops.computed_of import computed_of
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Value
from weft.ir.cfg_view import CFGView


class SharedColumns:
    """What the iterations of a loop have in common."""

    __slots__ = ("_headers", "_inside", "_loop", "_own", "_rounds", "_view")

    def __init__(self, view: CFGView, loop: Loop) -> None:
        self._view, self._loop = view, loop
        self._inside = {view.blocks[b] for b in loop.blocks}
        self._headers = {
            view.blocks[x.header]: x
            for x in loop_forest(view.cfg).loops
            if x is not loop and loop.contains(x)
        }
        # What iterations have each for themselves: what is computed of φs that are not those of inner loops.
        own = [phi for block in self._inside if block not in self._headers for phi in block.phis()]
        self._own = computed_of(own, lambda i, _: i.block in self._inside)
        self._rounds: dict[int, bool] = {}

    def of(self, value: Value) -> bool:
        """Whether a value is the same in all iterations, in the same rounds of loops in them."""
        return value not in self._own

    def reached(self, block: BasicBlock) -> bool:
        """Whether all loops in the loop that a block is in have as many rounds in all iterations."""
        innermost = loop_forest(self._view.cfg).innermost[self._view.index[block]]
        around = innermost.ancestors() if innermost is not None else ()
        return all(
            self._has_shared_rounds(each)
            for each in around
            if each is not self._loop and self._loop.contains(each)
        )

    def _has_shared_rounds(self, loop: Loop) -> bool:
        if loop.header not in self._rounds:
            ends = [self._view.blocks[source].terminator for source, _ in loop.exit_edges]
            self._rounds[loop.header] = all(self.of(o) for end in ends for o in end.operands)
        return self._rounds[loop.header]

"""Whether it pays to copy what each iteration of a loop has for itself of an array, and to copy it back.

It does where columns are the same for all iterations, so that lanes access their copies at one place, where each
element is accessed several times, and where one iteration accesses several columns: other loops along rows are LLVM's.
How often inner loops run is estimated: of triangles half of the longest, of what nobody knows `UNKNOWN_ROUNDS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.analysis.loops.own_places import Terms
from weft.analysis.loops.shared_columns import SharedColumns
from weft.graph.loops import Loop, loop_forest
from weft.ir import Instruction
from weft.ir.cfg_view import CFGView

LEAST_ACCESSES = 6
"""Accesses of an element in one iteration, at least: the copy and what is copied back are four."""

LEAST_IN_MATRIX = 4.0
"""The same where rows are lines of matrices, and rounds of triangles are estimated."""

UNKNOWN_ROUNDS = 8
"""Iterations of a loop of which the program does not say how many there are."""

MOST = 1024
"""Iterations of a loop that are known to be so few at most."""


class Access(Struct, frozen=True):
    """A load or a store, and its column: the sum of values times numbers of elements, and elements."""

    instruction: Instruction
    terms: Terms
    offset: int


class RowUses:
    """How often the iterations of a loop access their rows."""

    __slots__ = ("_loop", "_ranges", "_rounds", "_shared", "_view")

    def __init__(self, view: CFGView, loop: Loop, ranges: Ranges) -> None:
        self._view, self._loop, self._ranges = view, loop, ranges
        self._shared = SharedColumns(view, loop)
        self._rounds: dict[int, float] = {}

    def pay(self, accesses: Sequence[Access], in_matrix: int | None) -> bool:
        """Whether lanes would access their copies at one place, often enough, and at several columns.

        Of matrices it is known how many elements they have.
        """
        if len({(access.terms, access.offset) for access in accesses}) < 2:
            return False
        for access in accesses:
            block = access.instruction.block
            assert block is not None
            values = [value for value, _ in access.terms]
            if not self._shared.reached(block) or not all(map(self._shared.of, values)):
                return False
        if in_matrix is not None:
            return sum(map(self._times, accesses)) >= LEAST_IN_MATRIX * in_matrix
        return sum(map(self._accesses_of_element, accesses)) >= LEAST_ACCESSES

    def _times(self, access: Access) -> float:
        """How often an iteration comes to an access."""
        times = 1.0
        for loop in self._around(access):
            times *= self._iterations(loop)
        return times

    def _accesses_of_element(self, access: Access) -> float:
        """How often a nest goes along the row: the iterations of the loops around the innermost one."""
        rounds = 0.0
        for loop in self._around(access)[1:]:
            rounds = max(rounds, 1) * self._iterations(loop)
        return rounds

    def _around(self, access: Access) -> list[Loop]:
        """The loops in the loop that an access is in, the innermost one first."""
        block = access.instruction.block
        assert block is not None
        innermost = loop_forest(self._view.cfg).innermost[self._view.index[block]]
        assert innermost is not None
        return [x for x in innermost.ancestors() if x is not self._loop and self._loop.contains(x)]

    def _iterations(self, loop: Loop) -> float:
        if loop.header not in self._rounds:
            counted = counted_loop(self._view, loop)
            known = known_iterations(counted) if isinstance(counted, CountedLoop) else None
            if known is None and isinstance(counted, CountedLoop):
                known = self._half_of_longest(counted)
            self._rounds[loop.header] = UNKNOWN_ROUNDS if known is None else known
        return self._rounds[loop.header]

    def _half_of_longest(self, counted: CountedLoop) -> float | None:
        """Half of the iterations that a loop has at most, of a number that is computed, or to one that is."""
        start, bound = self._ranges.of(counted.counter.start), self._ranges.of(counted.bound)
        if start is None or bound is None or counted.counter.step == 0:
            return None
        longest = max(bound.hi - start.lo, start.hi - bound.lo) / abs(counted.counter.step)
        return longest / 2 if longest <= MOST else None

"""How far the next use of each value is: Belady's measure over a control-flow graph.

Distances are instructions on the shortest way. Leaving a loop counts as a long way, so that what is used in a loop is
nearer than what is used behind it (Braun and Hack, CC 2009, §4.1).
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from weft.graph.cfg import reverse_postorder
from weft.graph.loops import loop_forest
from weft.ptx.regalloc.liveness import Liveness, members

_FAR = np.float64(1e9)
_OUT_OF_LOOP = 1e5
_ROUNDS = 12


class Distances:
    """Next uses in one body."""

    def __init__(self, liveness: Liveness) -> None:
        self._liveness = liveness
        cfg = liveness.flow.cfg
        count = len(liveness.registers)
        depth = [0] * len(cfg)
        forest = loop_forest(cfg)
        for block in range(len(cfg)):
            loop = forest.innermost[block]
            while loop is not None:
                depth[block] += 1
                loop = loop.parent
        self._in = [np.full(count, _FAR) for _ in range(len(cfg))]
        self._depth = depth
        self._first: list[int] = []
        number = 0
        for row in liveness.accesses:
            self._first.append(number)
            number += len(row)
        self._latest: tuple[int, list[np.ndarray]] = (-1, [])
        order = list(reversed(reverse_postorder(cfg.succs)))
        changed = True
        rounds = 0
        while changed and rounds < _ROUNDS:
            changed = False
            rounds += 1
            for block in order:
                new = self.ahead(block)[0]
                if not np.array_equal(new, self._in[block]):
                    self._in[block] = new
                    changed = True

    def _out(self, block: int) -> np.ndarray:
        found = np.full(len(self._liveness.registers), _FAR)
        for successor in self._liveness.flow.cfg.distinct_succs(block):
            leaves = self._depth[successor] < self._depth[block]
            found = np.minimum(found, self._in[successor] + (_OUT_OF_LOOP if leaves else 0))
        return np.minimum(found, _FAR)

    def ahead(self, block: int) -> list[np.ndarray]:
        """Before each instruction of a block, and at its end."""
        rows = [self._out(block)]
        for access in reversed(self._liveness.accesses[block]):
            far = np.minimum(rows[-1] + 1, _FAR)
            # What a guarded write keeps is needed until there, and no use.
            used = access.reads | (access.writes & ~access.kills)
            for number in members(access.kills & ~used):
                far[number] = _FAR
            for number in members(used):
                far[number] = 0
            rows.append(far)
        rows.reverse()
        return rows

    def at(self, point: int) -> np.ndarray:
        """Before the instruction of an even point, behind that of an odd one (`weft.ptx.regalloc.intervals`)."""
        number = point // 2
        block = bisect_right(self._first, number) - 1
        # Of blocks that begin at the same number, all but the last are empty.
        if self._latest[0] != block:
            self._latest = (block, self.ahead(block))
        return self._latest[1][number - self._first[block] + point % 2]

"""What a function accesses, iteration by iteration."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from weft.graph.loops import loop_forest
from weft.ir import Instruction
from weft.ir.cfg_view import cfg_of
from weft.report.loops.nests import LoopReport


class Trace:
    """Addresses of all accesses, with the iterations that they are of."""

    def __init__(self, report: LoopReport) -> None:
        function = report.loop.scope.function
        self.view = cfg_of(function)
        self.forest = loop_forest(self.view.cfg)
        self.stack: list[list[Any]] = []
        self.seen: dict[Instruction, list[tuple[dict[int, int], int]]] = defaultdict(list)

    def on_block(self, machine: Any, block: Any, active: Any) -> None:
        number = self.view.index.get(block)
        if number is None:
            return
        while self.stack and number not in self.stack[-1][0].blocks:
            self.stack.pop()
        loop = self.forest.headed_by[number]
        if loop is None:
            return
        if self.stack and self.stack[-1][0] is loop:
            self.stack[-1][1] += 1
        else:
            self.stack.append([loop, 0])

    def on_access(
        self, machine: Any, i: Instruction, addresses: np.ndarray, mask: Any, kind: str, size: int
    ) -> None:
        here = {loop.header: iteration for loop, iteration in self.stack}
        self.seen[i].append((here, int(np.broadcast_to(addresses, (1,))[0])))

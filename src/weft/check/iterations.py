"""Iterations of parallel loops that touch each other's memory: what such a program computes depends on their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.diag.source import SourceSpan
from weft.interp import Program
from weft.interp.memory.memory import FIRST_OWN_ADDRESS
from weft.ir import BasicBlock, Instruction
from weft.ir.locations import span_of

_CHUNK, _LAUNCHER = ".chunk", "weft.parallel"

Array = np.ndarray


class IterationRaces:
    """A hook that finds memory of the caller that two iterations access, one of them to write.

    The program is one behind the pass ``parallel loops``: each body is a function of its own.

    Attributes
    ----------
    found
        Where the first such access is; None while there is none.
    """

    def __init__(self, program: Program) -> None:
        functions = program.module.functions
        self._bodies = {name.removesuffix(_CHUNK) for name in functions if name.endswith(_CHUNK)}
        self._bodies |= {f"{name}.partial" for name in self._bodies}
        # Iterations of one loop are compared; the pool is given one after the other.
        self._begins = {_LAUNCHER} if _LAUNCHER in functions else {f"{name}{_CHUNK}" for name in self._bodies}
        self._iteration = 0
        self._touched: dict[int, tuple[int, bool]] = {}
        self.found: SourceSpan | bool | None = None

    def on_block(self, machine: Any, block: BasicBlock, active: object) -> None:
        function = block.function
        if function is None or function.entry is not block:
            return
        if function.name in self._begins:
            self._touched.clear()
        elif function.name in self._bodies:
            # Each lane is an iteration.
            self._iteration += 1 << 16

    def on_access(
        self, machine: Any, instruction: Instruction, addresses: Array, mask: Array, kind: str, size: int
    ) -> None:
        if self.found or not self._iteration or kind == "atomic":
            return
        lanes = machine.lanes
        places = np.broadcast_to(addresses, (lanes,))
        for lane in np.flatnonzero(np.broadcast_to(mask, (lanes,))):
            if int(places[lane]) < FIRST_OWN_ADDRESS:
                self._touch(
                    instruction, int(places[lane]), size, self._iteration + int(lane), kind == "store"
                )

    def _touch(self, instruction: Instruction, address: int, size: int, iteration: int, writes: bool) -> None:
        for byte in range(address, address + size):
            before = self._touched.get(byte)
            if before is not None and before[0] != iteration and (writes or before[1]):
                self.found = span_of(instruction) or True
                return
            self._touched[byte] = (iteration, writes or (before is not None and before[1]))

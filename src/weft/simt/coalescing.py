"""How the accesses of warps to global memory fall into lines of 128 bytes."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from weft.interp.machine import Machine
from weft.ir import Instruction
from weft.machine.gpus import WARP
from weft.machine.transactions import LINE, units
from weft.simt.places import Places, Space

Array = np.ndarray


class LineAccesses(Struct):
    """The accesses of one instruction.

    Parameters
    ----------
    requests, threads
        How often warps accessed, and how many threads of them.
    lines
        Lines that were touched, each once for each request.
    least
        The lines that accesses of as many bytes need at least.
    """

    requests: int = 0
    threads: int = 0
    lines: int = 0
    least: int = 0

    @property
    def per_request(self) -> float:
        """Lines of a request: 1 for consecutive words, up to 32 where each thread has its own."""
        return self.lines / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """The lines needed at least, over those touched."""
        return self.least / self.lines if self.lines else 1.0


class Coalescing:
    """A hook of the interpreter that counts lines; lane groups have to be warps of 32 threads.

    Attributes
    ----------
    accesses
        By instruction; accesses to shared and local memory are not among them.
    """

    def __init__(self) -> None:
        self.accesses: dict[Instruction, LineAccesses] = {}
        self._places = Places()

    def on_access(
        self, machine: Machine, instruction: Instruction, addresses: Array, mask: Array, kind: str, size: int
    ) -> None:
        """Count an access of the active threads."""
        if not mask.any():
            return
        space, places = self._places.of(machine, addresses, mask, size)
        if space is not Space.GLOBAL:
            return
        found = self.accesses.setdefault(instruction, LineAccesses())
        active, places = mask.reshape(-1, WARP), places.reshape(-1, WARP)
        for warp in np.flatnonzero(active.any(axis=1)).tolist():
            own = places[warp, active[warp]]
            found.requests += 1
            found.threads += len(own)
            found.lines += len(units(own, size, LINE))
            found.least += max(1, -(-len(np.unique(own)) * size // LINE))

"""Nests that wait for memory: where boxes of several rows gain nothing.

Such boxes save loads and arithmetic. A nest that does little with what it reads waits for caches all the same, and
reads several rows less steadily than one. Measured on an Intel server core (2 MiB of second-level cache), in AVX-512
and AVX2, with stencils of 3 to 21 points that are in no published table, in floats and doubles: by the cycles that the
model has for an iteration along one row, for each byte that it reads or writes,

* up to 0.064 two rows took 0.74 to 1.15 times the speed of one, at all sizes;
* from 0.074 to 0.1 1.05 to 1.5 times where arrays fit into that cache, 0.85 to 1.05 beyond;
* from 0.107 on 1.05 to 1.5 times at all sizes; four rows up to 1.9 times near, and 0.8 to 1.5 times beyond;
* from 0.2 on four rows took 1.34 to 1.66 times, and two 1.3 to 1.45, in rows of 500, 512, 1000 and 1024 elements.

On AMD's Zen 4 and 5 nests of all kinds gained, and as much at 1000 by 1000 doubles as where they fit; four rows more
than two, unless these compete for the same sets of the first-level cache (`weft.codegen.parallel.row_versions`).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.analysis.memory.alias import locate
from weft.ir import Instruction
from weft.ir.layout import DataLayout
from weft.machine.cores import Core

LEAST, BUSY, VERY_BUSY = 0.07, 0.105, 0.2
"""Cycles for each byte from which on two rows gain where arrays are near, wherever they are, and four rows, too."""

NEAR_BYTES = 2 << 20
"""What a near cache holds."""

MORE_ROWS = 0.93
"""What the cycles of more than two rows are multiplied by where they do not compete. On Zen 4, 4x16 took 1.0 to 1.08
times the speed of 2x16 for Jacobi-5, Jacobi-9 and sparse Jacobi-5 at 300 and 600 doubles a row, where the model expects
0.94 to 1.03, and 1.1 to 1.35 times at 1000 and 2000."""


class Streams(Struct, frozen=True):
    """What a nest gets from memory.

    Parameters
    ----------
    gains
        Whether boxes of several rows gain at all.
    most
        Of how many iterations, at most; None for any number.
    compete
        Whether more than two rows drive each other out of the cache.
    by_distance
        Whether they do so only where rows are near a multiple of some size apart; elsewhere they gain.
    """

    gains: bool = True
    most: int | None = None
    compete: bool = True
    by_distance: bool = False


def streams(accesses: Iterable[Instruction], cycles: float, layout: DataLayout, core: Core) -> Streams:
    """What a nest gets from memory whose iterations make these loads and stores, in so many cycles along one row."""
    if core.reads_rows_steadily:
        return Streams(by_distance=True)
    arrays: dict[object, int] = {}
    written: dict[object, int] = {}
    for access in accesses:
        array, size = locate(access.pointer, layout).base, layout.size(access.accessed_type)
        arrays[array] = max(arrays.get(array, 0), size)
        if access.op == "store":
            written[array] = arrays[array]
    held = sum(arrays.values())
    # What is written is read first, and goes back.
    moved = held + sum(written.values())
    if cycles < LEAST * moved:
        return Streams(gains=False)
    most = NEAR_BYTES // held if cycles < BUSY * moved else None
    return Streams(most=most, compete=cycles < VERY_BUSY * moved)

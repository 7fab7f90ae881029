"""How groups are handed out to the threads of the pool."""

from __future__ import annotations

import math

from msgspec import Struct


class RunUnit(Struct, frozen=True):
    """Runs of groups are multiples of so many that their rows are whole lane groups (`weft.codegen.order.rows`).

    Parameters
    ----------
    width
        Threads of a lane group; 1 where lane groups do not go on from group to group.
    dimension
        Along which they do, 0 for x.
    size
        Threads along it of the groups for which they do, where it is only those.
    rows, across
        How many rows of threads belong together, and along which dimension (`weft.codegen.order.bands`).
    long
        Whether runs are as long as may be: what a run does before its first group and behind its last one takes time
        (`weft.codegen.work_groups.group_copies`).
    """

    width: int = 1
    dimension: int = 0
    size: int | None = None
    rows: int = 1
    across: int = 0
    long: bool = False

    def groups(self, block: tuple[int, int, int]) -> int:
        """How many groups of `block` threads belong together."""
        size = block[self.dimension]
        high = self.rows // math.gcd(self.rows, block[self.across])
        return high * (1 if self.size not in (None, size) else self.width // math.gcd(self.width, size))

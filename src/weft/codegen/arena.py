"""How much scratch memory a worker of a launch needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod


@dataclass(frozen=True, slots=True)
class ArenaNeeds:
    """Bytes of scratch memory a worker needs for a launch, beside dynamic shared memory.

    `fixed` once, and `per_lane_group` for each lane group of up to so many threads along x, y and z as `lanes` says.
    """

    fixed: int
    per_lane_group: int = 0
    lanes: Sequence[int] = (1,)

    def bytes(self, block: tuple[int, int, int], dynamic: int) -> int:
        """The bytes for work-groups of this shape, with so much dynamic shared memory."""
        lane_groups = prod(-(-n // m) for n, m in zip_longest(block, self.lanes, fillvalue=1))
        return self.fixed + -(-dynamic // 64) * 64 + self.per_lane_group * lane_groups + 64

"""How much scratch memory a worker of a launch needs; the code that computes it is `codegen.work_groups.arena_code`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod

from msgspec import Struct

from weft.codegen.launch_record import SHARED_ALIGN

RESUMED_BYTES = 16
"""Behind the scratch memory of a work-group that waits for others: where it goes on."""


class ArenaNeeds(Struct, frozen=True):
    """Bytes of scratch memory a worker needs for a launch, beside dynamic shared memory.

    `fixed` once, and `per_lane_group` for each lane group of up to so many threads along x, y and z as `lanes` says;
    all of that for each work-group where these wait for each other, so that all of them are `resident`.
    """

    fixed: int
    per_lane_group: int = 0
    lanes: Sequence[int] = (1,)
    resident: bool = False

    def bytes(self, block: tuple[int, int, int], dynamic: int, groups: int = 1) -> int:
        """The bytes for work-groups of this shape, with so much dynamic shared memory; `groups` are in the grid."""
        lane_groups = prod(-(-n // m) for n, m in zip_longest(block, self.lanes, fillvalue=1))
        one = self.fixed + -(-dynamic // 64) * 64 + self.per_lane_group * lane_groups + 64
        return groups * -(-(one + RESUMED_BYTES) // SHARED_ALIGN) * SHARED_ALIGN if self.resident else one

"""How much scratch memory a worker of a launch needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArenaNeeds:
    """Bytes of scratch memory a worker needs for a launch, beside dynamic shared memory.

    `fixed` once, and `per_lane_group` for each lane group of up to `width` threads of a row.
    """

    fixed: int
    per_lane_group: int = 0
    width: int = 1

    def bytes(self, block: tuple[int, int, int], dynamic: int) -> int:
        """The bytes for work-groups of this shape, with so much dynamic shared memory."""
        x, y, z = block
        lane_groups = -(-x // self.width) * y * z
        return self.fixed + -(-dynamic // 64) * 64 + self.per_lane_group * lane_groups + 64

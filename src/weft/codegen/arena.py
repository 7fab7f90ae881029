"""How much scratch memory a worker of a launch needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArenaNeeds:
    """Bytes of scratch memory a worker needs for a launch, beside dynamic shared memory.

    `fixed` once, and `per_thread` for each thread of the group (in lane groups).
    """

    fixed: int
    per_thread: int

    def bytes(self, threads: int, dynamic: int) -> int:
        return self.fixed + -(-dynamic // 64) * 64 + self.per_thread * threads + 64

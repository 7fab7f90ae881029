"""Finding loops that wait for a change of memory that no thread will make.

Execution is deterministic, so a loop whose header is reached again with the same threads, the same φ values
and unchanged memory will run forever. Headers are compared rarely (one pair of iterations in `_PERIOD`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.interp.faults import FaultKind
from weft.interp.lanes import Bundle, LaneValue

if TYPE_CHECKING:
    from weft.interp.code import BlockCode, EdgeKey
    from weft.interp.frame import Frame

_PERIOD = 1024


class SpinDetector:
    """Counts the iterations of a frame's loops and compares two in a row now and then."""

    __slots__ = ("_counts", "_seen")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._seen: dict[int, tuple[object, ...]] = {}

    def arrive(self, frame: Frame, key: EdgeKey, block: BlockCode) -> None:
        """Note that a loop header is about to run; report the loop if it cannot end."""
        if key not in frame.code.latch_keys:
            self._counts[block.number] = 0
            return
        count = self._counts.get(block.number, 0) + 1
        self._counts[block.number] = count
        phase = count % _PERIOD
        if phase > 1 or count == 1:
            return
        memory = frame.machine.image.memory
        values = [frame.env[phi.sources[source]] for phi in block.phis for source in phi.sources]
        state = (memory.changes, frame.control.count, values)
        if phase == 0:
            memory.compares_stores = True
            self._seen[block.number] = state
            return
        memory.compares_stores = False
        before = self._seen.pop(block.number, None)
        if before is not None and _same(before, state):
            message = "the loop waits for a change of memory that no thread can make any more"
            machine = frame.machine
            machine.fault(
                FaultKind.SPINNING, block.block.terminator, frame.control.mask(machine.lanes), message
            )
            raise machine.error(message, block.block.terminator)


def _same(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    if a[:2] != b[:2]:
        return False
    first, second = a[2], b[2]
    assert isinstance(first, list) and isinstance(second, list)
    return all(map(_equal, first, second))


def _equal(a: LaneValue | None, b: LaneValue | None) -> bool:
    if a is b:
        return True
    if a is None or b is None:
        return False
    if isinstance(a, Bundle):
        assert isinstance(b, Bundle)
        return all(map(_equal, a.members, b.members))
    assert not isinstance(b, Bundle)
    # Bit patterns, so that NaN equals itself.
    return a.data.shape == b.data.shape and bool(np.array_equal(_bits(a.data), _bits(b.data)))


def _bits(data: np.ndarray) -> np.ndarray:
    return data.view(f"u{data.dtype.itemsize}") if data.dtype.kind == "f" else data

"""Sets of lanes: control masks and activation masks (Moll, Def. 6 and 8)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

Array = np.ndarray


@lru_cache(maxsize=64)
def all_lanes(lanes: int) -> Array:
    """So many times true."""
    mask = np.ones(lanes, np.bool_)
    mask.setflags(write=False)
    return mask


class ActiveSet:
    """An immutable set of lanes.

    `bits` is None when all lanes of the machine are in the set, which lets every operation on a program
    without divergence skip its masking; `count` is the number of lanes in the set.
    """

    __slots__ = ("_first", "bits", "count")

    def __init__(self, bits: Array | None, count: int) -> None:
        self.bits = bits
        self.count = count
        self._first = -1

    @classmethod
    def of(cls, bits: Array) -> ActiveSet:
        count = int(np.count_nonzero(bits))
        return cls(None if count == bits.size else bits, count)

    @property
    def first(self) -> int:
        """The lowest lane of a set that is not empty."""
        if self._first < 0:
            self._first = 0 if self.bits is None else int(self.bits.argmax())
        return self._first

    @property
    def last(self) -> int:
        """The highest lane of a set that is not empty; -1 when that is simply the last lane there is."""
        return -1 if self.bits is None else int(self.bits.size - 1 - self.bits[::-1].argmax())

    def mask(self, lanes: int) -> Array:
        """The set as an array of `lanes` bools, of one if it is empty. Not to be written to."""
        return all_lanes(lanes) if self.bits is None else self.bits

    def split(self, condition: Array) -> tuple[ActiveSet, ActiveSet]:
        """The lanes of the set in which `condition` holds, and the others."""
        if condition.shape[0] == 1:
            return (self, EMPTY) if condition[0] else (EMPTY, self)
        inside = condition if self.bits is None else condition & self.bits
        count = int(np.count_nonzero(inside))
        if count == self.count:
            return self, EMPTY
        if count == 0:
            return EMPTY, self
        outside = ~condition if self.bits is None else self.bits & ~condition
        return ActiveSet(inside, count), ActiveSet(outside, self.count - count)


EMPTY = ActiveSet(np.zeros(1, np.bool_), 0)


def union(sets: Iterable[ActiveSet], lanes: int) -> ActiveSet:
    """The union of disjoint sets of a machine of `lanes` lanes."""
    parts = list(sets)
    if len(parts) == 1:
        return parts[0]
    count = sum(s.count for s in parts)
    if count == lanes:
        return ActiveSet(None, count)
    if count == 0:
        return EMPTY
    bits: Array | None = None
    for part in parts:
        if part.count:
            bits = part.bits if bits is None else bits | part.bits
    return ActiveSet(bits, count)

"""Warp operations for plain Python execution: the lanes of a mask meet, and each gets its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.reference_scalars import WeakInt
from conformance.reference_threads import Meeting

WARP = 32
Offers = dict[int, Any]


class WarpOperations:
    """The ``*_sync`` functions of `cuda`; a subclass knows the running thread's linear id and its group's size."""

    linear: int
    group_size: int

    def _meet(self, name: str, mask: Any, offer: Any, answer: Callable[[int, Offers], Any]) -> Meeting:
        """Meet the lanes of `mask`; `answer` gets this thread's lane and the offers by lane."""
        first = self.linear // WARP * WARP
        lanes = [lane for lane in range(WARP) if int(mask) >> lane & 1 and first + lane < self.group_size]
        own = self.linear - first
        return Meeting(
            name,
            frozenset(first + lane for lane in lanes),
            offer,
            lambda offers: answer(own, {number - first: value for number, value in offers.items()}),
        )

    def syncwarp(self, mask: Any = 0xFFFFFFFF) -> Meeting:
        return self._meet("syncwarp", mask, None, lambda lane, offers: None)

    def _shuffle(self, name: str, mask: Any, value: Any, source: Callable[[int], int]) -> Meeting:
        """Answer with the value of the source lane, or one's own where there is no such lane."""
        return self._meet(name, mask, value, lambda lane, offers: offers.get(source(lane), offers[lane]))

    def shfl_sync(self, mask: Any, value: Any, source: Any) -> Meeting:
        return self._shuffle("shfl", mask, value, lambda lane: int(source) % WARP)

    def shfl_up_sync(self, mask: Any, value: Any, delta: Any) -> Meeting:
        return self._shuffle("shfl_up", mask, value, lambda lane: lane - int(delta))

    def shfl_down_sync(self, mask: Any, value: Any, delta: Any) -> Meeting:
        return self._shuffle("shfl_down", mask, value, lambda lane: lane + int(delta))

    def shfl_xor_sync(self, mask: Any, value: Any, bits: Any) -> Meeting:
        return self._shuffle("shfl_xor", mask, value, lambda lane: lane ^ int(bits))

    def all_sync(self, mask: Any, predicate: Any) -> Meeting:
        return self._meet("all", mask, bool(predicate), lambda lane, offers: all(offers.values()))

    def any_sync(self, mask: Any, predicate: Any) -> Meeting:
        return self._meet("any", mask, bool(predicate), lambda lane, offers: any(offers.values()))

    def eq_sync(self, mask: Any, predicate: Any) -> Meeting:
        return self._meet("eq", mask, bool(predicate), lambda lane, offers: len(set(offers.values())) == 1)

    def ballot_sync(self, mask: Any, predicate: Any) -> Meeting:
        return self._meet("ballot", mask, bool(predicate), lambda lane, offers: _mask_of(offers, True))

    def match_any_sync(self, mask: Any, value: Any) -> Meeting:
        return self._meet("match", mask, value, lambda lane, offers: _mask_of(offers, offers[lane]))

    def lanemask_lt(self) -> WeakInt:
        return WeakInt((1 << self.linear % WARP) - 1)


def _mask_of(offers: Offers, value: Any) -> WeakInt:
    return WeakInt(sum(1 << lane for lane, offer in offers.items() if offer == value))

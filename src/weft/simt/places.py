"""Which memory an access is to, and at which address a GPU would have it.

Arrays and variables get addresses of their own, aligned as an allocation on a GPU is, so that what is counted does not
depend on where NumPy put them. Stack objects are places in the local memory of each thread.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from msgspec import Struct, field

from weft.interp.machine import Machine
from weft.interp.memory.memory import MemoryObject

Array = np.ndarray

_ALIGN = 256
"""Alignment of memory that a GPU's driver gives."""


class Space(Enum):
    """Which memory an access is to."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"


class Places(Struct):
    """The places of objects on a GPU."""

    _global: dict[int, int] = field(default_factory=dict)
    _next: int = _ALIGN
    _local: dict[int, int] = field(default_factory=dict)
    _local_next: int = 0

    def forget_local(self) -> None:
        """Threads that begin anew have the same local memory as those before."""
        self._local.clear()
        self._local_next = 0

    def of(self, machine: Machine, addresses: Array, active: Array, size: int) -> tuple[Space, Array]:
        """The memory that an access is to, and its places there: of local memory, offsets in each thread's own.

        Parameters
        ----------
        machine
            The machine.
        addresses, active
            Of each lane the address, and whether it accesses; shape ``(lanes,)``.
        size
            Bytes that each lane accesses.
        """
        memory = machine.image.memory
        target = memory.find(int(addresses[int(active.argmax())]))
        if target is None:
            return Space.GLOBAL, addresses
        if target.is_private:
            return Space.LOCAL, self._in_local(target, addresses)
        if target in machine.shared.values():
            return Space.SHARED, addresses
        low, high = addresses[active].min(), addresses[active].max()
        if target.base <= low and high < target.end:
            return Space.GLOBAL, addresses + self._shift(target)
        places = addresses.copy()
        for found, which in memory.partition(addresses, size):
            if found is not None:
                places[which] += self._shift(found)
        return Space.GLOBAL, places

    def _shift(self, target: MemoryObject) -> np.uint64:
        """What brings addresses of an object to its place, modulo 2^64."""
        if target.base not in self._global:
            self._global[target.base] = self._next
            self._next += -(-target.data.size // _ALIGN) * _ALIGN
        return np.uint64((self._global[target.base] - target.base) % (1 << 64))

    def _in_local(self, target: MemoryObject, addresses: Array) -> Array:
        if target.base not in self._local:
            self._local[target.base] = self._local_next
            self._local_next += -(-target.part_size // 4) * 4
        offsets = addresses - np.uint64(target.base)
        if target.stride:
            offsets = offsets % np.uint64(target.stride)
        return offsets + np.uint64(self._local[target.base])

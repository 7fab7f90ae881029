"""The memory of a GPU: what an access of a warp costs in transactions, and what it finds in which cache."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weft.machine.gpu_devices import GpuDevice
from weft.machine.transactions import LINE, SECTOR, bank_turns, local_addresses, units
from weft.simt.cache import Cache
from weft.simt.places import Space

Array = np.ndarray

_LOCAL_BASE = 1 << 60
"""Where local memory lies for the caches: beyond all else."""


_SHARED_WIDTH = 128
"""Bytes that the banks of shared memory give in a turn."""


@dataclass(slots=True)
class Counts:
    """What accesses of one kind took.

    Parameters
    ----------
    requests, threads
        Accesses of warps, and of threads.
    transactions
        Sectors of global and local memory; turns of the banks of shared memory.
    lines
        Lines of 128 bytes of global and local memory.
    least
        Transactions that as many bytes would take at least.
    hits
        Sectors found in the first cache.
    """

    requests: int = 0
    threads: int = 0
    transactions: int = 0
    lines: int = 0
    least: int = 0
    hits: int = 0

    def add(self, other: Counts) -> None:
        """Count another's."""
        self.requests += other.requests
        self.threads += other.threads
        self.transactions += other.transactions
        self.lines += other.lines
        self.least += other.least
        self.hits += other.hits


@dataclass(frozen=True, slots=True)
class Request:
    """One access of the active threads of a warp.

    Parameters
    ----------
    space, kind
        Which memory; ``load``, ``store`` or ``atomic``.
    addresses
        Of each active thread; of local memory, the offset in the thread's own.
    lanes
        The places of the active threads in the warp.
    size
        Bytes that each accesses.
    warp
        The number of the warp on its multiprocessor.
    """

    space: Space
    kind: str
    addresses: Array
    lanes: Array
    size: int
    warp: int


@dataclass(slots=True)
class GpuMemory:
    """The memory of all multiprocessors.

    Parameters
    ----------
    device
        The GPU.
    local_words
        32-bit words of local memory that a thread has.

    Attributes
    ----------
    bytes, l2_bytes
        Moved since `start`, to or from memory and the second cache.
    """

    device: GpuDevice
    local_words: int
    bytes: int = 0
    l2_bytes: int = 0
    _l2: Cache = field(init=False)
    _l1: dict[int, Cache] = field(default_factory=dict)
    _own: Cache = field(init=False)

    def __post_init__(self) -> None:
        self._l2 = Cache(self.device.l2)
        self.start(0)

    def start(self, multiprocessor: int) -> None:
        """Let the accesses from now on be those of a multiprocessor."""
        self._own = self._l1.setdefault(multiprocessor, Cache(self.device.l1))
        self.bytes = self.l2_bytes = 0

    def access(self, request: Request) -> tuple[Counts, float]:
        """What a request counts, and the cycles until its result is there."""
        if request.space is Space.SHARED:
            return self._shared(request)
        addresses, size = request.addresses, request.size
        if request.space is Space.LOCAL:
            addresses = local_addresses(
                addresses, request.lanes, request.warp, self.local_words, size
            ) + np.uint64(_LOCAL_BASE)
            size = 4
        sectors = units(addresses, size, SECTOR)
        lines = len(np.unique(sectors // np.uint64(LINE // SECTOR)))
        least = -(-len(np.unique(addresses)) * size // SECTOR)
        counts = Counts(1, len(request.lanes), len(sectors), lines, min(least, len(sectors)))
        cached = self.device.l1_global or request.space is Space.LOCAL
        latency = 0.0
        for sector in sectors.tolist():
            took, hit = self._sector(sector, request, cached)
            latency = max(latency, took)
            counts.hits += hit
        turns = lines if request.kind != "atomic" else _most_alike(request.addresses)
        return counts, latency + (turns - 1) * self.device.transaction

    def _shared(self, request: Request) -> tuple[Counts, float]:
        turns = bank_turns(request.addresses, request.size)
        if request.kind == "atomic":
            turns = max(turns, _most_alike(request.addresses))
        counts = Counts(
            1, len(request.lanes), turns, 0, max(1, -(-len(request.lanes) * request.size // _SHARED_WIDTH))
        )
        return counts, self.device.shared_latency + (turns - 1) * self.device.transaction

    def _sector(self, sector: int, request: Request, cached: bool) -> tuple[float, bool]:
        """The cycles that a sector takes, and whether the first cache had it."""
        if request.kind == "atomic":
            return self._beyond(sector, True), False
        if request.kind == "store" and request.space is Space.GLOBAL:
            # Written through; a copy that is there is written, too.
            self._beyond(sector, True)
            return 0.0, cached and self._own.has(sector)
        if request.kind == "store":
            hit = self._own.has(sector)
            self._write_back(self._own.write(sector))
            return 0.0, hit
        if not cached:
            return self._beyond(sector, False), False
        hit, gone = self._own.read(sector)
        self._write_back(gone)
        return (self.device.hit_latency if hit else self._beyond(sector, False)), hit

    def _beyond(self, sector: int, write: bool) -> float:
        """Ask the second cache, and memory where it does not have the sector."""
        self.l2_bytes += SECTOR
        if not self.device.l2:
            self.bytes += SECTOR
            return self.device.memory_latency
        if write:
            was = self._l2.has(sector)
            self.bytes += SECTOR * self._l2.write(sector)
        else:
            was, gone = self._l2.read(sector)
            self.bytes += SECTOR * (gone + (not was))
        return self.device.l2_latency if was else self.device.memory_latency

    def _write_back(self, sectors: int) -> None:
        """Sectors of local memory leave the first cache."""
        self.l2_bytes += SECTOR * sectors
        if not self.device.l2:
            self.bytes += SECTOR * sectors


def _most_alike(addresses: Array) -> int:
    """How many threads go to one address, which they have to one after the other."""
    return int(np.unique(addresses, return_counts=True)[1].max(initial=1))

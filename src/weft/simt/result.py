"""What the model says of a launch: cycles, what keeps it from fewer, and where memory is accessed how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from weft.diag.source import SourceSpan
from weft.machine.gpu_devices import GpuDevice, Unit
from weft.machine.gpus import WARP, Occupancy
from weft.simt.memory import Counts
from weft.simt.places import Space

_MOST_PER_MULTIPROCESSOR = 64.0
"""Bytes a cycle that a multiprocessor can take from the second cache."""


class Batch(Struct, frozen=True):
    """Work-groups that a multiprocessor held at a time.

    Parameters
    ----------
    latency
        Cycles until the last warp was done, if no unit had been shared.
    issued
        Instructions issued.
    busy
        Cycles for which each unit was busy.
    bytes, l2_bytes
        Moved to and from memory and the second cache.
    groups
        How many work-groups it was.
    """

    latency: float
    issued: int
    busy: Mapping[Unit, float]
    bytes: int
    l2_bytes: int
    groups: int


class Access(Struct, frozen=True):
    """The accesses that one instruction makes.

    Parameters
    ----------
    space, kind
        Which memory, and ``load``, ``store`` or ``atomic``.
    span
        The source line, where that is known.
    counts
        What they took.
    """

    space: Space
    kind: str
    span: SourceSpan | None
    counts: Counts


class Simulation(Struct, frozen=True):
    """What the model says of a launch; its cycles are a model's.

    Parameters
    ----------
    kernel
        Its name.
    device
        The GPU.
    occupancy
        What a multiprocessor holds.
    registers
        Of a thread.
    groups
        Work-groups of the launch.
    cycles
        Predicted cycles of the launch.
    bounds
        What each resource alone would need on the multiprocessor that is done last; the greatest is what limits.
    issued, threads
        Instructions of warps, and those of threads, which are up to 32 as many.
    accesses
        By instruction, in the order of the source.
    sensitivity
        Cycles with one figure of the GPU changed, over `cycles`; where asked for.
    """

    kernel: str
    device: GpuDevice
    occupancy: Occupancy
    registers: int
    groups: int
    cycles: float
    bounds: Mapping[str, float]
    issued: int
    threads: int
    accesses: tuple[Access, ...]
    sensitivity: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return self.cycles / (self.device.clock * 1e6)

    @property
    def lane_use(self) -> float:
        """Active threads of the warps that issue, over all of them: 1 without divergence."""
        return self.threads / (WARP * self.issued) if self.issued else 1.0

    @property
    def limit(self) -> str:
        """The resource that needs most."""
        return max(self.bounds, key=lambda name: self.bounds[name])

    def total(self, space: Space, kind: str | None = None) -> Counts:
        """All accesses to a memory, or those of one kind."""
        found = Counts()
        for access in self.accesses:
            if access.space is space and kind in (None, access.kind):
                found.add(access.counts)
        return found

    def __str__(self) -> str:
        from weft.simt.report import text_of

        return text_of(self)


def bounds_of(batch: Batch, device: GpuDevice, active: int) -> dict[str, float]:
    """What each resource needs for a batch, while `active` multiprocessors share memory."""
    share = device.multiprocessors / active
    found = {"latency": batch.latency, "instructions issued": batch.issued / device.issue}
    found |= {unit.value: cycles for unit, cycles in batch.busy.items()}
    found["bandwidth of memory"] = batch.bytes / min(device.bandwidth * share, _MOST_PER_MULTIPROCESSOR)
    if device.l2:
        found["bandwidth of the second cache"] = batch.l2_bytes / min(
            device.l2_bandwidth * share, _MOST_PER_MULTIPROCESSOR
        )
    return found


def total_of(batches: Sequence[Batch], device: GpuDevice) -> tuple[float, dict[str, float]]:
    """The cycles of a launch whose batches multiprocessors take in turn, and the bounds on the last one of these."""
    active = min(device.multiprocessors, max(1, len(batches)))
    cycles = [0.0] * active
    bounds: list[dict[str, float]] = [{} for _ in range(active)]
    for number, batch in enumerate(batches):
        place = number % active
        found = bounds_of(batch, device, active)
        cycles[place] += max(found.values())
        for name, value in found.items():
            bounds[place][name] = bounds[place].get(name, 0.0) + value
    last = max(range(active), key=lambda place: cycles[place])
    return cycles[last], bounds[last]

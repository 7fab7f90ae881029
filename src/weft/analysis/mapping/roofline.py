"""A roofline: what a GPU can reach at most for so many operations and bytes (Williams, Waterman, Patterson, 2009)."""

from __future__ import annotations

from msgspec import Struct

from weft.machine.gpu_devices import GpuDevice, Unit
from weft.machine.gpus import WARP


class Roofline(Struct, frozen=True):
    """The estimate for one run of a loop.

    Parameters
    ----------
    intensity
        Operations for each byte that memory moves.
    ridge
        The intensity from which on memory is no limit.
    microseconds
        The time at least, with all of the GPU at work.
    """

    intensity: float
    ridge: float
    microseconds: float

    @property
    def limit(self) -> str:
        """What keeps it from being faster: ``memory`` or ``arithmetic``."""
        return "memory" if self.intensity < self.ridge else "arithmetic"


def roofline(device: GpuDevice, operations: int, bytes: int, has_doubles: bool) -> Roofline:
    """Estimate a loop of so many floating-point operations, a multiply-add counted as two, and bytes moved."""
    unit = Unit.DOUBLE if has_doubles else Unit.FLOAT
    per_cycle = 2 * WARP / device.cycles[unit]
    cycles = max(operations / per_cycle, bytes / device.bandwidth)
    seconds = cycles / (device.multiprocessors * device.clock * 1e6)
    return Roofline(operations / max(1, bytes), per_cycle / device.bandwidth, seconds * 1e6)

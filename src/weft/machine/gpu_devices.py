"""GPUs of the cost model as data: what an instruction, a transaction and a miss take, in cycles of a multiprocessor.

The figures were written down before anything was measured with them, and are not fitted to anything.

``gtx570`` is the machine of Sampaio et al. (§4, §6): 14 multiprocessors at 1464 MHz, 48 KiB of shared memory, 16 KiB
of cache for local memory only. The paper's assumptions are its memory costs: an access to shared memory, or a hit,
takes less than three accesses to registers (here two cycles beyond an instruction's), and a miss 100 hits (200).
What units issue in a cycle is NVIDIA's table of throughputs for capability 2.0; 22 cycles are Fermi's latency of
arithmetic.

``h200`` is a current part: the same table for capability 9.0, clock and bandwidth of its data sheet, and latencies as
published microbenchmarks of Hopper have them, rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from weft.diag.errors import SettingError
from weft.machine.gpus import GpuArchitecture, architecture

_KI = 1024


class Unit(Enum):
    """What executes an instruction."""

    ALU = "integers"
    FLOAT = "floats"
    DOUBLE = "doubles"
    SPECIAL = "special functions"
    CONVERT = "conversions"
    MEMORY = "loads and stores"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU of the cost model.

    Parameters
    ----------
    name
        How users name it.
    arch
        Its architecture.
    multiprocessors, clock
        How many, and their clock in MHz.
    issue
        Instructions of warps that a multiprocessor issues in a cycle, all schedulers together.
    interval
        Cycles between two instructions of one warp at least.
    cycles
        Cycles for which an instruction of one warp keeps each unit of a multiprocessor busy.
    latency
        Cycles until an instruction of each unit has its result; of `Unit.MEMORY` what comes before memory is asked.
    shared_latency, hit_latency, l2_latency, memory_latency
        Cycles until a load has its result: from shared memory, the first cache, the second, and memory.
    transaction
        Cycles of the load/store unit for each transaction of an access.
    l1, l1_global
        Bytes of the first cache of a multiprocessor, and whether it keeps global memory, too.
    l2
        Bytes of the second cache, of the whole GPU; 0 where the model has none.
    bandwidth
        Bytes of memory for each cycle and multiprocessor.
    l2_bandwidth
        The same of the second cache.
    """

    name: str
    arch: GpuArchitecture
    multiprocessors: int
    clock: int
    issue: float
    interval: float
    cycles: Mapping[Unit, float]
    latency: Mapping[Unit, float]
    shared_latency: float
    hit_latency: float
    l2_latency: float
    memory_latency: float
    transaction: float
    l1: int
    l1_global: bool
    l2: int
    bandwidth: float
    l2_bandwidth: float
    about: str = field(default="", compare=False)


_FERMI = GpuDevice(
    name="gtx570",
    arch=architecture("sm_20"),
    multiprocessors=14,
    clock=1464,
    issue=1,
    interval=2,
    cycles={
        Unit.ALU: 1, Unit.FLOAT: 1, Unit.DOUBLE: 8, Unit.SPECIAL: 8, Unit.CONVERT: 2, Unit.MEMORY: 2, Unit.CONTROL: 1,
    },
    latency={
        Unit.ALU: 22, Unit.FLOAT: 22, Unit.DOUBLE: 22, Unit.SPECIAL: 22, Unit.CONVERT: 22, Unit.MEMORY: 22,
        Unit.CONTROL: 22,
    },
    shared_latency=22 + 2,
    hit_latency=22 + 2,
    l2_latency=22 + 200,
    memory_latency=22 + 200,
    transaction=2,
    l1=16 * _KI,
    l1_global=False,
    l2=0,
    bandwidth=152e9 / (14 * 1464e6),
    l2_bandwidth=152e9 / (14 * 1464e6),
    about="the GTX 570 of Sampaio et al., its cache for local memory only",
)  # fmt: skip

_HOPPER = GpuDevice(
    name="h200",
    arch=architecture("sm_90"),
    multiprocessors=132,
    clock=1980,
    issue=4,
    interval=1,
    cycles={
        Unit.ALU: 0.5, Unit.FLOAT: 0.25, Unit.DOUBLE: 0.5, Unit.SPECIAL: 2, Unit.CONVERT: 0.5, Unit.MEMORY: 1,
        Unit.CONTROL: 0.5,
    },
    latency={
        Unit.ALU: 4, Unit.FLOAT: 4, Unit.DOUBLE: 8, Unit.SPECIAL: 20, Unit.CONVERT: 8, Unit.MEMORY: 4, Unit.CONTROL: 8,
    },
    shared_latency=30,
    hit_latency=40,
    l2_latency=260,
    memory_latency=600,
    transaction=1,
    l1=128 * _KI,
    l1_global=True,
    l2=50 * _KI * _KI,
    bandwidth=4.8e12 / (132 * 1980e6),
    l2_bandwidth=5.5e12 / (132 * 1980e6),
    about="an H200, half of its 256 KiB a multiprocessor being cache",
)  # fmt: skip

DEVICES: dict[str, GpuDevice] = {
    each.name: each
    for each in (
        _FERMI,
        replace(
            _FERMI,
            name="gtx570-48k",
            arch=replace(_FERMI.arch, shared=16 * _KI, block_shared=16 * _KI),
            l1=48 * _KI,
            about="the same with 48 KiB of cache and 16 KiB of shared memory",
        ),
        _HOPPER,
    )
}
"""Every GPU of the model."""


def device(name: str) -> GpuDevice:
    """Return the GPU of a name.

    Raises
    ------
    SettingError
        There is none.
    """
    found = DEVICES.get(name)
    if found is None:
        raise SettingError(f"{name!r} is no GPU of the model", hint=f"there are {', '.join(DEVICES)}")
    return found


def variations(of: GpuDevice) -> dict[str, GpuDevice]:
    """The GPU with one of its figures halved or doubled each: how much a prediction depends on it."""
    doubled = {
        "latency of memory": ("memory_latency", "l2_latency"),
        "latency of shared memory and hits": ("shared_latency", "hit_latency"),
        "bandwidth": ("bandwidth", "l2_bandwidth"),
        "cycles of a transaction": ("transaction",),
        "instructions issued": ("issue",),
        "first cache": ("l1",),
    }
    return {
        f"{name} {sign}": replace(of, **{key: _scaled(getattr(of, key), factor) for key in keys})
        for name, keys in doubled.items()
        for sign, factor in (("halved", 0.5), ("doubled", 2.0))
    }


def _scaled(value: float, factor: float) -> float:
    """A figure times a factor; the size of a cache stays a number of bytes."""
    scaled = value * factor
    return int(scaled) if scaled >= _KI else scaled

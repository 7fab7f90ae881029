"""NVIDIA's GPUs as data: what an architecture allows, and how many warps of a kernel a multiprocessor holds.

Limits are those of the CUDA programming guide's table of compute capabilities, and of the occupancy calculator for how
registers and shared memory are handed out. Fermi (sm_20) is there for the machine of Sampaio et al. (§6).
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.diag.errors import SettingError

WARP = 32
"""Threads of a warp."""


@dataclass(frozen=True, slots=True)
class GpuArchitecture:
    """What all GPUs of a compute capability have.

    Parameters
    ----------
    name
        As ``ptxas`` spells it: ``sm_90``.
    warps, blocks
        Warps and work-groups that a multiprocessor holds at most.
    shared
        Bytes of shared memory of a multiprocessor.
    block_shared
        Bytes that one work-group may have.
    registers
        32-bit registers of a multiprocessor.
    block_registers
        Registers that one work-group may have.
    thread_registers
        Registers that one thread may have.
    register_unit, warp_unit
        Registers of a warp are rounded up to multiples of the first, warps of a work-group to those of the second.
    shared_unit, shared_reserved
        Shared memory is rounded up to multiples of the first, and the system takes the second of each work-group.
    """

    name: str
    warps: int
    blocks: int
    shared: int
    block_shared: int
    registers: int = 65536
    block_registers: int = 65536
    thread_registers: int = 255
    register_unit: int = 256
    warp_unit: int = 4
    shared_unit: int = 256
    shared_reserved: int = 0

    @property
    def capability(self) -> int:
        """90 for ``sm_90``."""
        return int(self.name.removeprefix("sm_"))


_K = 1024


def _since_ampere(name: str, warps: int, blocks: int, shared: int) -> GpuArchitecture:
    return GpuArchitecture(
        name, warps, blocks, shared * _K, (shared - 1) * _K, shared_unit=128, shared_reserved=_K
    )


ARCHITECTURES: dict[str, GpuArchitecture] = {
    row.name: row
    for row in (
        GpuArchitecture(
            "sm_20", 48, 8, 48 * _K, 48 * _K, 32768, 32768, 63, register_unit=64, warp_unit=2, shared_unit=128
        ),
        GpuArchitecture("sm_50", 64, 32, 64 * _K, 48 * _K),
        GpuArchitecture("sm_52", 64, 32, 96 * _K, 48 * _K),
        GpuArchitecture("sm_53", 64, 32, 64 * _K, 48 * _K, block_registers=32768),
        GpuArchitecture("sm_60", 64, 32, 64 * _K, 48 * _K, warp_unit=2),
        GpuArchitecture("sm_61", 64, 32, 96 * _K, 48 * _K),
        GpuArchitecture("sm_62", 64, 32, 64 * _K, 48 * _K, block_registers=32768),
        GpuArchitecture("sm_70", 64, 32, 96 * _K, 96 * _K),
        GpuArchitecture("sm_72", 64, 32, 96 * _K, 96 * _K),
        GpuArchitecture("sm_75", 32, 16, 64 * _K, 64 * _K),
        _since_ampere("sm_80", 64, 32, 164),
        _since_ampere("sm_86", 48, 16, 100),
        _since_ampere("sm_87", 48, 16, 164),
        _since_ampere("sm_89", 48, 24, 100),
        _since_ampere("sm_90", 64, 32, 228),
        _since_ampere("sm_100", 64, 32, 228),
        _since_ampere("sm_103", 64, 32, 228),
        _since_ampere("sm_110", 48, 24, 228),
        _since_ampere("sm_120", 48, 24, 100),
        _since_ampere("sm_121", 48, 24, 100),
    )
}
"""Every architecture that the model knows."""


_OWN_FEATURES = {"a": 90, "f": 100}
"""The least capability with features that only it has, and with those of a family."""


def architecture(name: str) -> GpuArchitecture:
    """Return the architecture of a name, be it one with features of its own (``sm_90a``, ``sm_100f``).

    Raises
    ------
    SettingError
        There is none.
    """
    found = ARCHITECTURES.get(name.rstrip("af"))
    own = _OWN_FEATURES.get(name[-1:])
    if found is None or name[len(found.name) :] not in ("", "a", "f") or (own and found.capability < own):
        raise SettingError(
            f"{name!r} is no architecture of a GPU that weft knows",
            hint=f"there are {', '.join(ARCHITECTURES)}",
        )
    return found


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many work-groups a multiprocessor holds at a time.

    Parameters
    ----------
    blocks, warps
        Work-groups, and their warps.
    most_warps
        Warps that it could hold.
    limit
        What keeps it from holding more: ``blocks``, ``warps``, ``registers`` or ``shared memory``.
    """

    blocks: int
    warps: int
    most_warps: int
    limit: str

    @property
    def share(self) -> float:
        """Warps over those that there could be."""
        return self.warps / self.most_warps


def occupancy(arch: GpuArchitecture, threads: int, registers: int, shared: int = 0) -> Occupancy:
    """Return how many work-groups of a kernel a multiprocessor holds.

    Parameters
    ----------
    arch
        The architecture.
    threads
        Threads of a work-group.
    registers
        32-bit registers of a thread.
    shared
        Bytes of shared memory of a work-group, static and dynamic.

    Returns
    -------
    Occupancy
        With no work-groups where one does not fit.
    """
    warps = max(1, -(-threads // WARP))
    limits = {"blocks": arch.blocks, "warps": arch.warps // warps}
    if shared > arch.block_shared:
        limits["shared memory"] = 0
    elif shared:
        limits["shared memory"] = arch.shared // _up(shared + arch.shared_reserved, arch.shared_unit)
    for_warp = _up(registers * WARP, arch.register_unit)
    if registers > arch.thread_registers or for_warp * warps > arch.block_registers:
        limits["registers"] = 0
    elif registers:
        # Registers are handed out in the quarters of a multiprocessor, warps of a group among all of them.
        limits["registers"] = arch.registers // for_warp // arch.warp_unit * arch.warp_unit // warps
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limits[limit] * warps, arch.warps, limit)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit

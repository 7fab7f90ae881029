"""Kernels with few registers under the model of a GPU: spill code executed, and cycles, for each policy.

Results of every version are compared with those of the kernel as it was, whole arrays to the bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.registers.kernels import Launch, arguments, launch_of
from weft.cuda.c.memory import VariableMemory
from weft.cuda.ptx.build import PtxProgram
from weft.cuda.ptx.simulation import watched
from weft.device.parameters import converted
from weft.device.simulation import simulate_launch
from weft.machine.gpu_devices import DEVICES, GpuDevice
from weft.ptx.check import check_module
from weft.ptx.reader import read_module
from weft.ptx.writer import write_module
from weft.runtime.shape import launch_shape
from weft.simt.places import Space
from weft.simt.result import Simulation
from weft.spill.allocation import Spilled
from weft.spill.kernel import Kernel
from weft.spill.module import chosen, with_kernels
from weft.spill.report import accesses
from weft.spill.settings import Settings


@dataclass(slots=True)
class Run:
    """One version of one kernel.

    Attributes
    ----------
    kernel, policy, registers, device
        Which it is; `policy` may have ``+1`` behind it: one register more, as the paper counts.
    chose
        What ``auto`` chose.
    cycles, issued
        Of the model, and instructions of warps.
    warps
        Resident.
    static, dynamic
        Accesses of spill code in the text, and all accesses to local and shared memory that warps made.
    hits
        Share of local accesses that hit the cache.
    pressure, spilled
        Registers needed without spilling; values spilled.
    """

    kernel: str
    policy: str
    registers: int
    device: str
    chose: str
    cycles: float
    issued: int
    warps: int
    static: dict[str, int] = field(default_factory=dict)
    dynamic: dict[str, int] = field(default_factory=dict)
    hits: float = 0.0
    pressure: int = 0
    spilled: int = 0
    shared: int = 0
    local: int = 0


@dataclass(slots=True)
class Source:
    """A module, and the original results of its kernels."""

    text: str
    arch: str
    device: str | None = None
    module: Any = None
    analysed: dict[str, Kernel] = field(default_factory=dict)
    results: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.module = read_module(self.text, "kernels.ptx")
        check_module(self.module)

    def kernel(self, name: str) -> Kernel:
        if name not in self.analysed:
            kernel = Kernel.of(
                self.module, name, arch=self.arch, block=launch_of(name).block, device=self.device
            )
            self.analysed[name] = kernel
        return self.analysed[name]

    def names(self) -> list[str]:
        return [f.name for f in self.module.entries()]

    def one(self, name: str, made: Spilled) -> str:
        """A module of one kernel alone."""
        whole = with_kernels(self.module, {name: made})
        body = [i for i in whole.body if not getattr(i, "entry", False) or getattr(i, "name", "") == name]
        whole.body = body
        return write_module(whole)

    def given(self, name: str) -> list[Any]:
        """Arguments, 0 for addresses that the kernel does not use."""
        used = self.kernel(name).facts.pointers
        return [g if k in used or k == 4 else 0 for k, g in enumerate(arguments())]

    def wanted(self, name: str) -> np.ndarray:
        if name not in self.results:
            given = self.given(name)
            launch = launch_of(name)
            # The same interpreter, so that approximations are the same.
            simulate(self.text, name, launch, given, one_of("gtx570"), 63)
            self.results[name] = given[0]
        return self.results[name]


def measure(source: Source, name: str, settings: Settings, device: str, label: str) -> tuple[Run, Spilled]:
    """Allocate, run under the model, compare."""
    made = chosen(source.kernel(name), settings)
    launch = launch_of(name)
    given = source.given(name)
    found = simulate(source.one(name, made), name, launch, given, one_of(device), settings.registers)
    np.testing.assert_array_equal(given[0].view(np.uint32), source.wanted(name).view(np.uint32), err_msg=name)
    local = found.total(Space.LOCAL)
    dynamic = {
        f"{space.value} {kind}": found.total(space, kind).requests
        for space in (Space.LOCAL, Space.SHARED)
        for kind in ("load", "store")
    }
    static = {f"{op} {space}".strip(): n for (op, space), n in accesses(made.inserted).items()}
    share = local.hits / local.transactions if local.transactions else 1.0
    run = Run(
        name, label, settings.registers, device, str(made.policy), found.cycles, found.issued,
        found.occupancy.warps, static, dynamic, share, made.kernel.pressure, len(made.places), made.shared,
        made.local,
    )  # fmt: skip
    return run, made


def one_of(device: str) -> GpuDevice:
    """One multiprocessor of a GPU, with its share of memory and second cache.

    Launches here are small enough for an interpreter. So they fill one multiprocessor as others fill them all.
    """
    whole = DEVICES[device]
    return replace(whole, multiprocessors=1, l2=whole.l2 // whole.multiprocessors)


def simulate(
    text: str, name: str, launch: Launch, given: Sequence[Any], device: GpuDevice, registers: int
) -> Simulation:
    """Run a kernel under the model."""
    module = read_module(text, "kernels.ptx")
    program = PtxProgram.of(module, "kernels.ptx")
    kernel = watched(program, name)
    values, _ = converted(kernel.origin.info, list(given))
    variables = VariableMemory(program.scope).bytes
    shape = launch_shape(launch.grid, launch.block, 0)
    return simulate_launch(
        kernel.module, kernel.origin, shape, (*values, variables), device, registers=registers,
        weights=kernel.weights,
    )  # fmt: skip


def save(runs: Iterable[Run], file: Path) -> None:
    """Keep runs for tables and plots."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([asdict(run) for run in runs], indent=0))


def load(file: Path) -> list[Run]:
    """Runs that were kept."""
    return [Run(**row) for row in json.loads(file.read_text())]

"""Launches of kernels in a C dialect under the cost model of GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from weft.device.debug import mapped_memory
from weft.device.origin import Origin
from weft.device.ptx import require_warps
from weft.ir import Instruction, Module
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.gpu_devices import GpuDevice
from weft.runtime.shape import LaunchShape
from weft.simt.result import Simulation
from weft.simt.simulate import simulate
from weft.simt.weights import Weight
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import CANONICAL, optimize


class WatchedKernel(Struct, frozen=True):
    """A kernel as the model runs it.

    Parameters
    ----------
    origin
        What it is compiled from.
    module
        Its P-LLVM.
    weights
        What each instruction of that becomes; None where P-LLVM's own weights hold.
    """

    origin: Origin
    module: Module
    weights: Mapping[Instruction, Weight] | None


def simulated(origin: Origin) -> Module:
    """Return the kernel behind LLVM's scalar passes.

    Raises
    ------
    UnsupportedError
        It has sub-groups of another size than a warp.
    """
    with COMPILING:
        text = write_module(origin.module(small=True), plain=True)
        module = read_module(optimize(text, CANONICAL, TargetSpec.chosen().machine))
    require_warps(origin, asks_for_lanes(module))
    return module


def simulate_launch(
    module: Module,
    origin: Origin,
    shape: LaunchShape,
    values: Sequence[Any],
    device: GpuDevice,
    *,
    registers: int | None = None,
    sensitivity: bool = False,
    weights: Mapping[Instruction, Weight] | None = None,
) -> Simulation:
    """Run a launch under the model of a GPU; `weights` says what its instructions become there."""
    packer = origin.packer()
    memory = mapped_memory(packer, values)
    slots = packer.pack(values, checked=True)
    return simulate(
        module, origin.symbol, slots, shape.grid, shape.block, device, memory=memory,
        dynamic_shared=shape.dynamic_bytes, registers=registers, sensitivity=sensitivity,
        weights=weights,
    )  # fmt: skip

"""Launches of kernels in the Python dialect under the cost model of GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

from weft.cuda.compiled import KernelSource
from weft.cuda.debug import mapped_memory
from weft.fast_math import FastMath
from weft.frontend.python.compile import compile_python
from weft.frontend.python.types import KernelType
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.machine.gpu_devices import device
from weft.runtime.parameters import packer_for
from weft.runtime.shape import LaunchShape
from weft.simt.result import Simulation
from weft.simt.simulate import simulate
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import CANONICAL, optimize


@lru_cache(maxsize=64)
def _program(function: FunctionType, types: tuple[KernelType, ...], fastmath: FastMath) -> tuple[Module, str]:
    """The kernel behind LLVM's scalar passes."""
    result = compile_python(function, types, fastmath=fastmath)
    text = optimize(write_module(result.module, plain=True), CANONICAL, TargetSpec.chosen().machine)
    return read_module(text), result.kernel.name


def simulate_launch(
    source: KernelSource,
    types: tuple[KernelType, ...],
    shape: LaunchShape,
    args: Sequence[Any],
    name: str,
    *,
    registers: int | None = None,
    sensitivity: bool = False,
) -> Simulation:
    """Run a launch under the model of the GPU `name`."""
    gpu = device(name)
    function = source.function
    assert isinstance(function, FunctionType)
    with COMPILING:
        module, kernel = _program(function, types, source.options.fastmath)
    slots = packer_for(source.name, source.parameters, types).pack(args)
    return simulate(
        module, kernel, slots, shape.grid, shape.block, gpu, memory=mapped_memory(source, args),
        dynamic_shared=shape.dynamic_bytes, registers=registers, sensitivity=sensitivity,
    )  # fmt: skip

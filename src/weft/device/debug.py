"""``debug=True`` of programs: kernels on the checking interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.device.origin import Origin
from weft.interp import Memory, Program
from weft.interp.sanitizer.sanitizer import check_launch
from weft.ir.intrinsics import asks_for_lanes
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.runtime.packing import ArgumentPacker
from weft.runtime.shape import LaunchShape
from weft.target.machine import TargetSpec
from weft.target.once import COMPILING
from weft.target.passes import SROA_ONLY, optimize


def interpreted(origin: Origin) -> Program:
    """Return the kernel, each access of the source still there, decoded for the interpreter."""
    with COMPILING:
        text = write_module(origin.module(small=True, debug=True), plain=True)
        return Program(read_module(optimize(text, SROA_ONLY, TargetSpec.chosen().machine)))


def launch_checked(program: Program, origin: Origin, shape: LaunchShape, values: Sequence[Any]) -> None:
    """Run a part of a launch on the interpreter under the sanitizer.

    Raises
    ------
    SanitizerError
        The launch did something that has no defined meaning; arrays hold what was computed up to then.
    """
    packer = origin.packer()
    memory = mapped_memory(packer, values)
    slots = packer.pack(values, checked=True)
    width = origin.info.sub_group_size if asks_for_lanes(program.module) else None
    check_launch(
        program, origin.symbol, slots, shape.grid, shape.block, memory=memory,
        dynamic_shared=shape.dynamic_bytes, width=width,
    )  # fmt: skip


def mapped_memory(packer: ArgumentPacker, values: Sequence[Any]) -> Memory:
    """The memory of a launch: that of its buffers."""
    memory = Memory()
    for name, value in zip(packer.names, values, strict=True):
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray) and array.size:
                memory.map_array(array, f"buffer '{name}'")
    return memory

"""P-LLVM kernels compiled for a lane width and an instruction set, and run on bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir import Module
from weft.ir.reader import read_module
from weft.machine.host import host
from weft.machine.targets import AVX2, AVX512, SSE4, Isa
from weft.machine.vecmath_load import find_function
from weft.options import CompileOptions
from weft.passes.lower_kernel import LoweredKernel, lower_kernel
from weft.runtime.launch import ERROR_WORDS, RECORD
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import FINAL, Pipeline

WIDTHS = (2, 4, 8, 16, 32, 64)
ISAS = tuple(
    isa for isa in (SSE4, AVX2, AVX512) if isa.arch == host().arch and isa.features <= host().features
)
"""The instruction sets whose code this machine can run."""


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A loaded kernel.

    Parameters
    ----------
    lowered
        What the pipeline made; its text is the LLVM IR before LLVM's final passes.
    """

    lowered: LoweredKernel
    code: LoadedCode

    def __call__(
        self, arguments: Sequence[np.ndarray | int], block: int | tuple[int, int, int], groups: int = 1
    ) -> None:
        """Run some work-groups in a row; arrays are passed by address."""
        assert self.run(arguments, block, groups) == 0

    def run(
        self, arguments: Sequence[np.ndarray | int], block: int | tuple[int, int, int], groups: int = 1
    ) -> int:
        """Run some work-groups in a row; what the entry point returns."""
        extents = (block, 1, 1) if isinstance(block, int) else block
        slots = (ctypes.c_int64 * max(1, len(arguments)))()
        for i, argument in enumerate(arguments):
            slots[i] = argument.ctypes.data if isinstance(argument, np.ndarray) else argument
        scratch = ctypes.create_string_buffer(self.lowered.arena.bytes(extents, 0) + 64)
        arenas = (ctypes.c_void_p * 1)(-(-ctypes.addressof(scratch) // 64) * 64)
        error = (ctypes.c_int64 * ERROR_WORDS)()
        record = RECORD.pack(
            groups,
            1,
            1,
            *extents,
            ctypes.addressof(slots),
            ctypes.addressof(arenas),
            0,
            ctypes.addressof(error),
        )
        held = ctypes.create_string_buffer(record, len(record))
        entry = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32
        )
        return entry(self.code.address(self.lowered.entry))(ctypes.addressof(held), 0, groups, 0)


def compile_kernel(
    program: Module | str,
    width: int,
    isa: Isa | None = None,
    name: str = "kernel",
    level: int = 3,
    passes: Pipeline = FINAL,
    **options: Any,
) -> MachineCode:
    """Compile and load a kernel; a module is used up. Without `isa` for the host, vector math included.

    `options` are those of `weft.options.CompileOptions`.
    """
    module = read_module(program) if isinstance(program, str) else program
    spec = TargetSpec.host(level) if isa is None else TargetSpec.of_isa(isa, level)
    lowered = lower_kernel(module, name, CompileOptions(width=width, **options), spec)
    code = emit_object(lowered.text, spec, passes)
    return MachineCode(lowered, load_object(code, [lowered.entry], symbols_of(lowered)))


def symbols_of(lowered: LoweredKernel) -> dict[str, int]:
    """Addresses of the vector math functions that the code calls."""
    found = {symbol: find_function(m.name, m.bits, m.lanes, host().isa) for symbol, m in lowered.math.items()}
    return {symbol: function[1] for symbol, function in found.items() if function is not None}

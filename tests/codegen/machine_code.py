"""P-LLVM kernels compiled for a lane width and an instruction set, and run on bytes."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest

from weft.codegen.launch_record import ERROR_WORDS, RECORD
from weft.ir import Module
from weft.ir.reader import read_module
from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.machine.vecmath_load import find_function
from weft.options import CompileOptions
from weft.passes.lower_kernel import LoweredKernel, lower_kernel
from weft.target.jit import LoadedCode, load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import FINAL, Pipeline

WIDTHS = (2, 4, 8, 16, 32, 64)
X86_64 = (SSE2, AVX2, AVX512)
ISAS = X86_64 if chosen().arch == "x86_64" else (chosen().isa,)
"""The instruction sets that code is generated for, whatever machine of the architecture the tests run on."""


def spec_of(isa: Isa, level: int = 3) -> TargetSpec:
    """What a program is made for: the least processor of a level; on another architecture this one's own."""
    return TargetSpec.of_isa(isa if isa.arch == chosen().arch else chosen().isa, level)


def spec_to_run(isa: Isa, level: int = 3) -> TargetSpec:
    """The least processor of a level; where that cannot run here, the one that code is made for.

    On the same architecture the program is the level's in any case: vectors of its width, accesses in the forms that
    pay there.
    """
    if not _has_registers_of(isa):
        pytest.skip("what is loaded under a mask goes through registers of the level, which are not here")
    runs = isa.arch == chosen().arch and isa.features <= chosen().features
    return TargetSpec.of_isa(isa, level) if runs else TargetSpec.chosen(level)


def _has_registers_of(isa: Isa) -> bool:
    """Whether code of a level can run here, which names registers of up to 256 bits where it loads under masks."""
    return isa.arch != "x86_64" or chosen().isa.vector_bits >= min(isa.vector_bits, AVX2.vector_bits)


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
        self,
        arguments: Sequence[np.ndarray | int],
        block: int | tuple[int, int, int],
        groups: int | tuple[int, int, int] = 1,
    ) -> int:
        """Run some work-groups, in a row where they are a number; what the entry point returns."""
        grid = (groups, 1, 1) if isinstance(groups, int) else groups
        extents = (block, 1, 1) if isinstance(block, int) else block
        slots = (ctypes.c_int64 * max(1, len(arguments)))()
        for i, argument in enumerate(arguments):
            slots[i] = argument.ctypes.data if isinstance(argument, np.ndarray) else argument
        scratch = ctypes.create_string_buffer(self.lowered.arena.bytes(extents, 0) + 64)
        arenas = (ctypes.c_void_p * 1)(-(-ctypes.addressof(scratch) // 64) * 64)
        error = (ctypes.c_int64 * ERROR_WORDS)()
        record = RECORD.pack(
            *grid,
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
        return entry(self.code.address(self.lowered.entry))(ctypes.addressof(held), 0, prod(grid), 0)


@contextlib.contextmanager
def without_vector_math() -> Iterator[None]:
    """Call the C library's functions, which the interpreter calls, too: results are then the same to the bit."""
    before = os.environ.get("WEFT_VECTOR_MATH")
    os.environ["WEFT_VECTOR_MATH"] = "none"
    try:
        yield
    finally:
        if before is None:
            del os.environ["WEFT_VECTOR_MATH"]
        else:
            os.environ["WEFT_VECTOR_MATH"] = before


def compile_kernel(
    program: Module | str,
    width: int,
    isa: Isa | None = None,
    name: str = "kernel",
    level: int = 3,
    passes: Pipeline = FINAL,
    **options: Any,
) -> MachineCode:
    """Compile and load a kernel; a module is used up. Without `isa` for the chosen machine, vector math included.

    For a level whose registers are not on this machine, the code is that of the least one.
    `options` are those of `weft.options.CompileOptions`.
    """
    module = read_module(program) if isinstance(program, str) else program
    with contextlib.nullcontext() if isa is None else without_vector_math():
        return _compile_kernel(module, width, isa, name, level, passes, options)


def _compile_kernel(
    module: Module,
    width: int,
    isa: Isa | None,
    name: str,
    level: int,
    passes: Pipeline,
    options: dict[str, Any],
) -> MachineCode:
    if isa is not None and not _has_registers_of(isa):
        isa = SSE2
    spec = TargetSpec.chosen(level) if isa is None else spec_of(isa, level)
    lowered = lower_kernel(module, name, CompileOptions(width=width, **options), spec)
    code = emit_object(lowered.text, spec if isa is None else spec_to_run(isa, level), passes)
    return MachineCode(lowered, load_object(code, [lowered.entry], symbols_of(lowered)))


def symbols_of(lowered: LoweredKernel) -> dict[str, int]:
    """Addresses of the vector math functions that the code calls."""
    found = {
        symbol: find_function(m.name, m.bits, m.lanes, chosen().isa) for symbol, m in lowered.math.items()
    }
    return {symbol: function[1] for symbol, function in found.items() if function is not None}

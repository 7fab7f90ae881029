"""PTX of kernels beside numba-cuda's: registers, instructions of machine code, spills. ``python -m bench.ptx``.

No GPU is needed: ``ptxas`` assembles both, ``nvdisasm`` counts. numba-cuda needs NVVM and NVRTC for it, on the library
path: the packages ``nvidia-nvvm`` and ``nvidia-cuda-nvrtc``. Kernels are those of the examples, with the same types.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import tempfile
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from weft.cuda.device_function import DeviceFunction
from weft.cuda.kernel import Kernel
from weft.cuda.to_ptx import ptx_of
from weft.frontend.python.signatures import parse_signature
from weft.machine.cuda_tools import find_program

KERNELS: dict[str, str] = {
    "examples.workgroups.matrix_product:tiled_product": "float32[:, ::1], float32[:, ::1], float32[:, ::1]",
    "examples.workgroups.nbody:accelerations": "float32[:, ::1], float32[:, ::1]",
    "examples.workgroups.convolution:convolve_tile": "float32[:, ::1], float32[:, ::1]",
    "examples.workgroups.dct:dct_of_block": "float32[:, ::1], float32[:, ::1]",
    "examples.workgroups.reduction:group_sums": "float32[::1], float32[::1]",
    "examples.workgroups.scan:scan_groups": "int32[::1], int32[::1], int32[::1]",
    "examples.workgroups.histogram:count_bytes": "uint8[::1], int32[::1]",
    "examples.workgroups.transpose:tiled_transpose": "float32[:, ::1], float32[:, ::1]",
    "examples.workgroups.spmv:multiply_rows": "int32[::1], int32[::1], float32[::1], float32[::1], float32[::1]",
    "examples.workgroups.walsh:wide_stage": "float32[::1], int32",
    "examples.workgroups.floyd_warshall:relax_rest": "int32[:, ::1], int32",
    "examples.workgroups.kmeans:move_centres": "float32[:, ::1], float32[:, ::1], int32[::1]",
}
"""Kernels by module and name, and the types of their arguments."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """What ``ptxas`` made of a kernel: registers of a thread, instructions, bytes that it spilled."""

    registers: int
    instructions: int
    spilled: int


def assemble(text: str, arch: str) -> Assembled:
    """Assemble a module of one kernel, and count."""
    ptxas, nvdisasm = find_program("ptxas"), find_program("nvdisasm")
    assert ptxas is not None and nvdisasm is not None, "ptxas and nvdisasm have to be installed"
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(text)
        done = subprocess.run(
            [ptxas, "-v", "-arch", arch, "-o", code, source], capture_output=True, text=True, check=True
        )
        listed = subprocess.run([nvdisasm, "-c", code], capture_output=True, text=True, check=True).stdout
    said = done.stderr + done.stdout
    instructions = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", listed, re.MULTILINE)
    return Assembled(
        max(map(int, re.findall(r"Used (\d+) registers", said))),
        sum(not text.startswith(("NOP", "BRA `(.L_x")) or "@" in text for text in instructions),
        sum(map(int, re.findall(r"(\d+) bytes spill stores", said))),
    )


def numba_ptx(function: Callable[..., Any], signature: str, arch: str) -> str:
    """What numba-cuda makes of a kernel."""
    from numba import cuda
    from numba.core import sigutils

    args, _ = sigutils.normalize_signature(f"void({signature})")
    capability = int(arch.removeprefix("sm_"))
    rebound = _with_numba(function, cuda)
    return cuda.compile_ptx(rebound, args, cc=divmod(capability, 10))[0]


def _with_numba(function: Callable[..., Any], cuda: Any) -> types.FunctionType:
    """The function with numba's `cuda` in the place of weft's, device functions too."""
    assert isinstance(function, types.FunctionType)
    names: dict[str, Any] = {**function.__globals__, "cuda": cuda}
    for name in function.__code__.co_names:
        if isinstance(names.get(name), DeviceFunction):
            names[name] = cuda.jit(device=True)(_with_numba(names[name].py_func, cuda))
    return types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    from numba.core.errors import NumbaError

    parser = argparse.ArgumentParser(prog="bench.ptx", description=__doc__)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--no-numba", action="store_true", help="weft alone")
    options = parser.parse_args(arguments)
    print(f"| kernel, {options.arch} | registers | numba | instructions | numba | ratio |")
    print("|---|---|---|---|---|---|")
    ratios = []
    for place, signature in KERNELS.items():
        module, _, name = place.partition(":")
        kernel = getattr(importlib.import_module(module), name)
        assert isinstance(kernel, Kernel)
        types_ = parse_signature(f"void({signature})").args
        own = assemble(ptx_of(kernel.py_func, types_, options.arch).text, options.arch)
        row = f"| {name} | {own.registers} | "
        if options.no_numba:
            print(row + f"| {own.instructions} | | |")
            continue
        try:
            other = assemble(numba_ptx(kernel.py_func, signature, options.arch), options.arch)
        except NumbaError as error:
            print(f"{row}| {own.instructions} | refused: {str(error).strip().splitlines()[0][:60]} | |")
            continue
        ratios.append(own.instructions / other.instructions)
        print(row + f"{other.registers} | {own.instructions} | {other.instructions} | {ratios[-1]:.2f} |")
        assert own.spilled == 0 == other.spilled, f"{name} spills"
    if ratios:
        print(f"\ninstructions, geometric mean: {exp(sum(map(log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    main()

"""The kernels of ``kernels.cu``: how each is launched, and PTX of them."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.diag.errors import CompileError
from weft.machine.cuda_tools import find_program

SOURCE = Path(__file__).with_name("kernels.cu")
N = 8192
"""What kernels are told as `n`; arrays are longer, so that neighbours of the last element are there."""

Size = tuple[int, int]
_LINE, _PLANE = ((16, 1), (128, 1)), ((2, 3), (32, 8))

LAUNCHES: dict[str, tuple[Size, Size]] = {
    "gaussian_fan1": ((1, 1), (32, 1)),
    "gaussian_fan2": ((2, 2), (16, 16)),
    "kmeans_point": ((8, 1), (128, 1)),
    "invert_mapping": ((8, 1), (128, 1)),
    "avg_square": ((12, 1), (128, 1)),
    "sum_triangle": ((12, 1), (128, 1)),
    "scalar_products": ((8, 1), (128, 1)),
    "matrix_product": ((4, 4), (16, 16)),
    "matrix_product_plain": ((3, 3), (16, 16)),
    "transpose_tile": ((4, 4), (16, 4)),
    "reduce3": ((8, 1), (128, 1)),
    "reduce6": ((8, 1), (128, 1)),
    "step_factor": ((8, 1), (128, 1)),
    "time_step": ((8, 1), (128, 1)),
    "compute_flux": ((8, 1), (128, 1)),
    "sobol": ((8, 1), (128, 1)),
    "pgain": ((8, 1), (128, 1)),
    "pathfinder": ((9, 1), (128, 1)),
    "bfs": ((8, 1), (128, 1)),
    "hotspot": ((4, 4), (16, 16)),
    "mri_q": ((12, 1), (128, 1)),
    "bodies": ((12, 1), (128, 1)),
    "coulomb": ((6, 1), (32, 8)),
    "stencil3d": ((6, 1), (32, 8)),
    "lbm_cell": ((8, 1), (128, 1)),
    "lud_diagonal": ((1, 1), (32, 1)),
    "needle": ((1, 1), (32, 1)),
    "backprop": ((1, 4), (16, 16)),
    "srad1": ((8, 1), (128, 1)),
    "histogram_bins": ((8, 1), (128, 1)),
    "scan_block": ((8, 1), (128, 1)),
    "bitonic": ((8, 1), (128, 1)),
    "spmv_rows": ((8, 1), (128, 1)),
    "dct8": ((8, 1), (128, 1)),
    **dict.fromkeys(
        (
            "jacobi", "upscale", "downscale", "derivatives", "warping", "bicubic", "vertex_wave", "mandelbrot",
            "bilateral", "nlm", "volume", "cutoff_lattice",
        ),
        _PLANE,
    ),
}  # fmt: skip
"""Blocks and threads along x and y; all others have 16 blocks of 128 threads."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is launched."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def launch_of(name: str) -> Launch:
    """The launch of a kernel."""
    grid, block = LAUNCHES.get(name, _LINE)
    return Launch(name, (*grid, 1), (*block, 1))


def arguments() -> list[object]:
    """Fresh arguments: results, two arrays, indices, and their number."""
    draw = np.random.default_rng(7)
    out = np.zeros(16 * N, np.float32)
    a, b = (draw.random(16 * N, np.float32) for _ in range(2))
    c = draw.integers(0, N, 16 * N, np.int32)
    return [out, a, b, c, N]


def ptx(arch: str) -> str:
    """The kernels in PTX, compiled by nvcc.

    Raises
    ------
    CompileError
        There is no nvcc, or it failed.
    """
    nvcc = find_program("nvcc")
    if nvcc is None:
        raise CompileError("nvcc is needed to compile the kernels: install weft[ptx] and nvidia-cuda-nvcc")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "kernels.ptx")
        made = subprocess.run(
            [nvcc, f"-arch={arch}", "-ptx", SOURCE, "-o", out], capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise CompileError(f"nvcc failed: {made.stderr.strip()[-800:]}")
        return out.read_text()

"""PTX of nvcc on the CPU beside the same sources through the door for CUDA C++.

Run as ``python -m bench.ptx_speed``; needs nvcc on the path. Each kernel runs on one thread, in turns with its twin;
shown are medians of processor time, and PTX's over the other's. nvcc has optimized its kernels, and unrolled loops;
clang's are optimized by weft alone.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 15

SOURCE = r"""
extern "C" {
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void mandelbrot(int width, int height, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = -2.0f + 3.0f * i / width, cy = -1.0f + 2.0f * j / height, x = 0, y = 0;
    int n = 0;
    while (n < 128 && x * x + y * y < 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    out[j * width + i] = n;
}
__global__ void product(int n, const float *a, const float *b, float *c) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int m = 0; m < 16; m++) sum += left[y][m] * right[m][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void sum_of_block(const float *x, float *out) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
__global__ void smooth(int width, int height, const float *x, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= width - 1 || j >= height - 1) return;
    int k = j * width + i;
    out[k] = 0.5f * x[k] + 0.125f * (x[k - 1] + x[k + 1] + x[k - width] + x[k + width]);
}
__global__ void bodies(int n, const float *x, const float *y, const float *m, float *ax, float *ay) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sx = 0, sy = 0;
    for (int j = 0; j < n; j++) {
        float dx = x[j] - x[i], dy = y[j] - y[i], d = dx * dx + dy * dy + 0.01f;
        float w = m[j] / (d * sqrtf(d));
        sx += w * dx;
        sy += w * dy;
    }
    ax[i] = sx;
    ay[i] = sy;
}
__global__ void transpose(int n, const float *x, float *out) {
    __shared__ float tile[16][17];
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x[j * n + i];
    __syncthreads();
    out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void rows(int n, const int *begin, const int *columns, const float *values, const float *x, float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0;
    for (int k = begin[row]; k < begin[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
}
__global__ void search(int n, int queries, const int *keys, const int *wanted, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries) return;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (keys[middle] < wanted[i]) low = middle + 1; else high = middle;
    }
    out[i] = low;
}
__global__ void collatz(int *steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long v = i + 1;
    int n = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        n++;
    }
    steps[i] = n;
}
}
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A launch.

    Parameters
    ----------
    name
        The kernel.
    grid, block
        The launch's.
    arguments
        Makes them, the results last.
    """

    name: str
    grid: Any
    block: Any
    arguments: Callable[[np.random.Generator], list[Any]]


def _floats(draw: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return draw.random(shape, np.float32)


def _sparse(draw: np.random.Generator) -> list[Any]:
    n = 1 << 14
    begin = np.concatenate([[0], np.cumsum(draw.integers(0, 40, n))]).astype(np.int32)
    columns = draw.integers(0, n, begin[-1], np.int32)
    return [n, begin, columns, _floats(draw, len(columns)), _floats(draw, n), np.zeros(n, np.float32)]


def _search(draw: np.random.Generator) -> list[Any]:
    keys = np.sort(draw.integers(0, 1 << 30, 1 << 16, np.int32))
    return [1 << 16, 1 << 16, keys, draw.integers(0, 1 << 30, 1 << 16, np.int32), np.zeros(1 << 16, np.int32)]


CASES = (
    Case("saxpy", 2048, 256, lambda d: [1 << 19, 2.0, _floats(d, 1 << 19), _floats(d, 1 << 19)]),
    Case("mandelbrot", (16, 64), (32, 8), lambda d: [512, 512, np.zeros((512, 512), np.int32)]),
    Case(
        "product", (16, 16), (16, 16),
        lambda d: [256, _floats(d, 256, 256), _floats(d, 256, 256), np.zeros((256, 256), np.float32)],
    ),
    Case("sum_of_block", 1024, 256, lambda d: [_floats(d, 1 << 18), np.zeros(1024, np.float32)]),
    Case(
        "smooth", (32, 128), (32, 8),
        lambda d: [1024, 1024, _floats(d, 1024, 1024), np.zeros((1024, 1024), np.float32)],
    ),
    Case(
        "bodies", 8, 128,
        lambda d: [1024, *(_floats(d, 1024) for _ in range(3)), *(np.zeros(1024, np.float32) for _ in range(2))],
    ),
    Case("transpose", (32, 32), (16, 16), lambda d: [512, _floats(d, 512, 512), np.zeros((512, 512), np.float32)]),
    Case("rows", 64, 256, _sparse),
    Case("search", 256, 256, _search),
    Case("collatz", 256, 256, lambda d: [np.zeros(1 << 16, np.int32)]),
)  # fmt: skip


def ptx_of_nvcc(source: str) -> str:
    """What nvcc makes of CUDA C++."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        sys.exit("bench.ptx_speed needs nvcc on the path")
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder, "kernels.cu"), Path(folder, "kernels.ptx")
        file.write_text(source)
        subprocess.run([nvcc, "-O3", "-ptx", "-arch=sm_75", str(file), "-o", str(made)], check=True)
        return made.read_text()


def timed(run: Callable[[], None]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    os.environ["WEFT_NUM_THREADS"] = "1"
    from weft import cuda, ptx

    kernels = ptx.Module(ptx_of_nvcc(SOURCE)), cuda.Module(SOURCE)
    ratios: list[float] = []
    print(f"{'':14}{'PTX ms':>9}{'C++ ms':>9}{'ratio':>8}")
    for case in CASES:
        runs: list[Callable[[], None]] = []
        results: list[Any] = []
        for module in kernels:
            arguments = case.arguments(np.random.default_rng(1))
            configured = getattr(module, case.name)[case.grid, case.block]
            runs.append(lambda c=configured, a=arguments: c(*a))
            runs[-1]()
            results.append(arguments[-1].copy())
        # What is fused differs, which moves the border of the set.
        assert np.isclose(*results, rtol=1e-3, atol=1e-3).mean() > 0.99, case.name
        times = [[timed(run) for run in runs] for _ in range(ROUNDS)]
        ours, other = (statistics.median(column) for column in zip(*times, strict=True))
        ratios.append(statistics.median(a / b for a, b in times))
        print(f"{case.name:14}{ours * 1e3:9.2f}{other * 1e3:9.2f}{ratios[-1]:8.2f}")
    print(f"{'geometric mean':32}{statistics.geometric_mean(ratios):8.2f}")


if __name__ == "__main__":
    main()

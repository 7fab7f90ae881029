"""The kernels that latency is measured with: those of `examples/`, on small inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import bilateral as bilateral_example
import mandelbrot as mandelbrot_example

from weft import cuda


@dataclass(frozen=True, slots=True)
class Workload:
    """A kernel on a small input.

    Parameters
    ----------
    name, kernel
        The Python function, written for one thread.
    inputs
        The arguments before the output.
    expected, tolerance
        What the output should be, and how far off it may be.
    grid, block
        How the kernel is launched.
    """

    name: str
    kernel: Callable[..., None]
    inputs: tuple[Any, ...]
    expected: np.ndarray
    tolerance: float
    grid: tuple[int, int]
    block: tuple[int, int]

    def output(self) -> np.ndarray:
        """Return an output that nothing has been written to."""
        return np.zeros_like(self.expected)

    def complaint(self, output: np.ndarray) -> str | None:
        """Say how many elements are wrong, None when all are right."""
        wrong = int((np.abs(output - self.expected) > self.tolerance).sum())
        return f"{wrong} of {output.size} elements differ from NumPy's" if wrong else None


def mandelbrot(width: int = 64, height: int = 64) -> Workload:
    """Return the Mandelbrot set as a workload."""
    left, top, step = np.float32(-2.2), np.float32(1.2), np.float32(3.2 / width)
    inputs = (left, top, step, 64)
    expected = mandelbrot_example.counts_by_numpy(*inputs, slice(0, height), slice(0, width))
    return Workload(
        "mandelbrot",
        mandelbrot_example.mandelbrot.py_func,
        inputs,
        expected,
        0,
        mandelbrot_example.blocks_for(width, height),
        mandelbrot_example.THREADS,
    )


def bilateral(width: int = 64, height: int = 64) -> Workload:
    """Return the bilateral filter as a workload, on noise."""
    image = np.random.default_rng(1).random((3, height, width), np.float32)
    inputs = (image, bilateral_example.gaussian(3), np.float32(20))
    expected = bilateral_example.filter_by_numpy(*inputs, slice(0, height), slice(0, width))
    return Workload(
        "bilateral",
        bilateral_example.bilateral.py_func,
        inputs,
        expected.astype(np.float32),
        1e-5,
        bilateral_example.blocks_for(width, height),
        bilateral_example.THREADS,
    )


WORKLOADS = {"mandelbrot": mandelbrot, "bilateral": bilateral}


def launch(workload: Workload, output: np.ndarray, **options: Any) -> Any:
    """Compile the kernel of a workload from scratch, run it, and return it."""
    kernel = cuda.jit(workload.kernel, **options)
    kernel[workload.grid, workload.block](*workload.inputs, output)
    return kernel


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]

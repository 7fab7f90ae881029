"""The Mandelbrot set with real and with complex numbers: a loop that each thread leaves in its own time."""

from __future__ import annotations

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

SIZE = 256
LIMIT = 256
BLOCK = (64, 4)


@cuda.jit
def mandelbrot(left, top, step, limit, counts):
    """Count the steps after which each point has left the circle of radius two."""
    x, y = cuda.grid(2)
    if y < counts.shape[0] and x < counts.shape[1]:
        real = left + x * step
        imag = top - y * step
        zr = np.float32(0)
        zi = np.float32(0)
        n = 0
        while n < limit and zr * zr + zi * zi <= 4:
            zr, zi = zr * zr - zi * zi + real, (zr + zr) * zi + imag
            n += 1
        counts[y, x] = n


@cuda.jit
def mandelbrot_complex(left, top, step, limit, counts):
    """Do the same in complex arithmetic."""
    x, y = cuda.grid(2)
    if y < counts.shape[0] and x < counts.shape[1]:
        c = np.complex64(complex(left + x * step, top - y * step))
        z = np.complex64(0)
        n = 0
        while n < limit and z.real * z.real + z.imag * z.imag <= 4:
            z = z * z + c
            n += 1
        counts[y, x] = n


def by_numpy(left, top, step, limit: int, shape: tuple[int, int]) -> np.ndarray:
    """Return the counts, computed for the whole picture at once."""
    real = np.broadcast_to(left + np.arange(shape[1]).astype(np.float32) * step, shape)
    imag = np.broadcast_to(top - np.arange(shape[0]).astype(np.float32)[:, None] * step, shape)
    counts = np.zeros(shape, np.int32)
    # Only points that are still inside are carried on, by their position in the picture.
    inside = np.arange(counts.size)
    real, imag = real.ravel(), imag.ravel()
    zr, zi = np.zeros_like(real), np.zeros_like(imag)
    for _ in range(limit):
        near = zr * zr + zi * zi <= 4
        inside, real, imag, zr, zi = (v[near] for v in (inside, real, imag, zr, zi))
        counts.ravel()[inside] += 1
        zr, zi = zr * zr - zi * zi + real, (zr + zr) * zi + imag
    return counts


def picture(kernel: cuda.Kernel, width: int, height: int, limit: int) -> Problem:
    """Return the set in a picture of the given size."""
    view = np.float32(-2.2), np.float32(1.2), np.float32(3.2 / width)
    counts = np.zeros((height, width), np.int32)
    grid = blocks_for(width, BLOCK[0]), blocks_for(height, BLOCK[1])
    return Problem(
        kernel,
        (*view, limit, counts),
        grid,
        BLOCK,
        (4,),
        lambda: (by_numpy(*view, limit, counts.shape),),
        # Under fastmath a point near the border may leave a step earlier or later.
        mismatches=0.02,
    )


def problems(size: int = SIZE) -> list[Problem]:
    kernels = mandelbrot, mandelbrot_complex
    return [picture(kernel, size, max(1, size * 3 // 4), LIMIT) for kernel in kernels]

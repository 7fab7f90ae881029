"""Two-dimensional convolution: a group loads its tile with a halo around it, then each thread sums a window."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 1024
TILE = 16
RADIUS = 2
WITH_HALO = TILE + 2 * RADIUS

_SLOPE = np.array([1, 4, 6, 4, 1], dtype=np.float32) / 16
WEIGHTS = np.outer(_SLOPE, _SLOPE + np.linspace(0, 0.1, 5, dtype=np.float32)).astype(np.float32)


@cuda.jit
def convolve_tile(image, result):
    """Convolve with `WEIGHTS`; beyond the border the image goes on with its edge pixels."""
    tile = cuda.shared.array((WITH_HALO, WITH_HALO), dtype=np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    height, width = image.shape
    top = cuda.blockIdx.y * TILE - RADIUS
    left = cuda.blockIdx.x * TILE - RADIUS
    for y in range(ty, WITH_HALO, TILE):
        row = min(max(top + y, 0), height - 1)
        for x in range(tx, WITH_HALO, TILE):
            column = min(max(left + x, 0), width - 1)
            tile[y, x] = image[row, column]
    cuda.syncthreads()
    column, row = cuda.grid(2)
    if row < height and column < width:
        total = np.float32(0)
        for dy in range(2 * RADIUS + 1):
            for dx in range(2 * RADIUS + 1):
                total += WEIGHTS[2 * RADIUS - dy, 2 * RADIUS - dx] * tile[ty + dy, tx + dx]
        result[row, column] = total


def convolve(image: np.ndarray) -> np.ndarray:
    """Return a float32 image convolved with `WEIGHTS`."""
    result = np.zeros_like(image)
    grid = blocks_for(image.shape[1], TILE), blocks_for(image.shape[0], TILE)
    convolve_tile[grid, (TILE, TILE)](image, result)
    return result


def main(size: int = SIZE) -> None:
    image = np.random.default_rng(5).random((size, size + 9), dtype=np.float32)
    result = timed(f"convolution of {size} rows", lambda: convolve(image))
    agree("convolution", result, ndimage.convolve(image, WEIGHTS, mode="nearest"), rtol=1e-4)


if __name__ == "__main__":
    main()

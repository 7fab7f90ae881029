"""Matrix product by tiles: each group keeps a tile of both factors in shared memory."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 512
TILE = 16


@cuda.jit
def tiled_product(a, b, c):
    """Compute one element of ``c = a @ b`` a thread."""
    tile_a = cuda.shared.array((TILE, TILE), dtype=np.float32)
    tile_b = cuda.shared.array((TILE, TILE), dtype=np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = np.float32(0)
        tile_b[ty, tx] = np.float32(0)
        if row < a.shape[0] and start + tx < a.shape[1]:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and column < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two float32 matrices."""
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    grid = blocks_for(c.shape[1], TILE), blocks_for(c.shape[0], TILE)
    tiled_product[grid, (TILE, TILE)](a, b, c)
    return c


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(3)
    # Sides that are no multiples of the tile, nor equal.
    a = rng.random((size, size + 5), dtype=np.float32)
    b = rng.random((size + 5, size - 3), dtype=np.float32)
    c = timed(f"product of {size} x {size} matrices", lambda: product(a, b))
    agree("product", c, a.astype(np.float64) @ b, rtol=1e-4)


if __name__ == "__main__":
    main()

"""Transpose by tiles: rows are read and rows are written, the turn happens in shared memory."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 2048
TILE = 32
ROWS = 8


@cuda.jit
def tiled_transpose(source, target):
    """Turn one tile a group; each thread moves ``TILE / ROWS`` elements."""
    # One column more than needed: on a GPU, columns then lie in different banks.
    tile = cuda.shared.array((TILE, TILE + 1), dtype=np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE + tx
    y = cuda.blockIdx.y * TILE + ty
    for k in range(0, TILE, ROWS):
        if x < source.shape[1] and y + k < source.shape[0]:
            tile[ty + k, tx] = source[y + k, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + tx
    y = cuda.blockIdx.x * TILE + ty
    for k in range(0, TILE, ROWS):
        if x < target.shape[1] and y + k < target.shape[0]:
            target[y + k, x] = tile[tx, ty + k]


def transpose(source: np.ndarray) -> np.ndarray:
    """Return the transpose of a float32 matrix, as a matrix of its own."""
    rows, columns = source.shape
    target = np.zeros((columns, rows), np.float32)
    grid = blocks_for(columns, TILE), blocks_for(rows, TILE)
    tiled_transpose[grid, (TILE, ROWS)](source, target)
    return target


def main(size: int = SIZE) -> None:
    source = np.random.default_rng(4).random((size, size + size // 3), dtype=np.float32)
    target = timed(f"transpose of {size} rows", lambda: transpose(source))
    agree("transpose", target, source.T)


if __name__ == "__main__":
    main()

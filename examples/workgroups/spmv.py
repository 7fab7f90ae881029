"""Sparse matrix times vector, compressed rows: a warp of 32 threads shares each row."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 100_000
WARP = 32
WARPS = 4
PER_ROW = 40


@cuda.jit
def multiply_rows(starts, columns, values, x, y):
    """Compute one element of `y` a warp: each lane sums every 32nd product, then the lanes fold."""
    partial = cuda.shared.array((WARPS, WARP), dtype=np.float64)
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.x * WARPS + warp
    total = 0.0
    if row < y.size:
        for k in range(starts[row] + lane, starts[row + 1], WARP):
            total += values[k] * x[columns[k]]
    partial[warp, lane] = total
    cuda.syncthreads()
    width = WARP // 2
    while width > 0:
        if lane < width:
            partial[warp, lane] += partial[warp, lane + width]
        cuda.syncthreads()
        width //= 2
    if lane == 0 and row < y.size:
        y[row] = partial[warp, 0]


def multiply(matrix: sparse.csr_array, x: np.ndarray) -> np.ndarray:
    """Return the product of a float64 matrix in compressed rows and a vector."""
    y = np.zeros(matrix.shape[0])
    grid = blocks_for(y.size, WARPS)
    multiply_rows[grid, (WARP, WARPS)](matrix.indptr, matrix.indices, matrix.data, x, y)
    return y


def random_matrix(rows: int, rng: np.random.Generator) -> sparse.csr_array:
    """Return a square matrix with rows of very different lengths."""
    lengths = np.minimum(rng.geometric(1 / PER_ROW, rows) - 1, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = rng.integers(0, rows, starts[-1]).astype(np.int32)
    return sparse.csr_array((rng.standard_normal(starts[-1]), columns, starts), shape=(rows, rows))


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(11)
    matrix, x = random_matrix(size, rng), rng.standard_normal(size)
    y = timed(f"sparse product of {size} rows, {matrix.nnz} values", lambda: multiply(matrix, x))
    agree("product", y, matrix @ x, rtol=1e-10, atol=1e-10)


if __name__ == "__main__":
    main()

"""All shortest paths by tiles (Floyd and Warshall): the diagonal tile, then its row and column, then the rest."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph

from examples.workgroups.checking import agree, blocks_for, timed
from weft import cuda

SIZE = 512
TILE = 16
FAR = np.float32(1e9)


@cuda.jit
def relax_diagonal(distances, round_number):
    """Relax the diagonal tile of a round by paths within it."""
    tile = cuda.shared.array((TILE, TILE), dtype=np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    start = round_number * TILE
    tile[y, x] = distances[start + y, start + x]
    cuda.syncthreads()
    for k in range(TILE):
        through = tile[y, k] + tile[k, x]
        cuda.syncthreads()
        tile[y, x] = min(tile[y, x], through)
        cuda.syncthreads()
    distances[start + y, start + x] = tile[y, x]


@cuda.jit
def relax_cross(distances, round_number):
    """Relax the tiles of the round's row (grid row 0) and column (grid row 1) through the diagonal one."""
    diagonal = cuda.shared.array((TILE, TILE), dtype=np.float32)
    tile = cuda.shared.array((TILE, TILE), dtype=np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    other = cuda.blockIdx.x
    if other == round_number:
        return
    start = round_number * TILE
    is_row = cuda.blockIdx.y == 0
    row = start if is_row else other * TILE
    column = other * TILE if is_row else start
    diagonal[y, x] = distances[start + y, start + x]
    tile[y, x] = distances[row + y, column + x]
    cuda.syncthreads()
    for k in range(TILE):
        through = diagonal[y, k] + tile[k, x] if is_row else tile[y, k] + diagonal[k, x]
        cuda.syncthreads()
        tile[y, x] = min(tile[y, x], through)
        cuda.syncthreads()
    distances[row + y, column + x] = tile[y, x]


@cuda.jit
def relax_rest(distances, round_number):
    """Relax every other tile through the round's row and column."""
    from_row = cuda.shared.array((TILE, TILE), dtype=np.float32)
    from_column = cuda.shared.array((TILE, TILE), dtype=np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if cuda.blockIdx.x == round_number or cuda.blockIdx.y == round_number:
        return
    column, row = cuda.grid(2)
    start = round_number * TILE
    from_row[y, x] = distances[start + y, column]
    from_column[y, x] = distances[row, start + x]
    cuda.syncthreads()
    shortest = distances[row, column]
    for k in range(TILE):
        shortest = min(shortest, from_column[y, k] + from_row[k, x])
    distances[row, column] = shortest


def shortest_paths(lengths: np.ndarray) -> np.ndarray:
    """Return the distance of each pair of vertices; `lengths` is float32 with `FAR` where there is no edge."""
    vertices = len(lengths)
    tiles = blocks_for(vertices, TILE)
    distances = np.full((tiles * TILE, tiles * TILE), FAR, np.float32)
    distances[:vertices, :vertices] = lengths
    for number in range(tiles):
        relax_diagonal[1, (TILE, TILE)](distances, number)
        relax_cross[(tiles, 2), (TILE, TILE)](distances, number)
        relax_rest[(tiles, tiles), (TILE, TILE)](distances, number)
    return distances[:vertices, :vertices]


def main(size: int = SIZE) -> None:
    rng = np.random.default_rng(16)
    # Whole numbers: their sums are exact in float32.
    lengths = rng.integers(1, 100, (size, size)).astype(np.float32)
    lengths[rng.random((size, size)) < 0.9] = FAR
    np.fill_diagonal(lengths, 0)
    distances = timed(f"shortest paths of {size} vertices", lambda: shortest_paths(lengths))
    wanted = csgraph.floyd_warshall(np.where(lengths == FAR, np.inf, lengths))
    agree("distances", np.where(distances >= FAR, np.inf, distances), wanted)


if __name__ == "__main__":
    main()

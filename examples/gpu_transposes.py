"""Three ways to transpose a matrix on a GPU, where there is none: ``python examples/gpu_transposes.py``.

A model counts what each would do to memory and predicts cycles; the best one is written as PTX.
"""

import argparse

import numpy as np

from weft import cuda

TILE = 32


@cuda.jit
def plain(source, target):
    """Write columns as they are read in rows: each thread of a warp has a line of its own."""
    x, y = cuda.grid(2)
    target[x, y] = source[y, x]


@cuda.jit
def tiled(source, target):
    """Go through a tile in shared memory, whose columns are all in one bank."""
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = source[row + ty, column + tx]
    cuda.syncthreads()
    target[column + ty, row + tx] = tile[tx, ty]


@cuda.jit
def padded(source, target):
    """The same with rows of 33 elements, which spreads columns over all banks."""
    tile = cuda.shared.array((TILE, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = source[row + ty, column + tx]
    cuda.syncthreads()
    target[column + ty, row + tx] = tile[tx, ty]


def cycles(size: int, device: str) -> dict[str, float]:
    """Return the cycles that the model predicts for each kernel, whose results are checked."""
    source = np.arange(size * size, dtype=np.float32).reshape(size, size)
    found = {}
    for kernel in (plain, tiled, padded):
        target = np.zeros_like(source)
        simulation = kernel.simulate((size // TILE,) * 2, (TILE, TILE), source, target, device=device)
        assert (target == source.T).all()
        print(simulation)
        found[kernel.__name__] = simulation.cycles
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--device", default="gtx570")
    parser.add_argument("--ptx", metavar="FILE", help="write the last kernel there, for sm_90")
    options = parser.parse_args()
    cycles(options.size, options.device)
    if options.ptx:
        with open(options.ptx, "w", encoding="ascii") as file:
            file.write(padded.inspect_ptx("void(float32[:, ::1], float32[:, ::1])", "sm_90", lines=False))

"""A program that a user might write, under pyright's strict rules: weft's types have to hold up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import weft
from weft import cuda
from weft.errors import WeftError

Floats = npt.NDArray[np.float32]


@cuda.jit
def saxpy(a: float, x: Floats, y: Floats) -> None:
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit(fastmath=True)
def reversed_blocks(x: Floats) -> None:
    tile = cuda.shared.array(64, weft.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    tile[t] = x[i]
    cuda.syncthreads()
    x[i] = tile[cuda.blockDim.x - 1 - t]


@weft.jit
def total(x: Floats) -> float:
    s = 0.0
    for i in weft.prange(x.size):
        s += float(x[i])
    return s


@weft.vectorize
def clipped(a: float, limit: float) -> float:
    return min(a, limit)


@weft.guvectorize("void(float64[:], float64[:])", "(n)->()")
def largest(row: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None:
    out[0] = row.max()


def main() -> None:
    x, y = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    try:
        saxpy[4, 256](np.float32(2.0), x, y)
        saxpy.forall(x.size)(np.float32(1.0), x, y)
        reversed_blocks[16, 64](y)
    except WeftError as error:
        print(error, error.span, error.hint)
    print(saxpy.report())
    for remark in saxpy.remarks:
        print(remark)
    result: float = total(y)
    print(result, clipped(y, 2.5), largest(np.ones((3, 4))), total.py_func(y))
    with weft.profile() as seen:
        total(x)
    for line in seen.lines:
        print(line.name, line.seconds, line.bandwidth)
    weft.set_num_threads(weft.get_num_threads())


main()

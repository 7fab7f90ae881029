"""Threads that fill a tile by one number do so row by row, where nobody can tell who has filled what (`tile_rows`)."""

from collections.abc import Callable

import numpy as np
import pytest

from weft import cuda

ROWS, COLUMNS = 11, 10


def filled(a, out, w):
    """A row is not whole: 107 of 110 elements."""
    tile = cuda.shared.array((11, 12), np.int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for r in range(ty, 11, cuda.blockDim.y):
        for c in range(tx, 12, cuda.blockDim.x):
            tile[r, c] = -1
    cuda.syncthreads()
    for i in range(ty * 8 + tx, 107, 32):
        r, c = i // 10, i % 10
        tile[r, c] = a[r, c] if c < w else -2
    cuda.syncthreads()
    for r in range(ty, 11, cuda.blockDim.y):
        for c in range(tx, 12, cuda.blockDim.x):
            out[r, c] = tile[r, c]


def in_planes(a, out, w):
    """Of three dimensions, by the sizes that the launch has."""
    tile = cuda.shared.array((2, 5, 12), np.int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for i in range(ty * cuda.blockDim.x + tx, 110, cuda.blockDim.x * cuda.blockDim.y):
        tile[i // 55, i // 11 % 5, i % 11] = a[i // 11, i % 11] + i // 55
    cuda.syncthreads()
    for r in range(ty, 10, cuda.blockDim.y):
        for c in range(tx, 11, cuda.blockDim.x):
            out[r, c] = tile[r // 5, r % 5, c]


def own(a, out, w):
    """What a thread has filled it reads itself, without a barrier."""
    tile = cuda.shared.array((11, 12), np.int32)
    t = cuda.threadIdx.y * 8 + cuda.threadIdx.x
    for i in range(t, 107, 32):
        tile[i // 10, i % 10] = a[i // 10, i % 10]
    out[t // 10, t % 10] = tile[t // 10, t % 10]
    cuda.syncthreads()
    out[t // 10 + 5, t % 10] = tile[9 - t // 10, t % 10]


def signed(a, out, w):
    """Each thread writes its number."""
    tile = cuda.shared.array((11, 12), np.int32)
    t = cuda.threadIdx.y * 8 + cuda.threadIdx.x
    for i in range(t, 110, 32):
        tile[i // 10, i % 10] = t
    cuda.syncthreads()
    out[t // 10, t % 10] = tile[9 - t // 10, t % 10]


def over_each_other(a, out, w):
    """The last round of a thread writes where its first one has."""
    tile = cuda.shared.array((4, 10), np.int32)
    t = cuda.threadIdx.y * 8 + cuda.threadIdx.x
    for i in range(t, 96, 32):
        tile[i % 32 // 10, i % 32 % 10] = i // 10
    cuda.syncthreads()
    out[t // 10, t % 10] = tile[t // 10, t % 10]


@pytest.mark.parametrize(
    ("program", "block", "found"),
    [
        (filled, (8, 4), True),
        (filled, (8, 2), True),
        (in_planes, (16, 4), True),
        (in_planes, (64, 1), True),
        (own, (8, 4), False),
        (signed, (8, 4), False),
        (over_each_other, (8, 4), False),
    ],
)
def test_tiles_are_what_the_program_says(
    program: Callable[..., None], block: tuple[int, int], found: bool
) -> None:
    a = np.arange(ROWS * 12, dtype=np.int32).reshape(ROWS, 12)
    kernel = cuda.jit(program)
    out, wanted = np.zeros((ROWS, 12), np.int32), np.zeros((ROWS, 12), np.int32)
    kernel[1, block](a, out, 7)
    cuda.jit(program, debug=True)[1, block](a, wanted, 7)
    assert (out == wanted).all()
    told = "neighbours run along a row of what is filled"
    assert any(told in remark.message for remark in kernel.remarks) == found

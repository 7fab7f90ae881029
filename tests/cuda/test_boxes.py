"""Work-groups with short rows: lane groups are boxes of threads, and do what the interpreter does."""

import re

import numpy as np
import pytest

from weft import cuda
from weft.cuda.kernel import Kernel

LAUNCHES = [
    *(("exchange", block) for block in ((8, 8), (2, 3, 8), (4, 4, 4), (1, 64), (3, 5))),
    *(("alone", block) for block in ((4, 16), (8, 3))),
]
N = 100


def exchange(a, out, votes, m):
    """Rows, columns, tiles and scalars of each row, across barriers."""
    tile = cuda.shared.array((8, 64, 8), dtype=np.float32)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    bx, by = cuda.blockDim.x, cuda.blockDim.y
    row = y + by * z
    v = a[cuda.blockIdx.x + row, x] + a[0, x] * a[row, 3]
    tile[z, y, x] = v
    cuda.syncthreads()
    w = tile[z, by - 1 - y, x] + tile[z, y, bx - 1 - x]
    total = np.float32(0)
    for k in range(y, m, by):
        total += a[k, x] * tile[z, y, 0]
    cuda.syncthreads()
    tile[z, y, x] = w + total
    count = cuda.syncthreads_count(w > total)
    if y & 1:
        w += tile[z, y - 1, x]
    else:
        w -= a[m - 1, row]
    out[cuda.blockIdx.x, row * bx + x] = w + v
    if row == 0 and x == 0:
        votes[cuda.blockIdx.x] = count


def alone(a, out, votes, m):
    """As much without a barrier, in groups that cannot be merged."""
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    bx, by = cuda.blockDim.x, cuda.blockDim.y
    row = y + by * z
    own = cuda.local.array(4, dtype=np.float32)
    for k in range(4):
        own[k] = a[row, x + k]
    total = own[y & 3] + a[0, x] * a[row, 3]
    if y < m - 16:
        total += a[y, x] * own[1]
        for k in range(y):
            total += a[k, z]
    i = cuda.blockIdx.x
    if x + row * bx < m * m:
        out[i, row * bx + x] = total
    if row == 0 and x == 0:
        votes[i] = bx


KERNELS = {k.__name__: (Kernel(k), Kernel(k, debug=True)) for k in (exchange, alone)}


@pytest.mark.parametrize(("name", "block"), LAUNCHES, ids=str)
def test_each_shape_gives_what_the_interpreter_does(name: str, block: tuple[int, ...]) -> None:
    fast, judge = KERNELS[name]
    threads = int(np.prod(block))
    a = np.random.default_rng(threads).integers(0, 9, (N, N)).astype(np.float32)
    got, wanted = ((np.zeros((2, threads), np.float32), np.zeros(2, np.int64)) for _ in range(2))
    fast[2, block](a, *got, 20)
    judge[2, block](a, *wanted, 20)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(g, w)


def test_lane_groups_are_columns_where_these_are_contiguous() -> None:
    def swapped(a, out):
        row, column = cuda.threadIdx.x, cuda.threadIdx.y
        tile = cuda.shared.array((16, 32), dtype=np.float32)
        tile[row, column] = a[row, column]
        cuda.syncthreads()
        out[row, column] = tile[15 - row, column] + a[row, 0]

    a, out = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((16, 32), np.float32)
    kernel = Kernel(swapped)
    kernel[1, (16, 32)](a, out)
    np.testing.assert_array_equal(out, a[::-1] + a[:, :1])
    (code,), (version,) = kernel.overloads.values(), kernel._specializations.made.values()
    assert code.terms.box_width > 16
    # Registers of four lanes take four neighbours each, however many columns there are.
    assert re.search(r"[14] by \d+ of a work-group of 16 by 32", version.remarks[0].message)


def in_warps(a, out):
    """Sums of warps, and what the neighbour in the warp has, around a barrier."""
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile = cuda.shared.array((4, 16, 16), dtype=np.int64)
    v = a[y, x] + z
    tile[z, y, x] = cuda.shfl_xor_sync(0xFFFFFFFF, v, 5) * cuda.laneid
    cuda.syncthreads()
    w = tile[z, cuda.blockDim.y - 1 - y, x]
    for k in range(5):
        w += cuda.shfl_down_sync(0xFFFFFFFF, w, 1 << k)
    out[z, y, x] = w + cuda.ballot_sync(0xFFFFFFFF, v & 1 == 0)


@pytest.mark.parametrize(
    ("block", "boxed"), [((16, 4), True), ((4, 4, 4), True), ((8, 5), False), ((4, 4, 3), False)]
)
def test_warps_are_boxes_where_rows_are_parts_of_them(block: tuple[int, ...], boxed: bool) -> None:
    x, y, z = (*block, 1)[:3]
    a = np.random.default_rng(2).integers(0, 99, (16, 16))
    kernel = Kernel(in_warps)
    got, wanted = np.zeros((2, z, y, x), np.int64)
    kernel[1, block](a, got)
    Kernel(in_warps, debug=True)[1, block](a, wanted)
    np.testing.assert_array_equal(got, wanted)
    assert any(code.source.options.block for code in kernel._specializations.made.values()) == boxed

"""Threads one after the other along x run in rows, of which guards are the bounds."""

import itertools

import numpy as np
import pytest

from pairs import pairs
from weft import cuda
from weft.machine.host import chosen

STARTS = np.array([0, 3, 3, 20, 21, 60, 64, 90], np.int32)


@cuda.jit
def sums(starts, columns, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += x[columns[k]]
        y[row] = total


@cuda.jit
def sums_behind(starts, columns, x, y, first):
    row = cuda.grid(1)
    if row >= y.size or row < first:
        return
    total = 0.0
    for k in range(starts[row], starts[row + 1]):
        total += x[columns[k]]
    y[row] = total


@cuda.jit
def sums_of_groups(starts, columns, x, y):
    row = cuda.blockIdx.x
    if row < y.shape[0] and cuda.threadIdx.x < y.shape[1]:
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += x[columns[k]]
        y[row, cuda.threadIdx.x] = total + cuda.blockDim.x


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    columns, x = rng.integers(-9, 9, STARTS[-1]).astype(np.int32), rng.random(9)
    return columns, x, np.array([x[columns[a:b]].sum() for a, b in itertools.pairwise(STARTS)])


@pytest.mark.parametrize(
    ("grid", "block", "first"),
    pairs([1, 2, 7, (2, 3)], [1, 4, 32, (4, 3), (2, 2, 2)], [None, -1, 0, 2, 9]),
)
def test_the_threads_of_any_grid_run_that_pass_the_guards(
    grid: int | tuple[int, ...], block: int | tuple[int, ...], first: int | None
) -> None:
    columns, x, expected = data()
    y = np.full(7, -1.0)
    arguments = (STARTS, columns, x, y) if first is None else (STARTS, columns, x, y, first)
    (sums if first is None else sums_behind)[grid, block](*arguments)
    threads = np.ravel(grid)[0] * np.ravel(block)[0]
    ran = (np.arange(7) < threads) & (np.arange(7) >= (first or 0))
    assert np.allclose(y, np.where(ran, expected, -1.0))


@pytest.mark.parametrize("block", [1, 3, 8])
def test_threads_that_tell_groups_apart_stay_in_them(block: int) -> None:
    columns, x, expected = data()
    y = np.full((7, 5), -1.0)
    sums_of_groups[9, block](STARTS, columns, x, y)
    ran = np.arange(5) < block
    assert np.allclose(y, np.where(ran, expected[:, None] + block, -1.0))


def test_rows_go_on_from_group_to_group_and_ask_no_guard() -> None:
    columns, x, _ = data()
    kernel = cuda.jit(sums.py_func)
    kernel[2, 4](STARTS, columns, x, np.zeros(7))
    if not any("runs thread after thread" in remark.message for remark in kernel.remarks):
        pytest.skip(f"threads run in lanes on {chosen().isa.name}")
    (text,) = kernel.inspect_llvm().values()
    assert "threads.body" in text and "llvm.smin.i64" in text

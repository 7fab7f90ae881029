"""Guards of kernels with warp operations: whole warps that pass them have no masks for them."""

from collections.abc import Callable

import numpy as np
import pytest

from weft import cuda
from weft.cuda.build import lower
from weft.frontend.python.typeof import typeof
from weft.ir.reader import read_module
from weft.options import CompileOptions, Timings


def vote(out, first, last, height):
    x, y = cuda.grid(2)
    if first <= x < last and y < height:
        odd = cuda.ballot_sync(cuda.activemask(), (x + y) & 1 == 1)
        out[y, x] += 1 + cuda.popc(odd) + 64 * cuda.popc(cuda.activemask())


def vote_behind_return(out, first, last, height):
    x, y = cuda.grid(2)
    if x < first or x >= last:
        return
    if y >= height:
        return
    odd = cuda.ballot_sync(cuda.activemask(), x & 1 == y & 1)
    out[y, x] += 1 + 64 * cuda.popc(cuda.activemask()) + cuda.popc(odd)


def vote_before(out, first, last, height):
    x, y = cuda.grid(2)
    there = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, x >= first))
    if x < last and y < height:
        out[y, x] += there


def turn(out, first, last, height):
    """The guards are three."""
    x, y = cuda.grid(2)
    if y >= height:
        return
    if x >= last:
        return
    if x >= first:
        out[y, x] += 1 + cuda.shfl_sync(cuda.activemask(), x, 0)


KERNELS = [vote, vote_behind_return, vote_before, turn]
ENDS = [(0, 100), (5, 77), (32, 96), (40, 50), (60, 30), (64, 300)]


@pytest.mark.spread
@pytest.mark.parametrize("block", [(32, 1), (64, 2), (48, 1), (8, 8), (33, 2), (20, 1)])
@pytest.mark.parametrize("function", KERNELS)
def test_each_thread_that_passes_votes_once(
    function: Callable[..., None], block: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    kernel, judge = cuda.jit(function), cuda.jit(function, debug=True)
    grid = -(-130 // block[0]), -(-7 // block[1])
    shape = grid[1] * block[1], grid[0] * block[0]
    for first, last in ENDS:
        for height in (5, 20):
            mine, there = np.zeros((2, *shape), np.int32)
            arguments = first, min(last, shape[1]), min(height, shape[0])
            kernel[grid, block](mine, *arguments)
            judge[grid, block](there, *arguments)
            np.testing.assert_array_equal(mine, there)


@pytest.mark.parametrize("function", KERNELS)
def test_every_pass_does_the_same(function: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    for block in ((32, 2), (80, 1), (8, 8)):
        out = np.zeros((12, 160), np.int32)
        cuda.jit(function)[(160 // block[0], 3), block](out, 7, 139, 5)
        assert out.any()
        assert not out[5:].any()


def walk(points, out):
    i = cuda.grid(1)
    if i < out.size:
        best = np.float32(3e38)
        k = 0
        while cuda.any_sync(cuda.activemask(), best > 0) and k < points.size:
            best = min(best, abs(points[k] - i))
            k += 1
        out[i] = best


def test_whole_warps_have_no_masks() -> None:
    types = (typeof(np.zeros(1, np.float32)), typeof(np.zeros(1, np.float32)))
    lowered, remarks = lower(walk, types, CompileOptions(), Timings())
    assert any("bound of the loop over threads" in r.message for r in remarks)
    whole, partial = (
        [i.callee_name or "" for i in read_module(lowered.text).functions[name].instructions()]
        for name in ("walk.w32", "walk.w32.partial")
    )
    assert not any("masked" in name for name in whole)
    assert any("masked" in name for name in partial)


def together(out, n):
    """Not a guard: what is before it shows."""
    i = cuda.grid(1)
    out[i] = 1
    if i < n:
        out[i] += cuda.popc(cuda.activemask())


def test_what_is_before_a_guard_is_done() -> None:
    out = np.zeros(96, np.int32)
    cuda.jit(together)[3, 32](out, 40)
    assert out.tolist() == [33] * 32 + [9] * 8 + [1] * 56

"""Loops of few rounds whose shuffles have a distance for each are written out; others stay (`unroll_shuffles`)."""

import numpy as np
import pytest

from weft import cuda


def halved(x, out, n):
    t = cuda.threadIdx.x
    total, d = x[t], 16
    while d > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, d)
        d >>= 1
    out[t] = total


def doubled(x, out, n):
    """A scan: each round asks whether there is a lane so far before."""
    t = cuda.threadIdx.x
    total, d = x[t], 1
    while d < 32:
        before = cuda.shfl_up_sync(0xFFFFFFFF, total, d)
        if t >= d:
            total += before
        d *= 2
    out[t] = total


def unknown(x, out, n):
    """Nobody knows how many rounds there are."""
    t = cuda.threadIdx.x
    total, d = x[t], n
    while d > 0:
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, d)
        d >>= 1
    out[t] = total


def same(x, out, n):
    """All rounds read the same lanes."""
    t = cuda.threadIdx.x
    total = x[t]
    for _ in range(5):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 1)
    out[t] = total


@pytest.mark.parametrize(("program", "written"), [(halved, 1), (doubled, 1), (unknown, 0), (same, 0)])
def test_rounds_are_written_out_where_each_reads_other_lanes(program, written: int) -> None:
    kernel = cuda.jit(program)
    x = np.arange(32, dtype=np.int64) ** 2
    out, wanted = np.zeros_like(x), np.zeros_like(x)
    kernel[1, 32](x, out, 16)
    cuda.jit(program, debug=True)[1, 32](x, wanted, 16)
    assert (out == wanted).all()
    assert sum("the few rounds of this loop are written out" in r.message for r in kernel.remarks) == written

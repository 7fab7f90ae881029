"""Walks of the grid, and other loops that threads leave in the order of their lanes, in kernels and loops."""

import re

import numpy as np
import pytest

import weft
from weft import cuda, opencl


def walk(x, out):
    total = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i] * x[i]
    out[cuda.grid(1)] = total


def counted_down(x, out):
    i = x.size - 1 - cuda.grid(1)
    while i >= 0:
        out[i] += x[i]
        i -= cuda.gridsize(1)


def at_the_end(x, out):
    i = cuda.grid(1)
    if i < x.size:
        while True:
            out[i] += x[i]
            i += cuda.gridsize(1)
            if i >= x.size:
                break


def with_branches(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        if x[i] > 0.5:
            out[i] = x[i]
        else:
            out[i] = -1.0


SIZES = [0, 1, 31, 129, 1000]


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_kernels_that_walk_the_grid(level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    summed, branching = cuda.jit(walk), cuda.jit(with_branches)
    added = [cuda.jit(counted_down), cuda.jit(at_the_end)]
    for size in SIZES:
        for threads in (32, 40):
            x = np.random.default_rng(size).random(size)
            totals = np.zeros(2 * threads)
            summed[2, threads](x, totals)
            expected = [sum((v * v for v in x[t :: 2 * threads]), 0.0) for t in range(2 * threads)]
            np.testing.assert_array_equal(totals, expected)
            for kernel in added:
                out = np.zeros(size)
                kernel[2, threads](x, out)
                np.testing.assert_array_equal(out, x)
            out = np.zeros(size)
            branching[2, threads](x, out)
            np.testing.assert_array_equal(out, np.where(x > 0.5, x, -1.0))


def test_triangles_whose_rows_are_lanes():
    @weft.jit
    def sums(x, out):
        for i in weft.prange(out.size):
            total = 0
            for j in range(i):
                total += x[j]
            out[i] = total

    for size in SIZES:
        x = np.random.default_rng(size).integers(0, 100, size)
        out = np.zeros(size, np.int64)
        sums(x, out)
        np.testing.assert_array_equal(out, np.cumsum(x) - x)


def test_indices_of_32_bits_that_come_near_their_limit():
    source = """
    kernel void walk(int first, int last, int step, global int* counts) {
        int n = 0;
        for (int i = first + get_global_id(0); i < last; i += step) n++;
        counts[get_global_id(0)] = n;
    }
    kernel void small(uchar last, global int* counts) {
        int n = 0;
        for (uchar i = get_global_id(0); i < last && n < 1000; i += 64) n++;
        counts[get_global_id(0)] = n;
    }
    """
    program = opencl.Program(source)
    limit = np.iinfo(np.int32).max
    counts = np.zeros(64, np.int32)
    program.walk(64, 32, np.int32(limit - 200), np.int32(limit - 60), np.int32(60), counts)
    np.testing.assert_array_equal(counts, [len(range(limit - 200 + t, limit - 60, 60)) for t in range(64)])
    for last in (0, 5, 63, 64, 130, 192):
        program.small(64, 32, np.uint8(last), counts)
        np.testing.assert_array_equal(counts, [len(range(t, last, 64)) for t in range(64)])


def test_a_walk_has_vector_loads_without_masks_and_the_report_says_so():
    kernel = cuda.jit(walk)
    x, totals = np.ones(512), np.zeros(64)
    kernel[1, 64](x, totals)
    code = next(iter(kernel.inspect_llvm().values()))
    assert re.search(r"= load <\d+ x double>, ptr", code)
    assert any("leave this loop in their order" in str(remark) for remark in kernel.remarks)
    masked = cuda.jit(without=("full-groups",))(walk)
    masked[1, 64](x, totals)
    assert not any("leave this loop in their order" in str(remark) for remark in masked.remarks)

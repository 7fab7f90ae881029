"""Loads that are far from where they were an iteration before are asked for ahead."""

import inspect
import re
import types
from typing import Any

import numpy as np
import pytest

import weft
from weft import cuda, opencl

AHEAD = "asked for ahead"
ROWS = 24


def lines_ahead(compiled: Any) -> set[int]:
    return {r.span.line for r in compiled.remarks if AHEAD in r.message and r.span is not None}


def along_columns(a, sums):
    column = cuda.grid(1)
    if column < a.shape[1]:
        total = 0.0
        for row in range(a.shape[0]):
            total += 1 / a[row, column]
        sums[column] = total


def along_rows(a, sums):
    column = cuda.grid(1)
    if column < a.shape[1]:
        total = 0.0
        for row in range(a.shape[1]):
            total += 1 / a[0, (column + row) % a.shape[1]]
        sums[column] = total


def near(a, sums):
    column = cuda.grid(1)
    if column + 8 < a.size:
        total = 0.0
        for k in range(8):
            total += 1 / a[column + k]
        sums[column] = total


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_columns_of_matrices(level: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(0).random((37, 133))
    sums = np.zeros(133)
    kernel = cuda.jit(along_columns)
    kernel[3, 64](a, sums)
    np.testing.assert_allclose(sums, (1 / a).sum(0))
    assert len(lines_ahead(kernel)) == 1
    assert "llvm.prefetch" in str(kernel.inspect_llvm())


def squares(a, sums):
    column = cuda.grid(1)
    if column < a.shape[1]:
        total = 0.0
        for row in range(ROWS):
            total += 1 / (a[row, column] * a[row, column])
        sums[column] = total


@pytest.mark.parametrize(("rows", "asks"), [(8, False), (23, False), (24, True)])
def test_loops_of_few_iterations_do_not_ask(rows: int, asks: bool):
    """Their rows go on with the next lane groups, and most of what they would ask for is behind their end."""
    a = np.random.default_rng(2).random((rows, 133)) + 1
    sums = np.zeros(133)
    kernel = cuda.jit(types.FunctionType(squares.__code__, {**globals(), "ROWS": rows}))
    kernel[3, 64](a, sums)
    np.testing.assert_allclose(sums, (1 / (a * a)).sum(0))
    assert bool(lines_ahead(kernel)) == asks


def test_loops_of_unknown_length_ask_what_they_load_where_they_are_short():
    kernel = cuda.jit(along_columns)
    kernel[3, 64](np.ones((5, 133)), np.zeros(133))
    text = str(kernel.inspect_llvm())
    # LLVM writes the choice between the distance and 0 for a comparison of the length with this number.
    assert "llvm.prefetch" in text
    assert re.search(r"icmp s(lt|gt) i64 .*, 2[34]\b", text)


def test_what_is_near_is_not_asked_for():
    a, sums = np.ones(200), np.zeros(200)
    kernel = cuda.jit(near)
    kernel[4, 64](a, sums)
    assert not lines_ahead(kernel)
    other = cuda.jit(along_rows)
    other[4, 64](np.ones((1, 200)), sums)
    assert not lines_ahead(other)


def test_short_iterations_are_seen_ahead_by_the_processor():
    @cuda.jit
    def sums_of_columns(a, sums):
        column = cuda.grid(1)
        if column < a.shape[1]:
            total = 0.0
            for row in range(a.shape[0]):
                total += a[row, column]
            sums[column] = total

    sums_of_columns[1, 64](np.ones((9, 64)), np.zeros(64))
    assert not lines_ahead(sums_of_columns)


def test_loops_over_prange():
    @weft.jit
    def largest(a, out):
        for column in weft.prange(a.shape[1]):
            best = a[0, column]
            for row in range(1, a.shape[0]):
                best = max(best, a[row, column] / 2.5)
            out[column] = best

    a = np.random.default_rng(1).random((29, 70))
    out = np.zeros(70)
    largest(a, out)
    np.testing.assert_array_equal(out, np.maximum(a[0], (a[1:] / 2.5).max(0)))
    assert lines_ahead(largest)


def test_steps_that_the_loop_computes_of_parameters():
    program = opencl.Program("""
kernel void sums(global const float *x, global float *out, int n) {
  float total = 0;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) total += x[i] / (x[i] + 1);
  out[get_global_id(0)] = total;
}""")
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros(64, np.float32)
    program.sums(64, 64, x, out, 1000)
    np.testing.assert_allclose(out, [np.sum(x[t::64] / (x[t::64] + 1)) for t in range(64)], rtol=1e-6)
    assert lines_ahead(program.sums)


def five_points(a, out):
    tile = cuda.shared.array((18, 18), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 16 + tx, cuda.blockIdx.y * 16 + ty
    tile[ty + 1, tx + 1] = a[y + 1, x + 1]
    if tx == 0:
        tile[ty + 1, 0] = a[y + 1, x]
    if tx == 15:
        tile[ty + 1, 17] = a[y + 1, x + 2]
    if ty == 0:
        tile[0, tx + 1] = a[y, x + 1]
    if ty == 15:
        tile[17, tx + 1] = a[y + 2, x + 1]
    cuda.syncthreads()
    sums = (
        tile[ty, tx + 1]
        + tile[ty + 1, tx]
        + tile[ty + 1, tx + 1]
        + tile[ty + 1, tx + 2]
        + tile[ty + 2, tx + 1]
    )
    out[y, x] = sums  # stored


def by_size(a, out):
    tile = cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * cuda.blockDim.x + tx, cuda.blockIdx.y * cuda.blockDim.y + ty
    tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[ty, 15 - tx]  # stored


def turned(a, out):
    tile = cuda.shared.array((16, 17), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    bx, by = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    tile[ty, tx] = a[by + ty, bx + tx]
    cuda.syncthreads()
    out[bx + ty, by + tx] = tile[tx, ty]  # stored


def stored_line(kernel: Any) -> int:
    code = kernel.py_func.__code__
    text = inspect.getsource(kernel.py_func).splitlines()
    return code.co_firstlineno + next(n for n, line in enumerate(text) if "# stored" in line)


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("function", "asks"), [(five_points, True), (by_size, True), (turned, False)])
def test_rows_that_the_next_group_stores_behind_those_of_this_one_are_asked_for(
    function: types.FunctionType, asks: bool, level: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WEFT_CPU", level)
    border = 2 if function is five_points else 0
    a = np.random.default_rng(0).random((48 + border, 32 + border)).astype(np.float32)
    out = np.zeros((48, 32) if function is not turned else (32, 48), np.float32)
    kernel = cuda.jit(width=16)(function)
    kernel[(2, 3), (16, 16)](a, out)
    expected = {
        five_points: lambda: a[:-2, 1:-1] + a[1:-1, :-2] + a[1:-1, 1:-1] + a[1:-1, 2:] + a[2:, 1:-1],
        by_size: lambda: a.reshape(48, 2, 16)[:, :, ::-1].reshape(48, 32),
        turned: lambda: a.T,
    }[function]()
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assert (stored_line(kernel) in lines_ahead(kernel)) == asks

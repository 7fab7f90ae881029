"""Lanes run along the loop around where loops inside turn out to have few iterations, or that one as many."""

from __future__ import annotations

import ctypes
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import prange
from weft.loops.llvm_ir import VectorizedIR, vectorize_ir
from weft.target.jit import load_object

NEAREST = """
static int nearest_to(const float *restrict p, const float *restrict c, long count, long d)
{
    float least = 3e38f;
    int best = 0;
    for (long k = 0; k < count; k++) {
        float s = 0;
        for (long j = 0; j < d; j++)
            s += (p[j] - c[k * d + j]) * (p[j] - c[k * d + j]);
        if (s < least) {
            least = s;
            best = (int)k;
        }
    }
    return best;
}
void f(const float *restrict p, const float *restrict c, int *restrict o, long n, long count, long d)
{
    SIMD
    for (long i = 0; i < n; i++)
        o[i] = nearest_to(p + i * d, c, count, d);
}
"""
SIMD, PLAIN = '-DSIMD=_Pragma("omp simd")', "-DSIMD="
TARGETS = ("x86-64", "x86-64-v3")


def made_of(
    tmp_path: Path, text: str, loop: str, target: str = "host", *options: str, width: int | None = None
) -> VectorizedIR:
    source = tmp_path / "f.c"
    source.write_text(text)
    return vectorize_ir(
        source,
        "f",
        loop=loop,
        target=target,
        fastmath=True,
        clang_options=("-ffast-math", *options),
        width=width,
    )


def nearest(made: VectorizedIR, n: int, count: int, d: int) -> None:
    code = load_object(made.object_code, ["f"])
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 3, *(ctypes.c_int64,) * 3)(code.address("f"))
    rng = np.random.default_rng(n + d)
    # Sums of small integers are the same in any order.
    p, c = (rng.integers(-9, 9, (k, d)).astype(np.float32) for k in (n, count))
    o = np.full(n + 1, -7, np.int32)
    call(p.ctypes.data, c.ctypes.data, o.ctypes.data, n, count, d)
    wanted = ((p[:, None] - c) ** 2).sum(2).argmin(1) if n else np.zeros(0)
    assert o.tolist() == [*wanted.tolist(), -7]


@pytest.mark.parametrize("target", TARGETS)
def test_short_rows_have_versions_whose_lanes_run_along_the_loop_around(tmp_path: Path, target: str) -> None:
    made = made_of(tmp_path, NEAREST, "auto", target, PLAIN)
    said = [r.message for r in made.remarks if "iterations at a time" in r.message]
    for what in (
        "its rows have 2 elements",
        "its rows have 3",
        "its rows have 4",
        "loops in it have few iterations",
    ):
        assert any(what in message for message in said), said
    for n, count, d in (
        (0, 3, 2),
        (33, 4, 1),
        (70, 5, 2),
        (41, 3, 3),
        (40, 6, 4),
        (65, 3, 5),
        (5, 3, 3),
        (35, 3, 70),
    ):
        nearest(made, n, count, d)


def test_a_promise_holds_for_what_is_inlined(tmp_path: Path) -> None:
    """Scopes of ``restrict`` parameters are declared by calls, which are in no access group and touch no memory."""
    made = made_of(tmp_path, NEAREST, "annotated", "host", SIMD, "-fopenmp-simd")
    assert made.loops == 1
    nearest(made, 37, 4, 6)


def test_what_a_remark_calls_a_loop_is_what_can_be_asked_for(tmp_path: Path) -> None:
    made = made_of(tmp_path, NEAREST, "auto", "host", PLAIN)
    names = {m[1] for r in made.remarks if (m := re.search(r"the (?:loop|nest) at ([^ ,]+) runs", r.message))}
    assert names
    for name in names:
        assert made_of(tmp_path, NEAREST, name, "host", PLAIN).loops == 1


SUM = """
void f(const float *restrict a, float *restrict o, long m)
{
    float s = 0;
    for (long j = 0; j < m; j++)
        s += a[j] * a[j];
    o[0] = s;
}
"""


def test_what_is_left_of_a_row_is_added_up_in_registers(tmp_path: Path) -> None:
    """All lanes store their parts of the sum, so that the masked lane group at the end leaves none in memory."""
    made = made_of(tmp_path, SUM, "auto", "x86-64-v3")
    assert "masked.load" in made.llvm and "masked.store" not in made.llvm
    code = load_object(made.object_code, ["f"])
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 2, ctypes.c_int64)(code.address("f"))
    for m in (0, 31, 32, 33, 100):
        a, o = np.random.default_rng(m).integers(-9, 9, m).astype(np.float32), np.zeros(1, np.float32)
        call(a.ctypes.data, o.ctypes.data, m)
        assert o[0] == (a**2).sum()


BLOCKS = """
#include <string.h>
void f(const int *restrict a, int *restrict o, long n)
{
    for (long i = 0; i < n; i++) {
        int seen[100], last[100];
        memset(seen, -1, sizeof seen);
        memset(last, 0, sizeof last);
        for (int j = 0; j < 9; j++) {
            int k = (int)((unsigned)a[9 * i + j] % 100);
            last[j] = seen[k] + j;
            seen[k] = j;
        }
        int s = 0;
        for (int j = 0; j < 12; j++)
            s = 3 * s + last[j];
        o[i] = s;
    }
}
"""


def test_what_is_cleared_at_once_is_laid_out_by_elements(tmp_path: Path) -> None:
    made = made_of(tmp_path, BLOCKS, "auto", width=8)
    said = [r.message for r in made.remarks]
    assert not any("llvm.memset" in message for message in said), said
    assert any("element by element" in message for message in said), said
    code = load_object(made.object_code, ["f"])
    call = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * 2, ctypes.c_int64)(code.address("f"))
    a, o = np.random.default_rng(5).integers(0, 9, (37, 9)).astype(np.int32), np.zeros(37, np.int32)
    call(a.ctypes.data, o.ctypes.data, 37)
    for row, got in zip(a.tolist(), o.tolist(), strict=True):
        seen, s = dict[int, int](), 0
        for j in range(12):
            s = 3 * s + (seen.get(row[j], -1) + j if j < 9 else 0)
            if j < 9:
                seen[row[j]] = j
        assert got == s


@weft.jit(fastmath=True)
def pulls(x, y, u, v, result):
    for i in prange(u.size):
        total = np.float32(0)
        for j in range(x.size):
            total += math.sqrt(x[j] + u[i]) * (y[j] - v[i])
        result[i] = total


@weft.jit(fastmath=True)
def pulls_asked_for(x, y, u, v, result):
    for i in prange(u.size):
        total = np.float32(0)
        for j in prange(x.size):
            total += math.sqrt(x[j] + u[i]) * (y[j] - v[i])
        result[i] = total


@pytest.mark.parametrize("function", [pulls, pulls_asked_for])
@pytest.mark.parametrize(
    ("rows", "row"), [(0, 3), (3, 0), (1, 700), (5, 5), (70, 60), (60, 700), (1023, 1025), (1030, 1100)]
)
def test_many_iterations_have_lanes_where_loops_in_them_add_up(function: Any, rows: int, row: int) -> None:
    rng = np.random.default_rng(rows + row)
    x, y, u, v = (rng.random(n, np.float32) for n in (row, row, rows, rows))
    result = np.full(rows + 1, -7, np.float32)
    function(x, y, u, v, result[:rows])
    wanted = (np.sqrt(x + u[:, None]) * (y - v[:, None])).sum(1) if row else np.zeros(rows)
    np.testing.assert_allclose(result, [*wanted.tolist(), -7], rtol=1e-3, atol=1e-2)
    said = [r.message for r in function.remarks if "iterations at a time" in r.message]
    assert any("all cores share the loop around" in message for message in said), said
    assert any("it has 1024 iterations or as many as loops in it" in message for message in said), said


@weft.jit(fastmath=True)
def products(a, b, result):
    for i in prange(a.shape[0]):
        total = np.float32(0)
        for j in prange(a.shape[1]):
            total += a[i, j] * b[j]
        result[i] = total


@weft.jit(fastmath=True)
def behind(x, result):
    for i in prange(result.size):
        total = np.float32(0)
        for j in prange(i, x.size):
            total += x[j]
        result[i] = total


def test_lanes_along_rows_are_the_only_ones_where_others_would_gather() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-4, 5, (130, 70)).astype(np.float32), rng.integers(-4, 5, 70).astype(np.float32)
    result = np.zeros(130, np.float32)
    products(a, b, result)
    np.testing.assert_array_equal(result, a @ b)
    behind(b, result[:70])
    np.testing.assert_array_equal(result[:70], b[::-1].cumsum()[::-1])
    for function in (products, behind):
        assert not any("as many as loops in it" in r.message for r in function.remarks)

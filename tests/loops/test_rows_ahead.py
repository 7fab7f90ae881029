"""Rows of triangular nests begin together (`auto`); results are those of the loop as written."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from loops.test_rows_together import made_of, told
from pairs import WHOLE
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

AHEAD = {
    "cholesky": (
        "for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k]; a[i][j] /= a[j][j]; }"
        "for (int k = 0; k < i; k++) a[i][i] -= a[i][k] * a[i][k];"
        "a[i][i] = a[i][i] * 0.25 + 9;"
    ),
    "lu": (
        "for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[k][j]; a[i][j] /= a[j][j]; }"
        "for (int j = i; j < n; j++) for (int k = 0; k < i; k++) a[i][j] -= a[i][k] * a[k][j];"
    ),
    "a number for each sum": (
        "for (int j = 0; j < i; j++) {"
        "  double w = a[i][j]; for (int k = 0; k < j; k++) w -= a[i][k] * a[k][j]; a[i][j] = w * 0.5;"
        "}"
        "for (int j = i; j < n; j++) {"
        "  double w = a[i][j]; for (int k = 0; k < i; k++) w -= a[i][k] * a[k][j]; a[i][j] = w;"
        "}"
    ),
    "two sums": (
        "for (int j = 0; j < i; j++) {"
        "  double v = 0, w = 1;"
        "  for (int k = 0; k < j; k++) { v += a[i][k] * a[j][k]; w += a[i][k] * q[k]; }"
        "  a[i][j] = v - w * 0.5;"
        "}"
        "q[i] = a[i][0];"
    ),
    "what columns hand on": (
        "double s = p[i], last = 0;"
        "for (int j = 0; j < i; j++) {"
        "  for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k]; a[i][j] *= 0.5; s += a[i][j]; last = a[i][j];"
        "}"
        "q[i] = s; p[i] = last;"
    ),
    "a triangular system": "p[i] = q[i]; for (int j = 0; j < i; j++) p[i] -= a[i][j] * p[j]; p[i] /= a[i][i];",
    "a triangular system, a number for each sum": (
        "double s = q[i]; for (int j = 0; j < i; j++) s -= a[i][j] * p[j]; p[i] = s / a[i][i];"
    ),
    "a triangular system in its place": "for (int j = 0; j < i; j++) p[i] -= a[i][j] * p[j]; p[i] /= a[i][i];",
    "two sums of what was found before": (
        "double s = q[i], t = 1; q[i] = s * 0.5;"
        "for (int j = 0; j < i; j++) { s -= a[i][j] * p[j]; t += a[j][i] * p[j]; } p[i] = s - t * 0.25;"
    ),
}

REFUSED = {
    "the row before": (
        "for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) a[i][j] -= a[i - 1][k] * a[j][k]; a[i][j] *= 0.5; }"
    ),
    "what rows before leave": (
        "for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * q[k + 1]; a[i][j] *= p[0]; }"
        "q[i] = a[i][0]; p[0] = q[i];"
    ),
    "rows that do not depend on each other": (
        "for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) c[i][j] -= a[i][k] * a[j][k]; c[i][j] *= 0.5; }"
    ),
    "what rows before leave, read before the sum": (
        "double s = i > 0 ? 1 : 2; s += q[i]; for (int j = 0; j < i; j++) s -= a[i][j] * p[j]; p[i] = s; q[i + 1] = s;"
    ),
    "what is loaded before a store is used again": (
        "double s = q[i]; q[i] = s + 1; for (int j = 0; j < i; j++) p[i] -= a[i][j] * p[j]; p[i] *= s;"
    ),
    "stores in each round": (
        "for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) { a[i][j] -= a[i][k] * a[j][k]; a[i][k] *= 0.5; } }"
    ),
}


def source(body: str, first: int = 0) -> str:
    return (
        "void sums(int n, double (* restrict a)[32], double (* restrict c)[32], double *restrict p, double *restrict q)"
        f" {{\n  for (int i = {first}; i < n; i++) {{ {body} }}\n}}\n"
    )


@pytest.mark.spread
@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("body", AHEAD.values(), ids=AHEAD)
def test_rows_begin_together(tmp_path: Path, body: str, first: int) -> None:
    original, made = made_of(tmp_path, source(body, first))
    assert "iterations of this loop at a time begin together" in told(made)
    type = ctypes.CFUNCTYPE(None, ctypes.c_int, *[ctypes.c_void_p] * 4)
    code = load_object(made.object_code, ["sums"])
    run = type(code.address("sums"))
    # The interpreter judges few rows, and what LLVM makes of the loop as written; that judges many.
    program = read_module(original)
    as_written = load_object(emit_object(original, TargetSpec.chosen()), ["sums"])
    run_as_written = type(as_written.address("sums"))
    draw = np.random.default_rng(first)
    # Behind row 31, rows of 32 elements overlap with columns.
    for n in (
        (-1, 0, 1, 2, 4, 7, 8, 9, 15, 16, 17, 20, 27, 34)
        if WHOLE
        else (0, 2, 7, 9, 16, 34 - 15 * (first > 0))
    ):
        before = draw.integers(40, 90, 2700) / 64
        wanted, got = before.copy(), before.copy()
        starts = (0, 1200, 2400, 2500)
        run_as_written(n, *(wanted.ctypes.data + 8 * s for s in starts))
        run(n, *(got.ctypes.data + 8 * s for s in starts))
        np.testing.assert_array_equal(got, wanted)
        if n <= 9:
            interpreted = before.copy()
            memory = Memory()
            pointer = memory.map_array(interpreted)
            run_function(program, "sums", [n, *(pointer + 8 * s for s in starts)], 1, memory=memory)
            np.testing.assert_array_equal(got, interpreted)


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_rows_that_wait_for_each_other_or_have_lanes_stay(tmp_path: Path, body: str) -> None:
    _, made = made_of(tmp_path, source(body))
    assert "begin together" not in told(made)


def decomposed(a, x):
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


def squared(a, x):
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]


def solved(a, x):
    for i in range(x.shape[0]):
        x[i] = a[i, 0]
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]


@pytest.mark.parametrize("function", [decomposed, squared, solved])
def test_extents_of_arrays_are_bounds_in_python(function: Callable[..., None]) -> None:
    compiled = weft.jit(function, parallel="auto")
    draw = np.random.default_rng(3)
    for n in (0, 1, 7, 9, 17):
        a, x = draw.integers(1, 90, (n, n)) / 512 + np.eye(n), draw.integers(40, 90, n) / 64
        wanted, got = (a.copy(), x.copy()), (a.copy(), x.copy())
        function(*wanted)
        compiled(*got)
        np.testing.assert_array_equal(got[0], wanted[0])
        np.testing.assert_array_equal(got[1], wanted[1])
    assert "iterations of this loop at a time begin together" in "".join(map(str, compiled.remarks))

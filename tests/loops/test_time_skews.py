"""Loops over time are done in waves (``parallel="auto"``, ``--loop auto``); results are those of loops in order."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from pairs import WHOLE

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from loops.test_auto import agree, auto
from weft.frontend.clang import compile_c
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.loops.llvm_ir import vectorize_ir
from weft.passes.nests import time_skews
from weft.target.jit import load_object
from weft.target.machine import TargetSpec


def seidel(steps, a):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j + 1] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j - 1]) / 5


def far_rows(steps, a):
    for _ in range(steps):
        for i in range(2, a.shape[0] - 2):
            for j in range(1, a.shape[1]):
                a[i, j] = a[i - 2, j] + a[i + 2, j] * 0.5 - a[i, j - 1]


def jacobi(steps, a, b):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j]
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j]


def told(compiled) -> str:
    return " ".join(r.message for r in compiled.remarks)


@pytest.mark.parametrize(("method", "behind"), [(seidel, 2), (far_rows, 3)])
def test_steps_that_are_far_enough_behind_each_other_run_at_the_same_time(method, behind) -> None:
    compiled = auto(method)
    draw = np.random.default_rng(3)
    for rows, columns in ((0, 0), (1, 1), (3, 3), (5, 2), (9, 14), (40, 7)):
        for steps in (0, 1, 2, 7, 16, 35) if WHOLE else (0, 2, 7, 35):
            agree(compiled, steps, draw.random((rows, columns)))
    assert f"each {behind} rows behind the one before it, and run at the same time" in told(compiled)
    # Strides that are negative, and rows that overlap.
    agree(compiled, 5, draw.random((12, 12))[::-1])
    agree(compiled, 5, draw.random((12, 24))[:, ::2])
    agree(compiled, 5, np.lib.stride_tricks.as_strided(draw.random(60), (9, 9), (40, 8)))


def test_rows_that_all_cores_share_stay_as_they_are() -> None:
    compiled = auto(jacobi)
    draw = np.random.default_rng(3)
    agree(compiled, 4, draw.random((9, 11)), draw.random((9, 11)))
    assert "steps of this loop" not in told(compiled)


JACOBI = """
void step(int n, int m, int steps, int (*a)[32], int (*b)[32]) {
  for (int t = 0; t < steps; t++) {
    for (int j = 0; j < m; j++)
      a[0][j] = t;
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        b[i][j] = b[i][j] * 3 + a[i][j] + a[i - 1][j] - a[i + 1][j];
    for (int i = 1; i <= n - 2; i++)
      for (int j = 1; j <= m - 2; j++)
        a[i][j] = b[i][j] + b[i][j - 1] + b[i - 1][j] - b[i + 1][j];
  }
}
"""


@pytest.mark.parametrize(("cache", "length"), [(time_skews.CACHE, 5), (0, 4)])
def test_steps_go_over_rows_together_so_that_they_stay_in_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: int, length: int
) -> None:
    monkeypatch.setattr(time_skews, "LARGE", 0)
    monkeypatch.setattr(time_skews, "CACHE", cache)
    monkeypatch.setattr(time_skews, "MOST_LENGTH", 5)
    file = tmp_path / "step.c"
    file.write_text(JACOBI)
    original = compile_c(file, TargetSpec.chosen().triple, ["-w"])
    made = vectorize_ir(original, "step", loop="auto")
    together = f"{length} steps of this loop at a time go over rows together, each 2 rows behind"
    assert together in told(made)
    code = load_object(made.object_code, ["step"])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * 3, *[ctypes.c_void_p] * 2)(code.address("step"))
    program = read_module(original)
    draw = np.random.default_rng(5)
    for n, m, steps, apart in (
        (9, 12, 7, 600), (3, 3, 1, 600), (1, 4, 3, 600), (0, 0, 5, 600), (-2, 3, 2, 600), (8, 9, 11, 600),
        (6, 32, 6, 600), (6, 33, 6, 600), (6, 7, 6, 0), (6, 7, 6, 33),
    ):  # fmt: skip
        before = draw.integers(-9, 9, 1500).astype(np.int32)
        wanted, got = before.copy(), before.copy()
        memory = Memory()
        pointer = memory.map_array(wanted)
        run_function(program, "step", [n, m, steps, pointer, pointer + 4 * apart], 1, memory=memory)
        run(n, m, steps, got.ctypes.data, got.ctypes.data + 4 * apart)
        np.testing.assert_array_equal(got, wanted)


def test_steps_whose_rows_fit_into_no_cache_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_skews, "LARGE", 0)
    monkeypatch.setattr(time_skews, "CACHE", 0)
    monkeypatch.setattr(time_skews, "SHARED_CACHE", 1000)
    file = tmp_path / "step.c"
    file.write_text(JACOBI)
    made = vectorize_ir(compile_c(file, TargetSpec.chosen().triple, ["-w"]), "step", loop="auto")
    assert "steps of this loop" not in told(made)

"""Nests whose boxes read the same rows again and again: these are copied to one piece of memory first."""

from pathlib import Path

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import prange
from weft.brush import brush_of
from weft.frontend.python.typeof import typeof
from weft.jit_options import JitOptions
from weft.loops.build import lower
from weft.options import Timings

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
SAID = "is copied to one piece of memory"


def product(a, b, w):
    for j in prange(a.shape[0]):
        for i in prange(w.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[j, k] * w[k, i]
            b[j, i] = total


def smoothed(a, b, w):
    # The panel begins left of the element, and its rows are every other one.
    for j in prange(b.shape[0]):
        for i in prange(1, b.shape[1]):
            total = b[j, i]
            for k in range(a.shape[1]):
                total = max(total, a[j, k] - w[2 * k, i - 1])
            b[j, i] = total


def guarded(a, b, w):
    for j in prange(a.shape[0]):
        for i in prange(w.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                if a[j, k] > 0:
                    total += w[k, i]
            b[j, i] = total


def left(a, b, w):
    for j in prange(a.shape[0]):
        for i in prange(w.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += w[k, i]
                if a[j, k] > total:
                    break
            b[j, i] = total


def own_rows(a, b, w):
    for j in prange(a.shape[0]):
        for i in prange(w.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += w[j + k, i]
            b[j, i] = total


def lowered(function, dtype=np.float64):
    types = (typeof(np.zeros((8, 8), dtype)),) * 3
    return lower(function, types, None, JitOptions(brush=brush_of((4, 8))), Timings())[0]


@pytest.mark.parametrize(
    ("function", "packs"),
    [(product, True), (smoothed, True), (guarded, False), (left, False), (own_rows, False)],
)
def test_what_is_packed(function, packs) -> None:
    made = lowered(function)
    assert ("@malloc" in made.text) == packs


def test_a_panel_is_read_where_it_is_aligned(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v4")
    text = lowered(product).text
    packed = text[text.index("define internal void @product.loop1.packed.w32") :]
    assert "load <8 x double>, ptr %" in packed and "align 64" in packed[: packed.index("\n}")]


@pytest.mark.spread
@pytest.mark.parametrize(
    ("level", "dtype", "function"), pairs(LEVELS, [np.float32, np.float64], [product, smoothed])
)
def test_panels_of_any_size(function, dtype, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    monkeypatch.setenv("WEFT_CHECK", "0")
    for name in ("LEAST_ROWS", "LEAST_BOXES"):
        monkeypatch.setattr(f"weft.codegen.parallel.panels.{name}", 1)
    compiled = weft.jit(function, brush=(2, 8))
    for rows, depth, columns in [
        (9, 5, 19),
        (2, 1, 8),
        (1, 3, 20),
        (8, 0, 16),
        (3, 7, 5),
        (0, 2, 9),
        (40, 9, 33),
    ]:
        random = np.random.default_rng(1)
        a = random.integers(0, 9, (rows, depth)).astype(dtype)
        w = random.integers(0, 9, (2 * depth, columns)).astype(dtype)
        b = random.integers(0, 9, (rows, columns)).astype(dtype)
        wanted = b.copy()
        function(a, wanted, w)
        compiled(a, b, w)
        assert np.array_equal(b, wanted), (rows, depth, columns)


@pytest.mark.parametrize("threads", [1, 2])
def test_products_that_are_worth_it(threads) -> None:
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        random = np.random.default_rng(1)
        a, w = random.integers(0, 9, (130, 40)).astype(float), random.integers(0, 9, (40, 70)).astype(float)
        b = np.zeros((130, 70))
        compiled = weft.jit(product, brush=(4, 16))
        compiled(a, b, w)
        assert np.array_equal(b, a @ w)
        assert SAID in " ".join(map(str, compiled.remarks))
    finally:
        weft.set_num_threads(before)


def test_loops_that_run_in_place_allocate_nothing(tmp_path: Path) -> None:
    file = tmp_path / "product.c"
    file.write_text("""
void product(long n, long m, long p, double *restrict b, const double *restrict a, const double *restrict w) {
  for (long j = 0; j < n; j++)
    for (long i = 0; i < m; i++) {
      double total = 0;
      for (long k = 0; k < p; k++) total += a[j * p + k] * w[k * m + i];
      b[j * m + i] = total;
    }
}
""")
    made = weft.vectorize_ir(file, "product", loop="nest", brush="4x8", fastmath=True)
    assert "as a box of 4x8" in str(made.remarks)
    assert "malloc" not in made.text

"""Rows that are summed up, or asked for their greatest element, under fastmath: in lanes if they are long enough."""

import numpy as np
import pytest

import weft
from loops.test_auto import auto, runs_in_lanes
from weft import prange

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

COLUMNS = (1, 3, 31, 63, 64, 65, 200)


def greatest(p, out):
    for i in range(p.shape[0]):
        top = p[i, 0]
        for d in range(1, p.shape[1]):
            top = max(top, p[i, d])
        out[i] = top


def least(p, out):
    for i in range(p.shape[0]):
        low = 1e9
        for d in range(p.shape[1]):
            if p[i, d] < low:
                low = p[i, d]
        out[i] = low


def total(p, out):
    for i in range(p.shape[0]):
        s = out[i]
        for d in range(p.shape[1]):
            s += p[i, d]
        out[i] = s


@pytest.mark.spread
@pytest.mark.parametrize(
    ("function", "reference"),
    [(greatest, np.max), (least, np.min), (total, np.sum)],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_any_length(function, reference, dtype) -> None:
    compiled = auto(function, fastmath=True)
    for columns in COLUMNS:
        p = np.random.default_rng(columns).random((21, columns)).astype(dtype)
        out = np.zeros(21, dtype)
        compiled(p, out)
        np.testing.assert_allclose(out, reference(p, axis=1), rtol=1e-5)
    assert runs_in_lanes(compiled)


@pytest.mark.parametrize("columns", COLUMNS)
def test_counts_of_rows_are_exact(columns: int) -> None:
    def above(p, out):
        for i in range(p.shape[0]):
            n = 0
            for d in range(p.shape[1]):
                n += p[i, d] > 0.5
            out[i] = n

    p, out = np.random.default_rng(columns).random((9, columns)), np.zeros(9, np.int64)
    auto(above)(p, out)
    np.testing.assert_array_equal(out, (p > 0.5).sum(axis=1))


def dots(a, b, out):
    for i in prange(out.size):
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[i, k]
        out[i] = total


@pytest.mark.parametrize("length", [24, 32, 40])
def test_iterations_around_rows_are_not_taken_together_by_llvm(length: int) -> None:
    """Where it knows the length it would write rows out, and gather elements of several rows then."""
    random = np.random.default_rng(length)
    a, b = (random.integers(0, 9, (200, length)).astype(np.float32) for _ in range(2))
    out, compiled = np.zeros(200, np.float32), weft.jit(fastmath=True)(dots)
    compiled(a, b, out)
    assert np.array_equal(out, (a * b).sum(axis=1))
    assert any("inner loops run along rows" in r.message for r in compiled.remarks)
    (text,) = compiled.inspect_llvm().values()
    assert '!"llvm.loop.vectorize.enable", i1 false' in text

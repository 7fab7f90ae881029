"""Loops along the rows of small triangles run in order, so lanes run along the loop around them."""

import numpy as np
import pytest

import weft
from weft import cuda, prange

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
SIZE, COUNT = 12, 150


def solved(lower, b, x):
    for i in prange(x.shape[0]):
        for r in range(12):
            total = b[i, r]
            for k in range(r):
                total -= lower[r, k] * x[i, k]
            x[i, r] = total / lower[r, r]


def decomposed(a, lower):
    i = cuda.grid(1)
    if i >= a.shape[0]:
        return
    for r in range(12):
        for c in range(r + 1):
            total = a[i, r, c]
            for k in range(c):
                total -= lower[i, r, k] * lower[i, c, k]
            lower[i, r, c] = total / lower[i, c, c] if c < r else np.sqrt(total)


def long_rows(lower, x, sums):
    for i in prange(sums.shape[0]):
        for r in range(lower.shape[0]):
            total = np.float32(0)
            for k in range(r):
                total += lower[r, k] * x[i, k]
            sums[i, r] = total


def triangle() -> np.ndarray:
    draw = np.random.default_rng(0)
    return (np.tril(draw.random((SIZE, SIZE))) + 2 * np.eye(SIZE)).astype(np.float32)


def lanes_at(function, line: int) -> bool:
    """Whether a loop that begins so many lines behind the function's runs in lanes."""
    first = function.py_func.__code__.co_firstlineno
    told = [r for r in function.remarks if r.span is not None and r.span.line == first + line]
    return any("iterations at a time" in r.message for r in told)


@pytest.mark.parametrize("level", LEVELS)
def test_lanes_solve_systems_of_their_own(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    b = np.random.default_rng(1).random((COUNT, SIZE), np.float32)
    x, function = np.zeros_like(b), weft.jit(solved, fastmath=True)
    for _ in range(3):
        function(triangle(), b, x)
        np.testing.assert_allclose(x, np.linalg.solve(triangle(), b.T).T, rtol=1e-4, atol=1e-5)
    assert not lanes_at(function, 4)
    assert level == "x86-64" or lanes_at(function, 1)


def test_long_rows_have_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    lower, x = np.tril(np.ones((40, 40), np.float32)), np.ones((30, 40), np.float32)
    sums, function = np.zeros((30, 40), np.float32), weft.jit(long_rows, fastmath=True)
    function(lower, x, sums)
    np.testing.assert_array_equal(sums, np.broadcast_to(np.arange(40), (30, 40)))
    assert lanes_at(function, 4)


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_threads_decompose_matrices_of_their_own_in_lanes(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    lower = np.broadcast_to(triangle(), (COUNT, SIZE, SIZE))
    found, kernel = np.zeros((COUNT, SIZE, SIZE), np.float32), cuda.jit(decomposed, fastmath=True)
    for _ in range(3):
        kernel[2, 128]((lower @ lower.transpose(0, 2, 1)).astype(np.float32), found)
        np.testing.assert_allclose(found, lower, rtol=1e-3, atol=1e-3)
    assert any("threads at a time" in r.message for r in kernel.remarks)

"""Floats that become indices behind bounds: kernels, loops and elementwise functions do what NumPy does."""

import math

import numpy as np
import pytest

import weft
from weft import cuda

GRID = np.arange(24 * 16, dtype=np.float32).reshape(24, 16)
XS = np.array(
    [0.0, -0.5, -1.0, 3.7, 14.99, 15.0, 15.5, 1e9, -1e9, 3e9, 1e30, -1e30, np.inf, -np.inf, np.nan, 7.25],
    np.float32,
)


@cuda.jit
def sampled_by_threads(grid, xs, out):
    i = cuda.grid(1)
    if i < xs.size:
        x = xs[i] + np.float32(0)
        total = np.float32(-1)
        while x >= np.float32(0) and x < np.float32(grid.shape[1] - 1):
            column = int(x)
            part = x - column
            total += grid[3, column] * (np.float32(1) - part) + grid[3, column + 1] * part
            x += np.float32(2.5)
        out[i] = total


def sampled(grid, xs, out):
    for i in weft.prange(xs.size):
        x = xs[i] + np.float32(0)
        total = np.float32(-1)
        while x >= np.float32(0) and x < np.float32(grid.shape[1] - 1):
            column = int(x)
            part = x - column
            total += grid[3, column] * (np.float32(1) - part) + grid[3, column + 1] * part
            x += np.float32(2.5)
        out[i] = total


def clamped(x, y):
    return min(max(int(x), 0), 9) + min(max(math.floor(y), -3), 3)


def expected() -> np.ndarray:
    out = np.full(XS.size, -1, np.float32)
    for i, x in enumerate(XS):
        while x >= 0 and x < 15:
            column = int(x)
            part = np.float32(x - column)
            out[i] += GRID[3, column] * (1 - part) + GRID[3, column + 1] * part
            x += np.float32(2.5)
    return out


def whole(x: float) -> float:
    return 0 if math.isnan(x) else min(max(x, -(2.0**63)), 2.0**63)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_every_door_samples_and_clamps_alike(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    out = np.zeros(XS.size, np.float32)
    cuda.jit(width=8)(sampled_by_threads.py_func)[2, 8](GRID, XS, out)
    np.testing.assert_allclose(out, expected(), rtol=1e-6)
    out[:] = 0
    weft.jit(width=8)(sampled)(GRID, XS, out)
    np.testing.assert_allclose(out, expected(), rtol=1e-6)
    wanted = [min(max(int(whole(x)), 0), 9) + min(max(math.floor(whole(x)), -3), 3) for x in XS]
    assert weft.vectorize(clamped)(XS, XS).tolist() == wanted

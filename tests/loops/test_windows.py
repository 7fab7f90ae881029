"""Filters whose windows move along rows in loops over `prange`: lanes along the rows, whatever is at the borders."""

import numpy as np
import pytest

import weft
from weft import prange

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
SHAPES = ((1, 1), (2, 70), (9, 3), (17, 133))


def clamped(a, weights, out):
    h, w = a.shape
    for y in prange(h):
        for x in range(w):
            total = np.float32(0)
            for dy in range(5):
                for dx in range(5):
                    total += (
                        weights[dy, dx] * a[min(max(y + dy - 2, 0), h - 1), min(max(x + dx - 2, 0), w - 1)]
                    )
            out[y, x] = total


def left_out(a, weights, out):
    h, w = a.shape
    for y in prange(h):
        for x in range(w):
            total = np.float32(0)
            for dy in range(1, 4):
                for dx in range(1, 4):
                    at, along = y + dy - 2, x + dx - 2
                    if 0 <= at < h and 0 <= along < w:
                        total += weights[dy, dx] * a[at, along]
            out[y, x] = total


def least(a, weights, out):
    h, w = a.shape
    for y in prange(h):
        for x in range(w):
            found = np.uint8(255)
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    if y + dy >= 0 and y + dy < h and x + dx >= 0 and x + dx < w:
                        found = min(found, a[y + dy, x + dx])
            out[y, x] = found


def wrapped(a, weights, out):
    h, w = a.shape
    for y in prange(h):
        for x in range(w):
            total = np.float32(0)
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[(y + dy) % h, (x + dx) % w]
            out[y, x] = total


def within(a, weights, out):
    for y in prange(2, a.shape[0] - 2):
        for x in range(2, a.shape[1] - 2):
            total = np.float32(0)
            for dy in range(5):
                for dx in range(5):
                    total += weights[dy, dx] * a[y + dy - 2, x + dx - 2]
            out[y, x] = total


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [clamped, left_out, least, wrapped, within])
def test_lanes_are_along_rows(function, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    draw = np.random.default_rng(5)
    type = np.uint8 if function is least else np.float32
    weights = draw.integers(0, 5, (5, 5)).astype(np.float32)
    compiled = weft.jit(function, fastmath=True)
    for shape in SHAPES:
        a = draw.integers(0, 99, shape).astype(type)
        out, wanted = np.zeros_like(a), np.zeros_like(a)
        compiled(a, weights, out)
        function(a, weights, wanted)
        np.testing.assert_array_equal(out, wanted)
    told = [r.message for r in compiled.remarks]
    assert any("the iterations of this loop are independent" in message for message in told)
    assert not any("is not negative" in message for message in told)
    assert any("and all cores share" in message for message in told)


def test_a_window_over_what_is_stored_runs_as_promised() -> None:
    a = np.random.default_rng(6).integers(0, 99, (9, 70)).astype(np.float32)
    rows = np.repeat(a[:1], 9, 0)
    weights = np.zeros((5, 5), np.float32)
    weights[2, 2] = 2
    wanted, compiled = a * 2, weft.jit(clamped, fastmath=True)
    compiled(a, weights, a)
    np.testing.assert_array_equal(a, wanted)
    # Rows that lie over each other are no rows of lanes.
    same = np.lib.stride_tricks.as_strided(np.zeros(70, np.float32), (9, 70), (0, 4))
    compiled(rows, weights, same)
    np.testing.assert_array_equal(same, rows * 2)


def around(a, weights, radius, out):
    h, w = a.shape
    for y in prange(h):
        for x in range(w):
            total = np.float32(0)
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    near = a[min(max(y + dy, 0), h - 1), min(max(x + dx, 0), w - 1)]
                    total += weights[dy + radius, dx + radius] * near
            out[y, x] = total


def test_lanes_are_not_along_a_window_of_any_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    draw = np.random.default_rng(7)
    a, weights = (draw.integers(0, 9, shape).astype(np.float32) for shape in ((9, 70), (5, 5)))
    compiled = weft.jit(around, fastmath=True)
    for radius in (2, 1, 0):
        out, wanted = np.zeros_like(a), np.zeros_like(a)
        compiled(a, weights, radius, out)
        around(a, weights, radius, wanted)
        np.testing.assert_array_equal(out, wanted)
    first = around.__code__.co_firstlineno
    lines = {
        r.span.line - first for r in compiled.remarks if r.span and "iterations at a time, and" in r.message
    }
    assert lines == {3}

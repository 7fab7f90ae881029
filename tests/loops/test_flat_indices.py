"""Indices such as ``(i * m + j) * k + l`` into flat arrays: rows are told apart, whatever the sizes turn out to be."""

import numpy as np
import pytest

import weft
from pairs import in_turn

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")


def scaled(a, c, n, m, k):
    for i in range(n):
        for j in range(m):
            for l in range(k):  # noqa: E741
                c[(i * m + j) * k + l] = 2 * a[(i * m + j) * k + l] + 1


def multiplied(a, c, n, m, k):
    for i in range(n):
        for j in range(m):
            total = np.float32(0)
            for l in range(k):  # noqa: E741
                total += a[i * k + l] * a[l * m + j]
            c[i * m + j] = total


def smoothed(a, c, n, m, k):
    for y in range(1, n - 1):
        for x in range(1, m - 1):
            c[y * m + x] = a[y * m + x - 1] + a[y * m + x + 1] + a[(y - 1) * m + x] + k * a[(y + 1) * m + x]


def spread(a, c, n, m, k):
    """What lies between rows is for the caller to say, and may be negative."""
    for i in range(n):
        for j in range(abs(k)):
            c[i * m + j] = a[i * abs(k) + j] + 1


def before(a, c, n, m, k):
    for i in range(n):
        for j in range(m):
            c[i * m + j - k] = a[i * m + j]


SIZES = (
    *((9, 10, 40), (3, 37, 5), (1, 1, 1), (0, 4, 4)),
    *((4, 0, 3), (-2, 5, 5), (3, -4, 5), (5, 3, -1)),
)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [scaled, multiplied, smoothed])
def test_rows_of_flat_arrays_are_apart(function, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    a = np.random.default_rng(1).integers(0, 9, 9 * 10 * 40).astype(np.float32)
    compiled = weft.jit(function, fastmath=True, parallel="auto")
    for sizes in in_turn(SIZES, LEVELS.index(level), 2):
        c, wanted = np.zeros_like(a), np.zeros_like(a)
        compiled(a, c, *sizes)
        function(a, wanted, *sizes)
        np.testing.assert_array_equal(c, wanted)
    told = " ".join(r.message for r in compiled.remarks)
    assert "the iterations of this loop are independent" in told
    assert "shape[0]: rows do not overlap" not in told
    assert "turn out to be neighbours" not in told


@pytest.mark.parametrize("function", [spread, before])
def test_indices_that_count_from_the_end(function) -> None:
    a = np.arange(400, dtype=np.float32)
    compiled = weft.jit(function, parallel="auto")
    for sizes in ((9, 11, 7), (9, -11, 7), (9, -3, 7), (9, 0, 7), (5, 7, 30), (1, -300, 2), (6, -60, -4)):
        c, wanted = np.zeros(400, np.float32), np.zeros(400, np.float32)
        compiled(a, c, *sizes)
        function(a, wanted, *sizes)
        np.testing.assert_array_equal(c, wanted)


def test_rows_that_are_stored_over() -> None:
    a = np.arange(400, dtype=np.float32)
    wanted = a.copy()
    compiled = weft.jit(before, parallel="auto")
    compiled(a, a, 9, 11, 3)
    before(wanted, wanted, 9, 11, 3)
    np.testing.assert_array_equal(a, wanted)

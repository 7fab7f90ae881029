"""Indices such as ``(i * m + j) * k + l`` into flat arrays: rows are told apart, whatever the sizes turn out to be."""

import numpy as np
import pytest

import weft
from pairs import in_turn
from weft import prange

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


@weft.jit
def element(a, b, i):
    y = i // 128
    x = i % 128
    total = 0
    for k in range(12):
        total += a[y * 12 + k] * b[k * 128 + x]
    return total


def pictures(a, b, c, n):
    for i in prange(n):
        c[i] = element(a, b, i)


def pictures_from(a, b, c, n):
    for i in prange(3, n):
        c[i] = element(a, b, i)


def pictures_by_twos(a, b, c, n):
    for i in prange(0, n, 2):
        c[i] = element(a, b, i)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", [pictures, pictures_from, pictures_by_twos])
@pytest.mark.parametrize("n", [1, 127, 1000, 40_001])
def test_rows_and_columns_of_a_number_are_known_where_lane_groups_begin(
    function, level: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lane groups of a loop begin at multiples of their lanes; that was not known, and each lane loaded by itself."""
    monkeypatch.setenv("WEFT_CPU", level)
    rng = np.random.default_rng(n)
    a, b = rng.integers(-9, 9, (n // 128 + 1) * 12), rng.integers(-9, 9, 12 * 128)
    got, wanted = np.zeros(n, np.int64), np.zeros(n, np.int64)
    compiled = weft.jit(function, width=16)
    compiled(a, b, got, n)
    function(a, b, wanted, n)
    np.testing.assert_array_equal(got, wanted)
    asked = [r.message for r in compiled.remarks if "turn out to be neighbours" in r.message]
    assert len(asked) == (2 if function is pictures_from else 0)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
def test_totals_of_rows_of_a_number_are_right_in_all_grains(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)

    @weft.jit
    def totals(a, c, n):
        total = 0
        for i in prange(n):
            c[i] = a[i // 64] * (i % 64)
            total += c[i]
        return total

    for n in (5, 64, 3000, 100_003):
        a, c = np.arange(n // 64 + 1), np.zeros(n, np.int64)
        i = np.arange(n)
        wanted = a[i // 64] * (i % 64)
        assert totals(a, c, n) == wanted.sum()
        np.testing.assert_array_equal(c, wanted)

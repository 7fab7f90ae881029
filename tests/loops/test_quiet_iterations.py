"""Searches, and minima and maxima with their place: ranges of iterations are asked in lanes, results stay the same."""

import math

import numpy as np
import pytest

from loops.test_auto import agree, auto, once, runs_in_lanes
from weft.diag.remarks import RemarkKind

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

SIZES = (0, 1, 2, 255, 256, 257, 1000)


def argmin(x):
    best, at = np.inf, -1
    for i in range(x.size):
        if x[i] < best:
            best, at = x[i], i
    return best, at


def argmax_last(x):
    best, at = x[0], 0
    for i in range(1, x.size):
        if x[i] >= best:
            best = x[i]
            at = i
    return at


def smallest(x):
    best = np.inf
    for i in range(x.size):
        if x[i] < best:
            best = x[i]
    return best


def farthest_of_some(x, wanted, names):
    best, name, records = -1, -1, 0
    for i in range(x.size):
        if wanted[i]:
            d = x[i] * x[i]
            if d > best:
                best = d
                name = names[i]
                records += 1
    return best, name, records


def find(x, value):
    for i in range(x.size):
        if x[i] == value:
            return i
    return -1


def last_pair(x, low, high):
    i = x.size
    for i in range(x.size - 1, 0, -1):
        if x[i] < low or x[i - 1] > high:
            break
    return i


def ends_early(x, y):
    k = 0
    for i in range(x.size):
        if x[i] == 0:
            k = 1
            break
        if y[i] > x[i]:
            k = 2
            break
    return k * 1000000 + i


def lexicographic(x, y):
    for i in range(min(x.size, y.size)):
        if x[i] != y[i]:
            return -1 if x[i] < y[i] else 1
    return 0


def is_left_out(compiled) -> bool:
    return any(r.kind is RemarkKind.TRANSFORM and "are left out" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_the_first_of_equal_minima(dtype) -> None:
    draw = np.random.default_rng(1)
    compiled = once(argmin)
    for n in SIZES:
        agree(compiled, draw.integers(-5, 6, n).astype(dtype))
        agree(compiled, np.sort(draw.integers(0, 999, n).astype(dtype))[::-1].copy())
    assert is_left_out(compiled) and runs_in_lanes(compiled)


@pytest.mark.parametrize("n", SIZES[1:])
def test_the_last_of_equal_maxima(n: int) -> None:
    compiled = once(argmax_last)
    agree(compiled, np.random.default_rng(n).integers(0, 3, n).astype(np.int32))
    agree(compiled, np.zeros(n))
    assert is_left_out(compiled)


@pytest.mark.parametrize("n", [3, 700])
def test_float_minima_keep_the_sign_of_zero_and_leave_out_nan(n: int) -> None:
    compiled = once(smallest)
    draw = np.random.default_rng(n)
    for _ in range(5):
        x = draw.choice([0.0, -0.0, np.nan, 1.0], n)
        assert math.copysign(1, compiled(x)) == math.copysign(1, smallest(x)) and compiled(x) == smallest(x)
    assert is_left_out(compiled)
    assert math.isinf(compiled(np.full(n, np.nan)))


@pytest.mark.parametrize("n", SIZES)
def test_minima_under_a_condition_with_several_values(n: int) -> None:
    draw = np.random.default_rng(n)
    compiled = once(farthest_of_some)
    x = draw.integers(-1000, 1000, n)
    agree(compiled, x, draw.random(n) < 0.3, draw.integers(0, 99, n))
    assert is_left_out(compiled)


@pytest.mark.parametrize("n", SIZES)
def test_searches(n: int) -> None:
    draw = np.random.default_rng(n)
    compiled = once(find)
    x = draw.integers(0, 2000, n)
    for value in (-1, *x[:: max(1, n // 7)], *x[-1:]):
        agree(compiled, x, value)
    assert is_left_out(compiled) and runs_in_lanes(compiled)


def test_searches_downwards() -> None:
    compiled = auto(last_pair)
    x = np.random.default_rng(2).random(900)
    for low, high in ((-1.0, 2.0), (0.001, 2.0), (-1.0, 0.995)):
        agree(compiled, x, low, high)
    assert is_left_out(compiled)


def test_several_early_exits_and_arrays() -> None:
    compiled = auto(ends_early)
    x = np.random.default_rng(2).random(800)
    for at in (0, 5, 300, 799):
        for other in (0, 6, 299, 799):
            y, z = np.zeros(800), x.copy()
            z[at], y[other] = 0, 2
            agree(compiled, z, y)
    assert is_left_out(compiled)
    compiled = auto(lexicographic)
    x = np.arange(600)
    agree(compiled, x, x.copy())
    agree(compiled, x, x[:300].copy())
    y = x.copy()
    y[555] = 0
    agree(compiled, x, y)
    agree(compiled, y, x)


def test_a_search_does_not_read_behind_its_array() -> None:
    # The value that ends it is the last of the array: nothing says that there is more memory.
    def until_zero(x, n):
        for i in range(n):
            if x[i] == 0:
                return i
        return n

    x = np.ones(1000)
    x[-1] = 0
    compiled = auto(until_zero)
    assert compiled(x[500:], 1 << 40) == 499
    assert compiled(x[:900:3], 300) == 300


def test_strided_arrays() -> None:
    compiled = auto(find)
    x = np.random.default_rng(2).integers(0, 2000, 4000)
    for part in (x[::3], x[::-1], x[:2000:2], np.lib.stride_tricks.as_strided(x, (700,), (0,))):
        agree(compiled, part, int(part[-1]))
        agree(compiled, part, -1)


def test_of_unknown_memory_the_remark_says_why_a_search_is_in_order() -> None:
    def gathered(x, at, value):
        for i in range(at.size):
            if x[at[i]] == value:
                return i
        return -1

    compiled = auto(gathered)
    agree(compiled, np.arange(9.0), np.arange(9), 4.0)
    texts = [r.message for r in compiled.remarks if r.kind is RemarkKind.MISSED]
    assert any("it is not known which elements iterations behind it would load" in t for t in texts), texts


def test_what_changes_all_the_time_is_left_in_order() -> None:
    def rises(x):
        count, before = 0, x[0]
        for i in range(x.size):
            if x[i] > before:
                count += 1
            before = x[i]
        return count

    compiled = auto(rises)
    agree(compiled, np.random.default_rng(2).random(600))
    assert not is_left_out(compiled)

"""Scans, compactions and histograms that several threads share: the results of the loop in order, to the last bit."""

import numpy as np
import pytest

import weft
from loops.test_auto import auto
from weft.diag.remarks import RemarkKind

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LENGTHS = (0, 1, 999, 70_001)
"""The last one is cut into grains."""


@pytest.fixture(autouse=True)
def three_threads():
    before = weft.get_num_threads()
    weft.set_num_threads(3)
    yield
    weft.set_num_threads(before)


def is_shared(compiled) -> bool:
    return any("all cores share it in two passes" in r.message for r in compiled.remarks)


def running(x, y):
    s = 3
    for i in range(x.size):
        s += x[i]
        y[i] = s
    return s


def running_down(x, y):
    s = 1
    for i in range(x.size - 1, -1, -1):
        y[i] = s
        s -= x[i]
    return s


def running_minimum(x, y):
    m = 7
    for i in range(x.size):
        y[i] = m
        m = min(m, x[i])
    return m


def running_product(x, y):
    s = 1
    for i in range(x.size):
        s *= x[i] | 1
        y[i] = s
    return s


def running_and_total(x, y):
    s = 0
    total = 5
    for i in range(x.size):
        s ^= x[i]
        y[i] = s
        total += x[i] * 2
    return total + s


def in_memory(x, y):
    for i in range(1, x.size):
        y[i] = y[i - 1] + x[i]
    return 0


def two(x, y):
    s = 0
    k = 0
    for i in range(x.size):
        s += x[i]
        if x[i] > 2:
            y[k] = i
            k += 1
    return s + k


def keep(x, y):
    k = 0
    for i in range(x.size):
        if x[i] > 2:
            y[k] = x[i]
            k += 1
    return k


def keep_pairs(x, y):
    k = 4
    for i in range(x.size // 2):
        if x[i] > 0:
            y[k] = i
            y[k + 1] = x[i]
            k += 2
    return k


def sum_of_sums(x, y):
    s = 0
    t = 0
    for i in range(x.size):
        s += x[i]
        t += s
        y[i] = t
    return t


def keep_in_place(x, y):
    k = 0
    for i in range(x.size):
        if x[i] > 2:
            x[k] = x[i]
            k += 1
    return k


def arguments(length, dtype, bins=None):
    draw = np.random.default_rng(length)
    return draw.integers(-9, 9, length).astype(dtype), np.ones(bins or length + 8, dtype)


def agree(function, dtype, bins=None):
    """Three threads and one, which other tests compare with Python."""
    compiled = auto(function)
    for length in LENGTHS:
        shared, alone = arguments(length, dtype, bins), arguments(length, dtype, bins)
        weft.set_num_threads(3)
        found = compiled(*shared)
        weft.set_num_threads(1)
        expected = compiled(*alone)
        assert found == expected
        for a, b in zip(shared, alone, strict=True):
            np.testing.assert_array_equal(a, b)
    return compiled


@pytest.mark.parametrize(
    "function",
    [running, running_down, running_minimum, running_product, running_and_total, in_memory],
    ids=lambda f: f.__name__,
)
def test_scans_are_shared(function):
    assert is_shared(agree(function, np.int64))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32])
def test_scans_of_narrow_integers_wrap_around_as_in_order(dtype):
    assert is_shared(agree(running, dtype))


@pytest.mark.parametrize("function", [keep, keep_pairs, two], ids=lambda f: f.__name__)
def test_compactions_are_shared(function):
    compiled = agree(function, np.int64)
    runs_in_lanes = any(
        r.kind is RemarkKind.TRANSFORM and "run in lock step" in r.message for r in compiled.remarks
    )
    # SSE2 cannot move together what is kept.
    assert is_shared(compiled) == runs_in_lanes


@pytest.mark.parametrize("function", [sum_of_sums, keep_in_place], ids=lambda f: f.__name__)
def test_what_depends_on_earlier_grains_runs_in_order(function):
    assert not is_shared(agree(function, np.int64))


def test_float_sums_are_shared_where_they_may_be_reassociated():
    assert not is_shared(agree(running, np.float64))
    compiled = auto(running, fastmath=True)
    x, y = arguments(LENGTHS[-1], np.float64)
    assert compiled(x, y) == 3 + x.sum()
    np.testing.assert_array_equal(y[: x.size], 3 + x.cumsum())
    assert is_shared(compiled)


def count(x, h):
    for i in range(x.size):
        h[x[i]] += 1


def count_pixels(image, h):
    total = 0
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            h[image[i, j]] += 1
            total += image[i, j]
    return total


def count_in_bins(x, h):
    outside = 0
    for i in range(x.size):
        bin = int((x[i] + 8.5) * 0.5)
        if 0 <= bin < h.size:
            h[bin] -= x[i]
        else:
            outside += 1
    return outside


def two_tables(x, h):
    half = h.size // 2
    low, high = h[:half], h[half:]
    for i in range(x.size):
        low[abs(x[i])] ^= i
        high[abs(x[i]) // 2] |= x[i]


def every_other(x, h):
    for i in range(x.size):
        h[::2][abs(x[i])] += 3


def counts_that_are_read(x, h):
    last = 0
    for i in range(x.size):
        h[x[i]] += 1
        last = h[x[i]]
    return last


def shared_by(compiled) -> bool:
    return any("of which each thread has a copy" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("function", [count, count_in_bins], ids=lambda f: f.__name__)
def test_histograms_are_shared(function):
    # Some indices count from the end.
    assert shared_by(agree(function, np.int64, bins=24))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_histograms_of_narrow_integers_wrap_around_as_in_order(dtype):
    assert shared_by(agree(count_in_bins, dtype, bins=24))


@pytest.mark.parametrize(
    "function", [every_other, counts_that_are_read, two_tables], ids=lambda f: f.__name__
)
def test_other_updates_are_right(function):
    agree(function, np.int64, bins=48)


def test_histograms_of_nests_are_shared():
    compiled = auto(count_pixels)
    image, h = arguments(300 * 70, np.int32, bins=24)
    image = image.reshape(300, 70)
    assert compiled(image, h) == image.sum()
    expected = np.ones(24, np.int32)
    np.add.at(expected, image, 1)
    np.testing.assert_array_equal(h, expected)
    assert shared_by(compiled)


def test_more_bins_than_iterations_run_in_order_and_right():
    agree(count, np.int64, bins=100_000)


def test_float_histograms_are_shared_where_they_may_be_reassociated():
    def weigh(x, h):
        for i in range(x.size):
            h[i % 24] += x[i]

    assert not shared_by(agree(weigh, np.float64, bins=24))
    compiled = auto(weigh, fastmath=True)
    x, h = arguments(70_008, np.float64, bins=24)
    compiled(x, h)
    np.testing.assert_array_equal(h, 1 + x.reshape(-1, 24).sum(axis=0))
    assert shared_by(compiled)


def test_histogram_of_the_array_it_reads_is_right():
    compiled = auto(count)
    x = np.arange(70_000) % 16
    expected = x.copy()
    compiled(x, x)
    for i in range(expected.size):
        expected[expected[i]] += 1
    np.testing.assert_array_equal(x, expected)


def test_histograms_whose_inner_loop_might_run_in_lanes_are_right():
    """Of rows that are added up an update has to stay where each thread has its copy."""

    @weft.jit(parallel="auto")
    def counted(keys, counts):
        own = np.zeros((8, counts.size), np.int32)
        for part in range(8):
            for i in range(part * 10, (part + 1) * 10):
                own[part, keys[i]] += 1
        for part in range(8):
            for k in range(counts.size):
                counts[k] += own[part, k]

    keys, counts = np.random.default_rng(2).integers(0, 20, 80), np.zeros(20, np.int32)
    counted(keys, counts)
    assert (counts == np.bincount(keys, minlength=20)).all()

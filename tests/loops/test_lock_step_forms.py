"""Scans, compactions and histograms: lanes run them in lock step, results stay the same to the last bit."""

import numpy as np
import pytest

from loops.test_auto import agree, auto, runs_in_lanes
from pairs import WHOLE, pairs
from weft.diag.remarks import RemarkKind

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

SIZES = (0, 1, 7, 64, 301) if WHOLE else (0, 1, 64, 101)
WIDTHS = (None, 4, 16)


def says(compiled, text: str) -> bool:
    return any(text in r.message for r in compiled.remarks)


def keep(x, out):
    k = 0
    for i in range(x.size):
        if x[i] > 0:
            out[k] = x[i]
            k += 1
    return k


def keep_places(x, values, places):
    k = 3
    for i in range(x.size):
        if x[i] % 3 == 0:
            values[k] = x[i]
            places[k] = i
            k += 1
    return k


def keep_pairs(x, out):
    k = 0
    for i in range(x.size):
        if x[i] > 0:
            out[k] = x[i]
            out[k + 1] = i
            k += 2
    return k


def keep_from(x, out, start):
    k = start
    for i in range(x.size):
        if x[i] > 0:
            # Negative indices count from the end.
            out[k] = x[i]
            k += 1
    return k


def keep_rows(x, out):
    k = 0
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            for j in range(x.shape[1]):
                out[k, j] = x[i, j]
            k += 1
    return k


def running(x, y):
    s = 0
    for i in range(x.size):
        s += x[i]
        y[i] = s
    return s


def running_before(x, y):
    s = 5
    for i in range(x.size):
        y[i] = s
        s -= x[i]
    return s


def running_maximum(x, y):
    m = x[0]
    for i in range(x.size):
        m = max(m, x[i])
        y[i] = m


def parity(x, y):
    p = 0
    for i in range(x.size):
        p ^= x[i]
        y[i] = p
    return p


def where_and_how_many(x, at):
    k = 0
    for i in range(x.size):
        k += x[i] > 0
        at[i] = k
    return k


def in_place(x):
    for i in range(1, x.size):
        x[i] += x[i - 1]


def largest_so_far(x, y):
    for i in range(x.size - 2, -1, -1):
        y[i] = max(y[i + 1], x[i])


def brightness(r, g, b, counts):
    for i in range(r.size):
        v = 0.299 * r[i] + 0.587 * g[i] + 0.114 * b[i]
        counts[int(v * 15.99)] += 1


def weights(x, w, bins):
    for i in range(x.size):
        bins[int((x[i] * 0.5 + 0.25) * 16)] += w[i] * 1.5 - x[i]


@pytest.mark.spread
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16, np.uint8])
def test_what_is_kept_is_side_by_side(dtype, width: int | None) -> None:
    compiled = auto(keep, width=width)
    for n in SIZES:
        x = np.random.default_rng(n).integers(-3, 4, n).astype(dtype)
        agree(compiled, x, np.full(n, 77, dtype))
        agree(compiled, np.zeros(n, dtype), np.full(n, 77, dtype))
        agree(compiled, np.ones(n, dtype), np.full(n, 77, dtype))
    if width is not None:
        assert says(compiled, "moved together in lanes") and runs_in_lanes(compiled) == 1


def test_nothing_is_stored_behind_what_is_kept() -> None:
    x = np.zeros(64)
    x[::9] = 1
    out = np.full(8, -1.0)
    compiled = auto(keep, width=8)
    assert compiled(x, out[:8]) == 8
    assert (out == 1).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_several_arrays_of_what_is_kept(width: int | None) -> None:
    compiled = auto(keep_places, width=width)
    for n in SIZES:
        x = np.random.default_rng(n).integers(0, 9, n).astype(np.int32)
        agree(compiled, x, np.zeros(n + 3, np.int32), np.zeros(n + 3, np.int64))
    if width is not None:
        assert says(compiled, "moved together in lanes")


@pytest.mark.parametrize("width", [4, 16])
def test_what_is_kept_elsewhere_is_counted_by_lanes(width: int) -> None:
    compiled = auto(keep_pairs, width=width)
    for n in SIZES:
        agree(compiled, np.random.default_rng(n).integers(-3, 4, n), np.zeros(2 * n, np.int64))
    agree(auto(keep_from, width=width), np.arange(-50, 50), np.zeros(100, np.int64), -60)
    assert says(compiled, "lanes count together what it keeps") and runs_in_lanes(compiled) == 1
    agree(auto(keep_rows, width=width), np.random.default_rng(1).random((40, 5)) - 0.5, np.zeros((40, 5)))


def test_overlapping_arrays() -> None:
    memory = np.random.default_rng(1).integers(-9, 9, 200)
    for compiled in (auto(keep, width=8), auto(running, width=8)):
        for shift in (-33, -1, 0, 1, 33):
            agree(compiled, memory[50:100], memory[50 + shift : 100 + shift])


@pytest.mark.spread
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("function", [running, running_before, running_maximum, parity, where_and_how_many])
def test_scans(function, width: int | None) -> None:
    compiled = auto(function, width=width)
    for n in SIZES[1:]:
        for dtype in (np.int64, np.int32):
            x = np.random.default_rng(n).integers(0, 99, n).astype(dtype)
            agree(compiled, x, np.zeros(n, np.int64))
    assert says(compiled, "running sums") and runs_in_lanes(compiled) == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_scans_in_memory(width: int | None) -> None:
    for function, arrays in ((in_place, 1), (largest_so_far, 2)):
        compiled = auto(function, width=width)
        for n in SIZES:
            agree(compiled, *np.random.default_rng(n).integers(-99, 99, (arrays, n)))
        assert says(compiled, "running sums") and runs_in_lanes(compiled) == 1
    memory = np.random.default_rng(2).integers(-99, 99, 200)
    compiled = auto(largest_so_far, width=8)
    for shift in (-33, -1, 0, 1, 33):
        agree(compiled, memory[50:100], memory[50 + shift : 100 + shift])


def test_float_scans_keep_their_order_but_under_fastmath() -> None:
    x, y = np.random.default_rng(3).random((2, 301))
    strict, fast = auto(running), auto(running, fastmath=True)
    agree(strict, x, y)
    assert says(strict, "allow it with fastmath") and runs_in_lanes(strict) == 0
    fast(x, y)
    np.testing.assert_allclose(y, np.cumsum(x), rtol=1e-12)
    assert runs_in_lanes(fast) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_histograms(width: int | None) -> None:
    compiled = auto(brightness, width=width)
    for n in SIZES:
        r, g, b = np.random.default_rng(n).random((3, n))
        agree(compiled, r, g, b, np.zeros(16, np.int32))
    agree(compiled, np.zeros(50), np.zeros(50), np.zeros(50), np.zeros(16, np.int32))
    if width is not None:
        assert says(compiled, "of which each thread has a copy") and runs_in_lanes(compiled) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_sums_of_floats_in_bins_round_as_in_the_loop(width: int | None) -> None:
    compiled = auto(weights, width=width)
    x, w = np.random.default_rng(4).random((2, 333))
    agree(compiled, x, w, np.zeros(16))
    agree(compiled, np.zeros(99), w[:99], np.zeros(16))
    if width is not None:
        assert says(compiled, "one after the other") and runs_in_lanes(compiled) == 1


def test_of_a_plain_histogram_the_remark_says_why_there_are_no_lanes() -> None:
    def count(at, counts):
        for i in range(at.size):
            counts[at[i]] += 1

    compiled = auto(count)
    agree(compiled, np.random.default_rng(4).integers(0, 9, 100), np.zeros(9, np.int64))
    texts = [r.message for r in compiled.remarks if r.kind is RemarkKind.LANE_BY_LANE]
    assert any("there is little else to do" in t for t in texts), texts


def differences(x, y):
    last = 0
    for i in range(x.size):
        y[i] = x[i] - last
        last = x[i]
    return last


def products_with_the_last(x, y):
    last = 1
    for i in range(x.size):
        product = x[i] * y[i]
        if last > 2:
            y[i] = product + last
        last = product
    return last


def sums_of_neighbours_in_place(x, y):
    last = 3
    for i in range(x.size - 1, -1, -1):
        here = x[i]
        x[i] = here + last
        last = here
    return last + y.size


def changes(x, y):
    k = 0
    last = -1
    for i in range(x.size):
        if x[i] != last:
            y[k] = i
            k += 1
        last = x[i]
    return k


HANDED = [differences, products_with_the_last, sums_of_neighbours_in_place]


@pytest.mark.parametrize(
    ("dtype", "width", "function"), pairs([np.int64, np.float32, np.float64], WIDTHS, HANDED)
)
def test_each_lane_has_what_the_one_before_hands_on(function, width: int | None, dtype) -> None:
    compiled = auto(function, width=width)
    for n in SIZES:
        x = np.random.default_rng(n).integers(-5, 6, n).astype(dtype)
        agree(compiled, x, x[::-1].copy())
    assert says(compiled, "each lane has what the one before it hands on")
    assert runs_in_lanes(compiled) == 1


def second_differences(x, y):
    one, two = 3, 5
    for i in range(x.size):
        y[i] = x[i] - 2 * one + two
        two = one
        one = x[i]
    return one + 10 * two


def chain_of_four(x, y):
    a, b, c, d = 1, 2, 3, 4
    for i in range(x.size):
        y[i] = a + 3 * b + 5 * c + 7 * d
        a = b
        b = c
        c = d
        d = x[i] + 1
    return a + 11 * b + 13 * c + 17 * d


def two_from_one(x, y):
    a, b, c = 1, 2, 3
    for i in range(x.size):
        y[i] = a + 3 * b + 5 * c
        b = a
        c = a
        a = x[i]
    return a + 11 * b + 13 * c


def computed_from_the_last(x, y):
    # What is stored first needs the load behind it.
    a, b = 3, 5
    for i in range(x.size):
        y[i] = b + a
        b = a * 2
        a = x[i]
    return a + 10 * b


def from_the_same_load(x, y):
    a, b = 3, 5
    for i in range(x.size):
        y[i] = a
        x[i] = x[i] - b
        new = y[i] + 1
        a = new * 2
        b = new * 3
    return a + 10 * b


CHAINS = [second_differences, chain_of_four, two_from_one, computed_from_the_last]


@pytest.mark.spread
@pytest.mark.parametrize(
    ("dtype", "width", "function"),
    pairs([np.int16, np.int64, np.float64], [None, 16], [*CHAINS, from_the_same_load]),
)
def test_what_was_handed_on_is_handed_on_again(function, width: int | None, dtype) -> None:
    compiled = auto(function, width=width)
    for n in (0, 1, 2, 3, 4, 5, 16, 17, 64, 301):
        x = np.random.default_rng(n).integers(-5, 6, n).astype(dtype)
        agree(compiled, x, x[::-1].copy())
    if function in CHAINS:
        assert says(compiled, "each lane has what the one before it hands on")
        assert runs_in_lanes(compiled) == 1


def eight_behind(x, y):
    for i in range(8, x.size):
        x[i] = x[i - 8] * 0.5 + y[i]


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (
            None,
            (", in order, two registers of 32-bit values", ", in order, as many as keep their order and pay"),
        ),
        (4, ("runs 4 iterations at a time, in order, as asked for",)),
        (
            32,
            ("8 iterations at a time, in order, as more would not keep their order, where 32 are asked for",),
        ),
    ],
)
def test_remarks_say_why_a_loop_in_lock_step_has_its_lanes(width: int | None, said: tuple[str, ...]) -> None:
    compiled = auto(eight_behind, width=width)
    agree(compiled, np.arange(100.0), np.ones(100))
    assert any(says(compiled, text) for text in said), [r.message for r in compiled.remarks]


def turns(x, y):
    one, two = 3, 5
    for i in range(x.size):
        y[i] = one + 3 * two
        one, two = two, one
    return one


def second_order(x, y):
    one, two = 3, 5
    for i in range(x.size):
        new = x[i] - two
        y[i] = new
        two = one
        one = new
    return one


@pytest.mark.parametrize("function", [turns, second_order], ids=lambda f: f.__name__)
def test_a_chain_that_comes_back_to_its_begin_is_in_order(function) -> None:
    compiled = auto(function)
    for n in SIZES:
        x = np.random.default_rng(n).integers(-5, 6, n)
        agree(compiled, x, x.copy())
    assert runs_in_lanes(compiled) == 0


def sum_and_what_it_was(x, y):
    s, last = 1, 4
    for i in range(x.size):
        y[i] = last
        last = s
        s += x[i]
    return s + 10 * last


def sum_less_the_last(x, y):
    s, last = 1, 4
    for i in range(x.size):
        s += x[i]
        y[i] = s - last
        last = s * 3
    return s + 10 * last


def last_sum_first(x, y):
    s, last = 1, 4
    for i in range(x.size):
        y[i] = last + x[i]
        s += x[i]
        last = s * 3
    return s + 10 * last


def sum_of_the_last(x, y):
    s, last = 1, 4
    for i in range(x.size):
        y[i] = s
        s += last * 2
        last = x[i]
    return s + 10 * last


WITH_SUMS = [sum_and_what_it_was, sum_less_the_last, last_sum_first, sum_of_the_last]


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 16])
@pytest.mark.parametrize("function", WITH_SUMS, ids=lambda f: f.__name__)
def test_running_sums_and_what_is_handed_on_need_each_other(function, width: int | None) -> None:
    compiled = auto(function, width=width)
    for n in (0, 1, 2, 3, 17, 64, 301):
        x = np.random.default_rng(n).integers(-5, 6, n)
        agree(compiled, x, x[::-1].copy())
        if n < 20:
            # Numbers double in each iteration.
            agree(compiled, x, x)
    assert says(compiled, "running sums") and says(compiled, "each lane has what")


def sum_of_sums(x, y):
    s, t = 1, 2
    for i in range(x.size):
        s += x[i]
        t += s
        y[i] = t
    return s - t


def sums_of_the_sum_before(x, y):
    s, t, u = 1, 2, 3
    for i in range(x.size):
        u += t - x[i]
        t += s * 2
        y[i] = u
        s -= x[i]
    return s - t + u


def sum_in_memory_of_sums(x, y):
    s = 1
    for i in range(1, x.size):
        s += x[i]
        y[i] = y[i - 1] + s
    return s


def sum_of_sums_in_memory(x, y):
    s = 1
    for i in range(1, x.size):
        y[i] += y[i - 1]
        s += y[i] - y[i - 1] * 2
        x[i] = s
    return s


def sum_of_largest(x, y):
    most, s = -9, 1
    for i in range(x.size):
        most = max(most, x[i])
        s += most
        y[i] = s
    return s - most


SUMS = [sum_of_sums, sums_of_the_sum_before, sum_in_memory_of_sums, sum_of_sums_in_memory, sum_of_largest]


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 16])
@pytest.mark.parametrize("function", SUMS, ids=lambda f: f.__name__)
def test_running_sums_of_running_sums(function, width: int | None) -> None:
    compiled = auto(function, width=width)
    for n in (0, 1, 2, 3, 17, 64, 301):
        x = np.random.default_rng(n).integers(-5, 6, n)
        agree(compiled, x, x[::-1].copy())
    assert says(compiled, "running sums")


def test_changes_are_kept() -> None:
    compiled = auto(changes)
    for n in SIZES:
        agree(compiled, np.random.default_rng(n).integers(0, 3, n), np.zeros(n, np.int64))


def test_a_value_that_a_store_may_change_is_not_read_earlier() -> None:
    def behind_the_store(x, y):
        last = 0
        for i in range(1, x.size):
            x[i - 1] = last
            last = x[i - 1] + y[i]
        return last

    compiled = auto(behind_the_store)
    for n in SIZES:
        x = np.random.default_rng(n).integers(-5, 6, n)
        agree(compiled, x, x[::-1].copy())
        agree(compiled, x, x)

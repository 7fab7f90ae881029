"""`weft.jit` and `weft.prange`: reductions, conditions, nesting, refusals."""

from typing import NamedTuple

import numpy as np
import pytest

import weft
from pairs import WHOLE
from weft import cuda, prange
from weft.errors import SignatureError, UnsupportedError

SIZES = (0, 1, 15, 16, 17, 1000, 70_000)


def data(n: int, dtype=np.float64) -> np.ndarray:
    rng = np.random.default_rng(n)
    return (
        rng.random(n).astype(dtype) if np.dtype(dtype).kind == "f" else rng.integers(1, 100, n).astype(dtype)
    )


@weft.jit
def sums(a):
    plain, conditional, less = 0.0, 0.0, 100.0
    for i in prange(a.shape[0]):
        plain += a[i]
        if a[i] > 0.5:
            conditional += a[i] * a[i]
        else:
            less -= a[i]
    return plain, conditional, less


@pytest.mark.parametrize("n", SIZES)
def test_sums(n: int) -> None:
    a = data(n)
    high, low = a[a > 0.5], a[a <= 0.5]
    assert np.allclose(sums(a), (a.sum(), (high * high).sum(), 100 - low.sum()))


def test_a_float_sum_is_the_same_for_any_number_of_threads() -> None:
    a, before = data(100_003, np.float32), weft.get_num_threads()
    try:
        results = set()
        for threads in (1, 2, 3, 8):
            weft.set_num_threads(threads)
            results |= {sums(a) for _ in range(5)}
        assert len(results) == 1
    finally:
        weft.set_num_threads(before)


@weft.jit
def extremes(a):
    low, high = a[0], a[0]
    least, most = a[0], a[0]
    for i in prange(a.shape[0]):
        low = min(low, a[i])
        high = max(high, a[i])
        if a[i] < least:
            least = a[i]
        if a[i] > most and a[i] < 50:
            most = a[i]
    return low, high, least, most


NUMBERS = [np.float32, np.float64, np.int8, np.int32, np.uint16, np.int64]
# Each type with every other size, each size with every other type.
EXTREMES = [
    (n, t) for k, n in enumerate(SIZES[1:]) for m, t in enumerate(NUMBERS) if WHOLE or (k + m) % 2 == 0
]


@pytest.mark.parametrize(("n", "dtype"), EXTREMES)
def test_minimum_and_maximum(n: int, dtype) -> None:
    a = data(n, dtype)
    below = a[a < 50]
    most = max(a[0], below.max()) if len(below) else a[0]
    assert extremes(a) == (a.min(), a.max(), a.min(), most)


@weft.jit
def extremes_beside_nan(a, start):
    low, high, least, most, lower, upper = start, start, start, start, start, start
    for i in prange(a.shape[0]):
        low = min(low, a[i])
        high = max(high, a[i])
        least = np.minimum(least, a[i])
        most = np.maximum(a[i], most)
        lower = np.fmin(lower, a[i])
        upper = np.fmax(a[i], upper)
    return low, high, least, most, lower, upper


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_beside_nan_are_those_of_a_loop_in_order(dtype) -> None:
    nan, some, none = np.nan, data(100, dtype), np.full(100, np.nan, dtype)
    mixed = some.copy()
    mixed[::7] = nan
    low, high, first = np.nanmin(mixed), np.nanmax(mixed), dtype(0.5)
    nan_wins = (nan, nan)
    for a, start, wanted in (
        (mixed, first, (min(low, first), max(high, first), *nan_wins, min(low, first), max(high, first))),
        (mixed, dtype(nan), (*nan_wins, *nan_wins, low, high)),
        (none, dtype(nan), (*nan_wins, *nan_wins, *nan_wins)),
        (none, first, (first, first, *nan_wins, first, first)),
    ):
        np.testing.assert_array_equal(extremes_beside_nan(a, start), np.array(wanted, dtype))


@pytest.mark.parametrize("n", SIZES[1:])
def test_extremes_with_fastmath(n: int) -> None:
    fast = weft.jit(fastmath=True)(extremes_beside_nan.py_func)
    a = -1 - data(n)
    least, most = a.min(), a.max()
    assert fast(a, a[0]) == (least, most, least, most, least, most)


def test_zeros_of_extremes_have_their_sign() -> None:
    zeros = np.zeros(100)
    zeros[1::2] = -0.0
    for a in (zeros, -zeros):
        _, _, least, most, lower, upper = extremes_beside_nan(a, a[0])
        assert np.signbit([least, most, lower, upper]).tolist() == [True, False, True, False]


@weft.jit
def bits(a):
    every, some, odd = a[0] | ~a[0], a[0] & 0, a[0] & 0
    product = a[0] * 0 + 1
    for i in prange(a.shape[0]):
        every &= a[i]
        odd ^= a[i]
        if a[i] > 3:
            some |= a[i]
        if a[i] < 3:
            product *= a[i]
    return every, some, odd, product


@pytest.mark.spread
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("n", SIZES[1:])
def test_bits_and_products(n: int, dtype) -> None:
    a = data(n, dtype)
    wanted = (
        np.bitwise_and.reduce(a),
        np.bitwise_or.reduce(a[a > 3]) if (a > 3).any() else 0,
        np.bitwise_xor.reduce(a),
    )
    every, some, odd, product = bits(a)
    assert (every, some, odd) == tuple(int(w) for w in wanted)
    count = int((a == 2).sum())
    assert product == (
        int(np.array(1 << min(count, 70)).astype(object))
        if count < np.dtype(dtype).itemsize * 8 - 1
        else product
    )


@weft.jit
def truths(a):
    found, all_small = False, True
    count = 0
    for i in prange(a.shape[0]):
        if a[i] > 90:
            found = True
        all_small = all_small and a[i] < 99
        if a[i] % 2 == 1:
            count += 1
    return found, all_small, count


@pytest.mark.parametrize("n", SIZES)
def test_truth_values_and_counts(n: int) -> None:
    a = data(n, np.int32)
    assert truths(a) == ((a > 90).any(), (a < 99).all(), (a % 2 == 1).sum())


@weft.jit
def inner_loops(a, out):
    total = 0.0
    for i in prange(a.shape[0]):
        x, steps = a[i], 0
        while x > 0.01 and steps < 40:
            x = x * 0.7
            steps += 1
            if steps == 13:
                continue
            total += x
        out[i] = steps
    return total


@pytest.mark.parametrize("n", SIZES[:-1])
def test_divergent_loops_inside(n: int) -> None:
    a = data(n)
    out, wanted = np.zeros(n, np.int64), np.zeros(n, np.int64)
    assert np.isclose(inner_loops(a, out), inner_loops.py_func(a, wanted))
    assert np.array_equal(out, wanted)


@weft.jit
def rectangle(a):
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            a[i, j] = 10 * i + j


@weft.jit
def rows_in_order(a):
    total = 0.0
    for step in range(3):
        for j in prange(a.shape[1]):
            a[step + 1, j] = a[step, j] + 1
        for j in prange(a.shape[1]):
            total += a[step + 1, j]
    return total


def test_nested_ranges_and_loops_in_loops() -> None:
    a = np.zeros((37, 21))
    rectangle(a)
    assert np.array_equal(a, 10 * np.arange(37)[:, None] + np.arange(21))
    b, c = np.zeros((4, 50)), np.zeros((4, 50))
    assert rows_in_order(b) == rows_in_order.py_func(c) and np.array_equal(b, c)


@weft.jit
def steps(a, first, last, step):
    for i in prange(first, last, step):
        a[i] = i
    return i if last > first else -1


@weft.jit
def downwards(a):
    for i in prange(len(a) - 1, -1, -3):
        a[i] = i


def test_ranges_with_steps() -> None:
    for n in (0, 1, 10, 100):
        a, b = np.zeros(n), np.zeros(n)
        downwards(a)
        downwards.py_func(b)
        assert np.array_equal(a, b)


@weft.jit
def helper(x):
    return x * x + 1


@weft.jit
def calls(a, out):
    for i in prange(a.shape[0]):
        out[i] = helper(a[i])


@weft.jit
def no_loop(x, y):
    return helper(x) + y, x > y, 3


def test_functions_call_each_other_and_return_tuples() -> None:
    a, out = data(100), np.zeros(100)
    assert calls(a, out) is None and np.array_equal(out, a * a + 1)
    assert no_loop(2.0, 1.0) == (6.0, True, 3)
    assert no_loop(2, 1) == (6, True, 3) and isinstance(no_loop(2, 1)[0], int)


def refusal(function, *args) -> str:
    with pytest.raises(UnsupportedError) as caught:
        weft.jit(function)(*args)
    return f"{caught.value.span.line - function.__code__.co_firstlineno}: {caught.value.message}"


def test_what_is_carried_from_iteration_to_iteration_is_refused_at_its_line() -> None:
    def recurrence(a):
        last = 0.0
        for i in prange(a.shape[0]):
            a[i] = a[i] - last
            last = a[i]

    def shifted(a):
        for i in prange(1, a.shape[0]):
            a[i] = a[i - 1] + 1

    def ahead(a):
        for i in prange(a.shape[0] - 2):
            a[i + 2] = a[i] + 1

    def one_place(a):
        for i in prange(a.shape[0]):
            a[0] = i

    def leaves(a):
        for i in prange(a.shape[0]):
            if a[i] > 0.5:
                break
            a[i] = 1

    def read_behind(a):
        x = 0.0
        for i in prange(a.shape[0]):
            x = a[i] * 2
        return x

    a = data(50)
    assert "3: this prange cannot run in parallel: a value that iterations hand on is used" in refusal(
        recurrence, a
    )
    assert "2: this prange cannot run in parallel: the element written here is read 1 iteration" in refusal(
        shifted, a
    )
    assert "2: this prange cannot run in parallel: the element written here is read 2 iterations" in refusal(
        ahead, a
    )
    assert "2: this prange cannot run in parallel: each iteration writes the same element" in refusal(
        one_place, a
    )
    assert "this prange cannot run in parallel: the loop is left in more than one way" in refusal(leaves, a)
    with pytest.raises(UnsupportedError) as caught:
        weft.jit(leaves)(a)
    assert "in order" in (caught.value.hint or "")
    assert "is set anew in each iteration and read behind the loop" in refusal(read_behind, a)


def test_if_legal_runs_in_order_what_is_not_found_parallel() -> None:
    @weft.jit(parallel="if-legal")
    def shifted(a):
        for i in prange(1, a.shape[0]):
            a[i] = a[i - 1] + 1

    a = np.zeros(100)
    shifted(a)
    assert np.array_equal(a, np.arange(100))
    assert "the element written here is read 1 iteration" in str(shifted.remarks[0])


def test_not_parallel_runs_prange_as_range_on_the_thread_that_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(a):
        for i in prange(1, a.shape[0]):
            a[i] = a[i - 1] + 1

    def last(a):
        found = 0.0
        for i in prange(a.shape[0]):
            found = a[i]
        return found

    def total(a):
        s = 0.0
        for i in prange(a.shape[0]):
            s += a[i]
        return s

    def scaled(a):
        return a * 2 + 1

    def counted(a):
        h = np.zeros(4, np.int64)
        for i in prange(a.shape[0]):
            h[int(a[i]) % 4] += 1
        return h

    def asked_for_threads(*_: object) -> None:
        raise AssertionError("the pool was asked for")

    monkeypatch.setattr("weft.loops.compiled.prepare_pool", asked_for_threads)
    a = np.random.default_rng(0).random(40_000) * 1e6
    for function in (shifted, last, total, scaled, counted):
        expected_array, found_array = a.copy(), a.copy()
        expected = function(expected_array)
        compiled = weft.jit(parallel=False)(function)
        for _ in range(3):
            found_array[:] = a
            found = compiled(found_array)
            assert np.array_equal(found, expected) if expected is not None else found is None
            assert found_array.tobytes() == expected_array.tobytes()
        assert "all cores" not in " ".join(map(str, compiled.remarks))
        assert "weft_pool_launch" not in compiled.inspect_llvm()

    @weft.jit(parallel=False, fastmath=True)
    def fast_total(a):
        s = 0.0
        for i in prange(a.shape[0]):
            s += a[i]
        return s

    assert fast_total(a) == pytest.approx(a.sum())
    assert "iterations at a time on the thread that calls" in str(fast_total.remarks[0])


def test_what_belongs_to_kernels_is_refused_at_its_line() -> None:
    def exchanged(a):
        for i in prange(a.shape[0]):
            a[i] = cuda.shfl_xor_sync(0xFFFFFFFF, a[i], 1)

    def placed(a):
        a[0] = cuda.threadIdx.x

    assert "2: thread ids, barriers, shared memory and warp functions are for kernels only" in refusal(
        exchanged, np.zeros(8)
    )
    assert "1: thread ids" in refusal(placed, np.zeros(8))


@weft.jit(boscc="on", width=8)
def any_step(a, first, *, last=50, step=1):
    total = 0
    for i in prange(first, last, step):
        if a[i] > 0.5:
            a[i] = i
        total += i
    return total


@pytest.mark.parametrize(
    "bounds", [(0, 50, 3), (49, -1, -4), (40, 3, -1), (3, 40, -1), (7, 7, 2), (0, 50, 100)]
)
def test_steps_that_are_run_time_values_and_arguments_by_name(bounds) -> None:
    first, last, step = bounds
    a, b = data(50), data(50)
    result = any_step(a, step=step, first=first, last=last)
    assert result == any_step.py_func(b, first, last=last, step=step) and np.array_equal(a, b)


def test_defaults_and_missing_arguments() -> None:
    a, b = data(50), data(50)
    assert any_step(a, 2) == any_step.py_func(b, 2) and np.array_equal(a, b)
    with pytest.raises(SignatureError, match="missing a required argument: 'first'"):
        any_step(a)
    with pytest.raises(SignatureError, match="boscc='never'"):
        weft.jit(boscc="never")


class Bounds(NamedTuple):
    low: float
    high: float


@weft.jit
def bounds_of(a, before):
    low, high = before.low, before.high
    for i in prange(a.size):
        low, high = min(low, a[i]), max(high, a[i])
    return Bounds(low, high), (Bounds(high, low),)


def test_named_tuples_come_back_as_such() -> None:
    a = data(50)
    result, (swapped,) = bounds_of(a, Bounds(2.0, -2.0))
    assert type(result) is Bounds and result == Bounds(a.min(), a.max()) and swapped.low == result.high


@weft.jit
def fibonacci(n):
    if n < 2:
        return n, 1.5 * n
    (a, b), (c, d) = fibonacci(n - 1), fibonacci(n - 2)
    return a + c, b + d


@weft.jit
def tabled(numbers, halves):
    for i in prange(numbers.size):
        numbers[i], halves[i] = fibonacci(i % 7)


def test_each_iteration_has_the_results_of_its_own_calls() -> None:
    numbers, halves = np.zeros(100, np.int64), np.zeros(100)
    tabled(numbers, halves)
    wanted = np.array([fibonacci.py_func(i % 7) for i in range(100)])
    assert np.array_equal(numbers, wanted[:, 0]) and np.array_equal(halves, wanted[:, 1])


@weft.jit
def wandered(seeds, steps, places):
    for i in prange(seeds.size):
        state = seeds[i]
        place = 0
        for _ in range(steps):
            state = state * np.uint32(1664525) + np.uint32(1013904223)
            way = state >> np.uint32(30)
            if way == 0:
                place += 1
            elif way == 1:
                place -= 1
            elif way == 2:
                place += 100
            else:
                place -= 100
        places[i] = place


def test_choices_that_have_all_cases() -> None:
    """LLVM makes a switch of them that has no other way out."""
    seeds = np.arange(70, dtype=np.uint32) * 977
    got, wanted = np.zeros(70, np.int64), np.zeros(70, np.int64)
    wandered(seeds, 20, got)
    with np.errstate(over="ignore"):
        wandered.py_func(seeds, 20, wanted)
    assert (got == wanted).all()


@weft.jit
def halves(a):
    for i in prange(a.shape[0]):
        a[i] *= 0.5


def test_a_loop_is_compiled_once() -> None:
    """It is not inlined where there are no threads, too."""
    halves(np.ones(3))
    (text,) = halves.inspect_llvm().values()
    (body,) = (part for part in text.split("define ")[1:] if "fmul" in part)
    assert "halves.loop1.grains(" in body.splitlines()[0]

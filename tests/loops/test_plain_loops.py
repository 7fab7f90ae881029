"""Loops over `range` that LLVM would leave in order: which run in lanes, and that they compute what they did."""

import numpy as np
import pytest

import weft
from weft import prange
from weft.machine.host import chosen

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
DRAW = np.random.default_rng(23)

lanes_pay = pytest.mark.skipif(
    chosen().arch == "x86_64" and chosen().isa.vector_bits < 256,
    reason="registers of two doubles: what is divided or limited stays in order",
)


def integers(a, o):
    for i in range(a.size):
        o[i] = np.int32(a[i])


def quotients(a, b, o):
    for i in range(a.size):
        o[i] = a[i] // b[i]


def shifted_quotients(a, b, o):
    for i in range(1, a.size):
        o[i] = o[i - 1] // b[i]


def saturated(a, b, o):
    for i in range(a.size):
        o[i] = min(int(a[i]) + int(b[i]), 255)


def looked_at(a, b, o):
    for i in range(a.size):
        v = a[i]
        if v > 100:
            v = b[i]
        o[i] = v


def common_divisors(a, b, o):
    for i in range(a.size):
        x, y = a[i], b[i]
        while y:
            x, y = y, x % y
        o[i] = x


def total_of_remainders(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] % b[i]
    return total


def whole_total(a, b):
    total = 0
    for i in range(a.size):
        total += a[i] % b[i]
    return total


def product(a, b, o):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            o[i, j] = total


def row_sums(a, o):
    for i in range(a.shape[0]):
        total = 0.0
        for k in range(a.shape[1]):
            total = total * 0.5 + a[i, k]
        o[i] = total


def sums_of_others(a, o):
    for i in range(a.shape[0]):
        total = 0.0
        for k in range(a.shape[1] // 2):
            total = total * 0.5 + a[i, 2 * k]
        o[i] = total


def clamped(a, o):
    for i in range(a.size):
        o[i] = a[max(i - 2, 0)] + a[min(i + 2, a.size - 1)]


def small_products(a, o):
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += a[i, k] * a[k, j]
            o[i, j] = total


def ranks(a, w, o):
    for i in range(a.size):
        count = 0
        for k in range(-w, w + 1):
            if i + k >= 0 and i + k < a.size and a[i + k] < a[i]:
                count += 1
        o[i] = count


def distances(a, b, o):
    for i in range(o.size):
        row = np.empty(9, np.int32)
        for j in range(9):
            row[j] = j
        for p in range(8):
            diagonal = row[0]
            row[0] = p + 1
            for q in range(8):
                above = row[q + 1]
                least = min(diagonal + (a[i, p] != b[i, q]), above + 1, row[q] + 1)
                row[q + 1] = least
                diagonal = above
        o[i] = row[8]


def dates(a, o):
    for i in range(a.size):
        o[i] = int(a[i]) // 146097 * 400 + int(a[i]) % 1461


def sines(a, o):
    for i in range(a.size):
        o[i] = np.int32(np.sin(a[i]) * 100)


def in_lanes(function) -> bool:
    return any("iterations at a time" in r.message for r in function.remarks)


def small(type, most=200):
    return DRAW.integers(1, most, 77).astype(type)


def check(function, arguments, **options):
    """The function, whose last argument, or result, is what the function in order makes it."""
    wanted = [a.copy() for a in arguments]
    with np.errstate(all="ignore"):
        value = function(*wanted)
    made = weft.jit(function, **options)
    assert made(*arguments) == value
    for got, want in zip(arguments, wanted, strict=True):
        assert np.array_equal(got, want)
    return made


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (integers, (DRAW.normal(0, 99, 77).astype("f4"), np.zeros(77, "i4"))),
        (quotients, (small("i4"), small("i4"), np.zeros(77, "i4"))),
        (looked_at, (small("u1"), small("u1"), np.zeros(77, "u1"))),
        (common_divisors, (small("i4", 10**6), small("i4"), np.zeros(77, "i4"))),
        (whole_total, (small("i4"), small("i4"))),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_loops_that_llvm_leaves_in_order_run_in_lanes(function, arguments, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    assert in_lanes(check(function, arguments))


def test_nests_that_add_up_in_order_run_in_lanes_along_other_loops() -> None:
    a, b = DRAW.random((13, 40)), DRAW.random((40, 21))
    assert in_lanes(check(product, (a, b, np.zeros((13, 21)))))
    assert in_lanes(check(row_sums, (a, np.zeros(13))))


def test_rows_of_a_thousand_elements_are_gone_through_in_few_lanes(monkeypatch) -> None:
    """Each lane has a line of the nearest cache, which has room for eight in a set, and is met once in strips."""
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    for sums, lanes in ((row_sums, 16), (sums_of_others, 8)):
        made = check(sums, (DRAW.random((40, 40)), np.zeros(40)))
        assert any(f"runs {lanes} iterations at a time" in r.message for r in made.remarks)


def test_lanes_run_along_windows_that_slide() -> None:
    made = check(ranks, (DRAW.random(60), np.int64(3), np.zeros(60, "i4")))
    (line,) = (r.span.line for r in made.remarks if r.span and "iterations at a time" in r.message)
    assert line == ranks.__code__.co_firstlineno + 1


def test_lanes_have_arrays_of_their_own() -> None:
    a, b = DRAW.integers(0, 3, (2, 40, 8)).astype("u1")
    made = check(distances, (a, b, np.zeros(40, "i4")))
    messages = [r.message for r in made.remarks if "iterations at a time" in r.message]
    assert len(messages) == 1


def test_small_numbers_are_divided_by_constants_in_lanes() -> None:
    assert in_lanes(check(dates, (small("i4", 10**6) - 500000, np.zeros(77, "i4"))))


@lanes_pay
def test_places_that_are_limited_run_in_lanes() -> None:
    assert in_lanes(check(clamped, (DRAW.random(200), np.zeros(200))))


def test_nests_of_few_iterations_are_written_out() -> None:
    assert not in_lanes(check(small_products, (DRAW.random((3, 3)), np.zeros((3, 3)))))


@pytest.mark.parametrize("level", LEVELS)
def test_bytes_that_are_limited_have_the_bits_that_they_need(level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    made = weft.jit(saturated)
    a, b, o = small("u1"), small("u1"), np.zeros(77, "u1")
    made(a, b, o)
    assert in_lanes(made)
    assert (o == np.minimum(a.astype(int) + b, 255)).all()


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
def test_few_iterations_are_all_run(count) -> None:
    a, b, o = small("i4")[:count], small("i4")[:count], np.zeros(count, "i4")
    weft.jit(quotients)(a, b, o)
    assert (o == a // b).all()


def test_what_iterations_hand_on_keeps_its_order() -> None:
    o = np.full(77, 10**8, "i4")
    assert not in_lanes(check(shifted_quotients, (small("i4"), small("i4", 3), o)))


@lanes_pay
def test_arrays_that_overlap_keep_their_order() -> None:
    made = weft.jit(quotients)
    plain = small("i4", 10**8)
    lanes = plain.copy()
    b = small("i4", 4)
    quotients(plain[:-1], b[:-1], plain[1:])
    made(lanes[:-1], b[:-1], lanes[1:])
    assert in_lanes(made)
    assert (plain == lanes).all()


def test_float_sums_keep_their_order_without_fastmath() -> None:
    a, b = DRAW.random(77) * 1e9, DRAW.random(77)
    assert not in_lanes(check(total_of_remainders, (a, b)))
    quick = weft.jit(total_of_remainders, fastmath=True)
    assert np.isclose(quick(a, b), total_of_remainders(a, b))
    assert in_lanes(quick)


def test_mathematics_stays_exact_without_fastmath() -> None:
    made = weft.jit(sines)
    a, o = DRAW.random(77), np.zeros(77, "i4")
    made(a, o)
    assert not in_lanes(made)
    quick = weft.jit(sines, fastmath=True)
    quick(a, o)
    assert in_lanes(quick)


def test_the_pass_can_be_left_out() -> None:
    made = weft.jit(quotients, without=("plain-loops",))
    made(small("i4"), small("i4"), np.zeros(77, "i4"))
    assert not in_lanes(made)


def test_exceptions_are_raised_where_they_were() -> None:
    @weft.jit(debug=True)
    def divide(a, b, o):
        for i in range(a.size):
            o[i] = a[i] // b[i]

    a, b, o = small("i4"), small("i4"), np.zeros(77, "i4")
    b[40] = 0
    with pytest.raises(ZeroDivisionError):
        divide(a, b, o)
    assert (o[:40] == a[:40] // b[:40]).all()
    assert not o[40:].any()


def test_recursive_functions_keep_their_loops() -> None:
    """Loops over `prange` call them in lanes."""

    @weft.jit
    def total(b, k):
        if k == 0:
            return 0
        found = 0
        for j in range(b.size):
            found += k // b[j]
        return found + total(b, k - 1)

    @weft.jit
    def totals(b, o):
        for i in prange(o.size):
            o[i] = total(b, i % 3)

    b, o = np.arange(1, 40), np.zeros(50, "i8")
    totals(b, o)
    assert (o == [sum((k // b).sum() for k in range(1, i % 3 + 1)) for i in range(50)]).all()


def two_nests(a, b):
    left, right = 0, 0
    for i in range(a.size):
        left += a[i] % b[i]
    for i in range(a.size):
        right += b[i] % (a[i] + 1)
    return left, right


@lanes_pay
def test_nests_beyond_some_are_functions_of_their_own(monkeypatch):
    a, b = DRAW.integers(0, 1000, 77).astype(np.int32), DRAW.integers(1, 99, 77).astype(np.int32)
    texts: list[str] = []
    for most in (24, 1):
        monkeypatch.setattr("weft.passes.loops.MOST_INLINED", most)
        monkeypatch.setenv("WEFT_CACHE", "0")
        made = weft.jit(two_nests)
        assert made(a, b) == two_nests(a, b)
        texts += made.inspect_llvm().values()
    one, several = (text.count(".chunk(") for text in texts)
    assert one == 0 and several >= 4

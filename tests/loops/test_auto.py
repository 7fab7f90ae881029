"""``parallel="auto"``: plain loops that are parallel run so, behind tests, and give what Python gives."""

import functools
import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import weft
from weft.analysis.symbolic import integer_sets
from weft.diag.errors import UnsupportedError
from weft.diag.remarks import RemarkKind

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

SIZES = (0, 1, 100)


def auto(function, **options):
    return weft.jit(function, parallel="auto", **options)


once = functools.cache(auto)
"""The same for tests of the same function with several arguments."""


def agree(compiled, *args) -> None:
    """What a function does to arrays, and what it returns, is what Python does, to the last bit."""
    memory = {id(root(a)): root(a).copy() for a in args if isinstance(a, np.ndarray)}
    got = compiled(*args)
    after = [root(a).copy() for a in args if isinstance(a, np.ndarray)]
    for a in args:
        if isinstance(a, np.ndarray):
            root(a)[...] = memory[id(root(a))]
    wanted = compiled.py_func(*args)
    assert got == wanted or (got is None and wanted is None)
    for a, b in zip((a for a in args if isinstance(a, np.ndarray)), after, strict=True):
        np.testing.assert_array_equal(root(a), b)


def root(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def runs_in_lanes(compiled) -> int:
    return sum(r.kind is RemarkKind.VECTORIZED for r in compiled.remarks)


def axpy(a, x, y):
    for i in range(x.size):
        y[i] += a * x[i]


def multiply(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def relax(a, b, times):
    for _ in range(times):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def accumulate(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def backwards(x, y):
    for i in range(x.size - 1, -1, -1):
        y[i] = x[i] * 2


def total(x):
    s = 0
    for i in range(x.size):
        s += x[i]
    return s


def sums(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s


def prefix(x):
    for i in range(1, x.size):
        x[i] += x[i - 1]


def shifted(x, k):
    for i in range(x.size - k):
        x[i] = x[i + k] + 1


def waves(x, y):
    for i in range(x.size):
        y[i] = math.sin(x[i])


@pytest.mark.parametrize("n", SIZES)
def test_arrays(n: int) -> None:
    compiled = once(axpy)
    agree(compiled, 3.0, np.arange(n) * 0.5, np.ones(n))
    assert runs_in_lanes(compiled) == 1


@pytest.mark.parametrize("shift", [-33, -2, -1, 0, 1, 2, 33])
def test_overlapping_arrays(shift: int) -> None:
    memory = np.random.default_rng(1).random(200)
    agree(once(axpy), 3.0, memory[50:100], memory[50 + shift : 100 + shift])


@pytest.mark.parametrize("step", [-3, -1, 2])
def test_strided_arrays(step: int) -> None:
    a, b = np.random.default_rng(1).random((2, 90))
    agree(once(axpy), 3.0, a[::step], b[::step])
    agree(once(axpy), 3.0, a[::step], b[:90:3] if step == -3 else b[::step][::-1])


def test_elements_that_are_all_the_same() -> None:
    one = np.ones(1)
    agree(auto(axpy), 3.0, np.arange(50.0), np.lib.stride_tricks.as_strided(one, (50,), (0,)))


@pytest.mark.parametrize("n", [0, 11])
def test_nests(n: int) -> None:
    a, b = np.random.default_rng(n).random((2, n, n + 3))
    compiled = once(multiply)
    agree(compiled, a, b.T.copy(), np.zeros((n, n)))
    assert runs_in_lanes(compiled) == 1
    assert any("iterations of both loops share what they load" in r.message for r in compiled.remarks)
    compiled = once(relax, width=4)
    agree(compiled, a, b, 2)
    assert runs_in_lanes(compiled) == 2


def one_picked(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if i == 5:
                b[0] += a[i, j]


def test_an_element_that_one_iteration_updates_is_left_alone_by_others() -> None:
    # Loaded and stored back by all, it would lose what that one adds.
    compiled = auto(one_picked)
    a, b = np.random.default_rng(5).random((400, 300)), np.zeros(1)
    for _ in range(5):
        agree(compiled, a, b)


@pytest.mark.parametrize("inner", [0, 5])
def test_elements_that_an_inner_loop_updates(inner: int) -> None:
    # They are in a register only if that loop runs, or else they might be none.
    draw = np.random.default_rng(inner)
    a, b, c = draw.random((9, inner)), draw.random((inner, 10)), draw.random((9, 10))
    agree(once(accumulate, width=4), a, b, c)


def test_elements_that_an_inner_loop_updates_and_reads_elsewhere() -> None:
    memory = np.random.default_rng(1).random((20, 20)) * 0.1
    agree(auto(accumulate, width=4), memory[2:9, :7].copy(), memory[:7, :7].copy(), memory[3:10, :7].copy())
    square = np.ascontiguousarray(memory[:8, :8])
    agree(auto(accumulate, width=4), square, square, square)


@pytest.mark.parametrize("n", SIZES)
def test_counting_down(n: int) -> None:
    compiled = once(backwards)
    agree(compiled, np.arange(n), np.zeros(n, np.int64))
    assert runs_in_lanes(compiled) == 1


@pytest.mark.parametrize("n", SIZES)
def test_sums(n: int) -> None:
    compiled = once(total)
    agree(compiled, np.arange(n) ** 3)
    assert runs_in_lanes(compiled) == 1


def test_float_sums_keep_their_order() -> None:
    x = np.random.default_rng(3).random(1001)
    strict, fast = auto(sums), auto(sums, fastmath=True)
    agree(strict, x)
    assert runs_in_lanes(strict) == 0
    np.testing.assert_allclose(fast(x), x.sum(), rtol=1e-12)
    assert runs_in_lanes(fast) == 1


def test_what_is_carried_stays_in_order() -> None:
    compiled = auto(prefix)
    agree(compiled, np.random.default_rng(3).random(100))
    assert runs_in_lanes(compiled) == 0


def ahead(x):
    for i in range(x.size - 1):
        x[i] = x[i + 1] * 2 + 1


def ahead_by_stores(x, y):
    for i in range(1, x.size):
        x[i] = y[i] + 1
        y[i] = x[i - 1] * 2


def eight_behind(x):
    for i in range(8, x.size):
        x[i] = x[i - 8] * 0.5 + 1


def scattered(x, at):
    for i in range(at.size):
        x[at[i]] = i


@pytest.mark.spread
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", [None, 4])
def test_lanes_in_lock_step(n: int, width: int | None) -> None:
    draw = np.random.default_rng(n)
    for function, args in (
        (ahead, (draw.random(n),)),
        (ahead_by_stores, (draw.random(n), draw.random(n))),
        (eight_behind, (draw.random(n),)),
    ):
        compiled = auto(function, width=width)
        agree(compiled, *args)
        assert runs_in_lanes(compiled) == 1, function


def test_elements_that_several_lanes_store() -> None:
    compiled = auto(scattered, width=8)
    agree(compiled, np.zeros(9), np.random.default_rng(3).integers(0, 9, 100))
    agree(compiled, np.zeros(9), np.zeros(100, np.int64))


@pytest.mark.parametrize("k", [0, 1, 5, 99])
def test_a_distance_that_is_not_known(k: int) -> None:
    agree(once(shifted), np.arange(100.0), k)


def test_math_functions_are_those_of_the_loop_in_order() -> None:
    x = np.random.default_rng(3).random(100) * 100
    compiled, scalar = auto(waves), weft.jit(waves)
    got, wanted = np.zeros(100), np.zeros(100)
    compiled(x, got)
    scalar(x, wanted)
    assert runs_in_lanes(compiled) == 1
    np.testing.assert_array_equal(got, wanted)


def test_remarks_say_what_is_tested_and_what_is_in_the_way() -> None:
    compiled = auto(relax)
    compiled(np.ones((4, 4)), np.ones((4, 4)), 1)
    texts = [r.message for r in compiled.remarks]
    assert "the iterations of this loop are independent" in texts
    assert any(t.startswith("this loop runs in order: line") for t in texts)
    same = np.ones((4, 4))
    compiled(same, same, 1)
    texts = [r.message for r in compiled.remarks]
    assert any("the iterations of this loop are independent if a and b do not overlap" in t for t in texts)


@pytest.fixture
def no_islpy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if islpy were not installed."""
    monkeypatch.setitem(sys.modules, "islpy", None)
    known = (integer_sets.isl, integer_sets.has_isl, integer_sets._context)
    for function in known:
        function.cache_clear()
    yield
    for function in known:
        function.cache_clear()


@pytest.mark.usefixtures("no_islpy")
def test_without_the_library_simpler_tests_decide() -> None:
    def smoothed(x, y):
        for i in range(1, x.size - 1):
            y[i] = x[i - 1] + x[i + 1]

    def product(a, b, c):
        for k in range(a.shape[1]):
            for i in range(c.shape[0]):
                for j in range(c.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    def recurrence(x):
        for i in range(1, x.size):
            x[i] = x[i - 1] * 2

    draw = np.random.default_rng(1)
    compiled = auto(smoothed)
    agree(compiled, draw.random(50), np.zeros(50))
    assert runs_in_lanes(compiled)
    assert any("islpy is not installed" in r.message for r in compiled.remarks)
    compiled = auto(product)
    agree(compiled, draw.random((7, 8)), draw.random((8, 9)), draw.random((7, 9)))
    assert runs_in_lanes(compiled)
    compiled = auto(recurrence)
    agree(compiled, draw.random(9))
    assert not runs_in_lanes(compiled)


@pytest.mark.usefixtures("no_islpy")
def test_reports_need_the_library() -> None:
    with pytest.raises(UnsupportedError, match=r"islpy is not installed(.|\n)*pip install 'weft\[loops\]'"):
        weft.loops.analyze(axpy, 2.0, np.ones(3), np.ones(3))


def test_totals_of_loops_in_lanes_belong_to_each_iteration_around_them() -> None:
    """What a loop inside leaves its total in goes with the body of the loop that all cores share."""

    def normalized(x, y):
        for i in range(x.shape[0]):
            most = x[i, 0]
            for j in range(x.shape[1]):
                most = max(most, x[i, j])
            total = np.int64(0)
            for j in range(x.shape[1]):
                y[i, j] = most - x[i, j]
                total += y[i, j]
            for j in range(x.shape[1]):
                y[i, j] += total

    x = np.random.default_rng(4).integers(0, 99, (9, 150))
    got, wanted = np.zeros_like(x), np.zeros_like(x)
    normalized(x, wanted)
    weft.jit(normalized, parallel="auto")(x, got)
    assert (got == wanted).all()


def sums_above(x, y, out):
    for i in range(x.size):
        total = x[i] + y[i]
        if total > 100:
            out[i] = total


def sums_until(x, y):
    for i in range(x.size):
        total = x[i] * 3 + y[i]
        if total < x[i]:
            return i
    return -1


@pytest.mark.parametrize("function", [sums_above, sums_until])
def test_no_verdict_rests_on_data_that_do_not_wrap_around(function):
    compiled = auto(function)
    rng = np.random.default_rng(3)
    near = np.int64(2**63 - 1) - rng.integers(0, 50, 300)
    with np.errstate(over="ignore"):
        for x, y in ((near, rng.integers(0, 100, 300)), (rng.integers(0, 300, 300), near)):
            arrays = [x, y, np.zeros_like(x)]
            agree(compiled, *arrays[: function.__code__.co_argcount])
    assert not any("wrap" in r.message for r in compiled.remarks)

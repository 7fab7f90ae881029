"""Arrays that overlap get code of their own, and functions do what Python does."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import prange
from weft.loops.jit_function import JitFunction
from weft.options import Overlap

FACTOR = np.arange(8.0)


@pytest.fixture
def through_python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions whose calls come through Python."""
    seen: list[str] = []
    # Calls that are checked go through Python.
    monkeypatch.setenv("WEFT_CHECK", "0")
    plain = JitFunction._call

    def noted(self: JitFunction, *args: object, **keywords: object) -> object:
        seen.append(self.py_func.__name__)
        return plain(self, *args, **keywords)

    # Machine code takes calls over at the second one of a process.
    known = weft.jit(lambda x: x)
    known(1), known(1)
    monkeypatch.setattr(JitFunction, "_call", noted)
    return seen


def add(a, b, out):
    for i in prange(a.size):
        out[i] = 2 * a[i] + b[i]


def carry(a, out):
    for i in range(1, out.size):
        out[i] = a[i - 1] + out[i - 1]


def test_a_call_with_arrays_that_overlap_gets_code_of_its_own(through_python: list[str]) -> None:
    made = weft.jit(carry)
    x, out = np.arange(1.0, 9.0), np.zeros(8)
    for _ in range(2):
        out[:] = 0
        made(x, out)
        assert out.tolist() == [0, 1, 3, 6, 10, 15, 21, 28]
    assert through_python == ["carry"] and not made._of_others
    for _ in range(2):
        y = np.arange(1.0, 9.0)
        made(y, y)
        assert y.tolist() == [1, 2, 4, 8, 16, 32, 64, 128]
    # Machine code makes the second call of either kind.
    assert through_python == ["carry"] * 2 and len(made._of_others) == 1
    made(x, out)
    assert len(through_python) == 2 and out[2] == 3


def test_arrays_that_are_only_read_may_be_one(through_python: list[str]) -> None:
    made = weft.jit(add)
    x, out = np.arange(8.0), np.zeros(8)
    for _ in range(2):
        made(x, x, out)
        made(x[1:], x[:-1], out)
        assert out.tolist() == [2, 5, 8, 11, 14, 17, 20, 21]
    assert through_python == ["add"] and not made._of_others
    (code,) = made.overloads.values()
    assert code.written == (2,)


def rows(square):
    return {
        "same": (square[0], square[0]),
        "part": (square[0][:6], square[0][3:]),
        "turned": (square[0], square[0][::-1]),
        "rows and a column": (square[1], square[:, 1]),
        "apart by steps": (square[0][::2], square[0][1::2]),
        "inside": (square[1], square.reshape(-1)[4:20]),
        "empty": (square[0][3:3], square[0][3:3]),
        "one row and the next": (square[0], square[1]),
    }


@pytest.mark.parametrize("name", list(rows(np.zeros((8, 8)))))
@pytest.mark.parametrize("function", [carry, lambda a, out: carry(out, a)], ids=["first", "second"])
def test_overlapping_views_hold_what_python_leaves(name: str, function: Callable[..., None]) -> None:
    made = weft.jit(carry)
    for _ in range(3):
        squares = [np.arange(64.0).reshape(8, 8) for _ in range(2)]
        for square, run in zip(squares, (made, carry), strict=True):
            a, out = rows(square)[name]
            if out.size <= a.size + 1:
                run(a, out)
        np.testing.assert_array_equal(*squares)


@weft.jit(parallel="auto")
def smooth(a, weights, out):
    for i in range(1, out.size - 1):
        out[i] = weights[0] * a[i - 1] + weights[1] * a[i] + weights[2] * a[i + 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(3, 12), st.sampled_from([1, 2, -1])), min_size=3, max_size=3
    )
)
@settings(max_examples=40, deadline=None)
def test_views_of_one_buffer(views: list[tuple[int, int, int]]) -> None:
    buffers = [np.arange(40.0) ** 2 % 17 for _ in range(2)]
    length = min(count for _, count, _ in views)
    for buffer, run in zip(buffers, (smooth, smooth.py_func), strict=True):
        taken = [buffer[first:][::step][:length] for first, _, step in views]
        run(*taken)
    np.testing.assert_array_equal(*buffers)


def test_loops_need_no_tests_of_what_calls_see_to() -> None:
    made = weft.jit(parallel="auto")(smooth.py_func)
    made(np.zeros(8), np.ones(3), np.zeros(8))
    told = [remark.message for remark in made.remarks if "independent" in remark.message]
    assert told and not any("overlap" in message for message in told)
    x = np.zeros(8)
    made(x, np.ones(3), x)
    (other,) = made._of_others.values()
    assert any("do not overlap" in remark.message for remark in other.remarks())
    assert sum("code of their own" in remark.message for remark in made.remarks) == 1


def test_nothing_is_promised_of_memory_that_is_reached_in_other_ways() -> None:
    @weft.jit
    def by_tuple(pair, out):
        for i in range(1, out.size):
            out[i] = pair[0][i - 1] + pair[1][i]

    @weft.jit
    def by_global(a, out):
        for i in range(1, out.size):
            out[i] = a[i - 1] + FACTOR[i]

    x = np.ones(8)
    by_tuple((x, x), x)
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    y = np.ones(8)
    by_global(y, y)
    assert y.tolist() == [1, 2, 4, 7, 11, 16, 22, 29]
    (code,) = by_tuple.overloads.values()
    assert not code.written and not by_tuple._of_others


def test_written_by_a_function_that_is_called() -> None:
    @weft.jit
    def put(out, i, value):
        out[i] = value

    @weft.jit
    def shift(a, b, out):
        for i in range(1, out.size):
            put(out, i, a[i - 1] + b[i])

    x, ones = np.ones(8), np.ones(8)
    shift(x, ones, x)
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    (code,) = shift.overloads.values()
    assert code.written == (2,)


def test_short_rows_and_declared_functions() -> None:
    @weft.jit
    def lengths(points, out):
        for i in prange(points.shape[0]):
            total = 0.0
            for k in range(points.shape[1]):
                total += points[i, k] ** 2
            for k in range(out.shape[1]):
                out[i, k] = total

    points = np.arange(600.0).reshape(300, 2)
    wanted = np.repeat((points**2).sum(1)[:, None], 2, 1)
    out = np.zeros((300, 2))
    lengths(points, out)
    np.testing.assert_array_equal(out, wanted)
    for _ in range(2):
        own = points.copy()
        lengths(own, own)
        np.testing.assert_array_equal(own, wanted)

    declared = weft.jit("void(float64[::1], float64[::1])")(carry)
    x = np.ones(5)
    declared(x, x)
    assert x.tolist() == [1, 2, 4, 8, 16]


def test_measured_functions_and_what_is_returned() -> None:
    @weft.jit(tune="measure")
    def scale(a, out):
        for i in prange(out.size):
            out[i] = 3 * a[i]
        return out

    x, out = np.ones(64), np.zeros(64)
    assert scale(x, out)[5] == 3
    assert scale(x, x)[5] == 3 and x.sum() == 192
    (code,) = scale.overloads.values()
    assert code.options.overlap is Overlap.NONE


def test_loops_that_are_parallel_only_where_arrays_are_apart() -> None:
    @weft.jit(parallel="if-legal")
    def shift(a, out):
        for i in prange(out.size - 1):
            out[i + 1] = a[i] + 1

    x, out = np.arange(300.0), np.zeros(300)
    shift(x, out)
    assert any("iterations at a time" in r.message for r in shift.remarks)
    assert not any("cannot run in parallel" in r.message for r in shift.remarks)
    np.testing.assert_array_equal(out[1:], x[:-1] + 1)
    shift(x, x)
    assert any("cannot run in parallel" in r.message for r in shift.remarks)
    np.testing.assert_array_equal(x, np.arange(300.0))


def test_calls_are_told_apart_by_the_lengths_that_mattered_at_first(through_python: list[str]) -> None:
    """In code that knows some lengths others matter, too."""

    @weft.jit(fastmath=True)
    def solve(a, b, out):
        for t in prange(a.shape[0]):
            for i in range(a.shape[2]):
                total = b[t, i]
                for j in range(i):
                    total -= a[t, i, j] * out[t, j]
                out[t, i] = total / a[t, i, i]

    a, b, out = np.tile(np.eye(8), (300, 1, 1)) * 2, np.ones((300, 8)), np.zeros((300, 8))
    solve(a, b, out)
    known = next(iter(solve._versions.values()), None)
    assert known is not None and {n for n, _ in known.row_numbers} - {
        n for n, _ in solve.overloads[known.types].row_numbers
    }
    before = len(through_python)
    solve(a, b, out)
    assert len(through_python) == before and (out == 0.5).all()


def test_an_array_that_is_as_it_was_in_the_end_is_written_to() -> None:
    @weft.jit
    def look(a, b, out):
        before = a[0]
        a[0] = 5
        out[0] = b[0]
        a[0] = before

    for _ in range(2):
        x, out = np.ones(4), np.zeros(4)
        look(x, x, out)
        assert out[0] == 5 and x[0] == 1
        look(x, np.full(4, 3.0), out)
        assert out[0] == 3 and x[0] == 1
    (code,) = look.overloads.values()
    assert code.written == (0, 2)

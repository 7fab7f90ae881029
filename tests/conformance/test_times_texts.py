"""Dates, spans of time and text of fixed length; tuples by index; exceptions of functions; barriers of the grid."""

import enum

import numpy as np
import pytest

import weft
from conformance.cases import Case, Cases
from conformance.data import floats, small
from conformance.runner import check
from weft import cuda

cases = Cases()
DAY, HOUR = np.timedelta64(1, "D"), np.timedelta64(1, "h")
NOON = np.datetime64("2005-03-07T12", "h")


def days(rng, count=48):
    found = np.datetime64("2005-02-20", "D") + rng.integers(0, 40, count).astype("m8[D]")
    found[rng.integers(0, count, 4)] = "NaT"
    return found


def spans(rng, unit, count=48):
    found = (rng.integers(-300, 300, count) * 2 + 1).astype(f"m8[{unit}]")
    found[rng.integers(0, count, 4)] = "NaT"
    return found


def expected_dates(out, before, after, first, same, begin, end, day, step):
    out[:] = end - begin
    before[:], after[:] = begin - step, begin + np.timedelta64(36, "h")
    first[:] = np.minimum(begin, end)
    same[:] = (begin == day) * 1 + (end > NOON) * 2 + np.isnat(begin) * 4 + (begin != end) * 8


@cases.kernel(
    lambda rng: (
        np.zeros(48, "m8[D]"), np.zeros(48, "M8[D]"), np.zeros(48, "M8[h]"), np.zeros(48, "M8[D]"), np.zeros(48, int),
        days(rng), days(rng), np.datetime64("2005-03-01"), np.timedelta64(3, "D"),
    ),
    expect=expected_dates,
)  # fmt: skip
def dates(out, before, after, first, same, begin, end, day, step):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = end[i] - begin[i]
        before[i] = begin[i] - step
        after[i] = begin[i] + np.timedelta64(36, "h")
        first[i] = np.minimum(begin[i], end[i])
        same[i] = (
            (begin[i] == day) * 1 + (end[i] > NOON) * 2 + np.isnat(begin[i]) * 4 + (begin[i] != end[i]) * 8
        )


def expected_spans(out, rates, counts, x, y, n):
    out[0], out[1], out[2], out[3], out[4] = x + y, x * n, -x, abs(y), x % y
    rates[0], rates[1] = x / y, (x / DAY)
    counts[0], counts[1] = (
        np.where(
            np.isnat(x) | np.isnat(y),
            0,
            x.astype("m8[s]").astype(int) // np.where(np.isnat(y), 1, y.astype(int)),
        ),
        np.where(np.isnat(x), 0, x.astype("m8[s]").astype(int)),
    )


@cases.kernel(
    lambda rng: (
        np.zeros((5, 48), "m8[s]"), np.zeros((2, 48)), np.zeros((2, 48), np.int64),
        spans(rng, "m"), spans(rng, "s"), small(rng, np.int64, 48),
    ),
    expect=expected_spans,
)  # fmt: skip
def spans_of_two_units(out, rates, counts, x, y, n):
    i = cuda.grid(1)
    if i < n.size:
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] * n[i]
        out[2, i] = -x[i]
        out[3, i] = abs(y[i])
        out[4, i] = x[i] % y[i]
        rates[0, i] = x[i] / y[i]
        rates[1, i] = x[i] / DAY
        counts[0, i] = x[i] // y[i]
        counts[1, i] = 0 if np.isnat(x[i]) else np.int64(np.timedelta64(x[i], "s"))


ROW = np.dtype([("n", np.float32), ("name", "U5"), ("code", "S3")])


def expected_texts(out, rows, names):
    out[:] = (names == "abc") * 1 + (names != "") * 2
    rows["name"], rows["code"], rows["n"] = names, b"XYZ", 1
    rows[out % 2 == 1] = (2, "h\N{EURO SIGN}", b"A")


@cases.kernel(
    lambda rng: (
        np.zeros(48, int), np.zeros(48, ROW), np.array(["", "abc", "abcdefg", "ab"])[rng.integers(0, 4, 48)]
    ),
    expect=expected_texts,
)  # fmt: skip
def texts(out, rows, names):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (names[i] == "abc") * 1 + (names[i] != "") * 2
        rows[i].name = names[i]
        rows[i]["code"] = b"XYZ"
        rows[i].n = 1
        if out[i] % 2 == 1:
            rows[i].n = 2
            rows[i].name = "h\N{EURO SIGN}"
            rows[i].code = b"A"


@cases.kernel(lambda rng: (np.zeros(48, np.float64), floats(rng, np.float32, (6, 8)), (3, 4.5, 7)))
def tuples_by_index(out, x, t):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = t[i % 3] * 100 + x.shape[-1 - i % 2] + (10, 20)[int(x[i // 8, i % 8] > 1)]


class NoRoot(Exception):
    pass


@cuda.jit(device=True)
def root_of(x):
    if x < 0:
        raise NoRoot("a negative number")
    return x**0.5, x


@cuda.jit(device=True)
def doubled_root(x):
    return root_of(x)[0] * 2


@cases.kernel(
    lambda rng: (np.ones(48), floats(rng, np.float64, 48)),
    expect=lambda out, x: np.copyto(out, np.where(x < 0, 1, 2 * np.sqrt(abs(x)) + 1)),
    undefined=True,
)
def exceptions_of_functions_end_the_thread(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += doubled_root(x[i])


def expected_rows(m):
    for row in range(1, m.shape[0]):
        m[row] = m[row - 1][::-1] + 1


@cases.kernel(
    lambda rng: (np.vstack([floats(rng, np.float64, 100), np.zeros((4, 100))]),),
    threads=100,
    expect=expected_rows,
)
def rows_one_after_the_other(m):
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for row in range(1, m.shape[0]):
        if i < m.shape[1]:
            m[row, i] = m[row - 1, m.shape[1] - 1 - i] + 1
        grid.sync()


def expected_blocks(out, x):
    turned = x.reshape(-1, 16)[:, ::-1].ravel()
    out[:] = np.roll(turned[::-1] * 100 + np.repeat(np.arange(x.size // 16) + 1, 16), -5)


@cases.kernel(
    lambda rng: (np.zeros(64), floats(rng, np.float64, 64)),
    grid=4,
    block=16,
    any_block=False,
    expect=expected_blocks,
)
def barriers_of_blocks_and_of_the_grid(out, x):
    shared = cuda.shared.array(16, np.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    shared[t] = x[i]
    cuda.syncthreads()
    out[i] = shared[15 - t]
    cuda.syncthreads()
    shared[t] = 0
    grid = cuda.cg.this_grid()
    grid.sync()
    value = out[out.size - 1 - i] * 100
    for _ in range(cuda.blockIdx.x + 1):
        shared[15 - t] += 1
        cuda.syncthreads()
    grid.sync()
    out[(i - 5) % out.size] = value + shared[t]


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 1, 4])
@pytest.mark.parametrize("case", cases, ids=str)
def test_case(case: Case, width: int | None) -> None:
    check(case, **({} if width is None else {"width": width}))


@cuda.jit(debug=True)
def raises(x):
    i = cuda.grid(1)
    x[i] = doubled_root(x[i] - 3)


def test_what_a_kernel_raises_is_of_that_class_in_debug_mode() -> None:
    with pytest.raises(NoRoot, match=r"a negative number, raised by block 0 thread 0") as caught:
        raises[1, 4](np.arange(4.0))
    assert isinstance(caught.value, weft.errors.SanitizerError)
    assert caught.value.span.line == root_of.py_func.__code__.co_firstlineno + 3


@cuda.jit(debug=True)
def beyond(out, n):
    out[0] = (1, 2, 3)[n]


def test_an_index_outside_a_tuple_is_an_index_error_in_debug_mode() -> None:
    out = np.zeros(1, int)
    beyond[1, 1](out, -1)
    assert out[0] == 3
    with pytest.raises(IndexError, match="tuple index out of range"):
        beyond[1, 1](out, 3)


@weft.jit
def raises_its_own(x):
    if x > 3:
        raise NoRoot("too large")
    return x


def test_functions_raise_classes_that_an_import_finds() -> None:
    assert raises_its_own(2) == 2
    with pytest.raises(NoRoot, match="too large"):
        raises_its_own(5)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@weft.jit
def colour_of(warm):
    return Colour.RED if warm else Colour.BLUE


@weft.jit
def later(day, span, count):
    return day + span * count, span / 2, day < day + span


def test_results_that_are_members_and_dates() -> None:
    assert colour_of(True) is Colour.RED and colour_of(False) is Colour.BLUE
    day, span = np.datetime64("2020-02-28"), np.timedelta64(36, "h")
    assert later(day, span, 2) == later.py_func(day, span, 2)
    assert later(day, span, 2)[0].dtype == "M8[h]"


@weft.jit
def whole(a, b):
    return b - a, a + HOUR, (a < b), (b - a).astype(np.int64)


@weft.vectorize
def gap(a, b):
    return b - a


def test_arrays_of_dates_in_functions() -> None:
    rng = np.random.default_rng(3)
    a, b = days(rng), days(rng)
    for made, wanted in zip((*whole(a, b), gap(a, b)), (*whole.py_func(a, b), b - a), strict=True):
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)


@cuda.jit
def months(out, x):
    out[0] = x[0] + np.timedelta64(1, "M")


def test_units_without_a_whole_factor_are_refused() -> None:
    with pytest.raises(weft.errors.TypingError, match=r"cannot become|no common unit"):
        months[1, 1](np.zeros(1, "M8[D]"), np.zeros(1, "M8[D]"))


@cuda.jit
def diverges(x):
    grid = cuda.cg.this_grid()
    if cuda.blockIdx.x == 0:
        grid.sync()
    else:
        x[0] += 1
        grid.sync()


def test_blocks_that_wait_at_different_barriers_of_the_grid() -> None:
    with pytest.raises(weft.errors.BarrierDivergence, match=r"block \(1, 0, 0\)"):
        diverges[2, 8](np.zeros(1))

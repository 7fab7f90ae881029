"""Arrays of three and more dimensions, and indices made like theirs: told apart, and right where rows overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from loops.test_auto import agree, auto, once
from weft import prange

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")


def products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(b.shape[2]):
                for m in range(a.shape[2]):
                    c[i, j, k] += a[i, j, m] * b[i, m, k]


def heated(a, c):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for k in range(1, a.shape[2] - 1):
                around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k]
                c[i, j, k] = around + a[i, j, k - 1] + a[i, j, k + 1] - 6 * a[i, j, k]


def of_heads(q, k, scores):
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for i in range(q.shape[2]):
                for j in range(k.shape[2]):
                    total = 0.0
                    for d in range(q.shape[3]):
                        total += q[b, h, i, d] * k[b, h, j, d]
                    scores[b, h, i, j] = total


def of_channels(a, gains, c):
    for n in range(a.shape[0]):
        for y in range(a.shape[1]):
            for x in range(a.shape[2]):
                for channel in range(a.shape[3]):
                    c[n, y, x, channel] = a[n, y, x, channel] * gains[channel]


SHAPES = [
    (products, [(3, 4, 5), (3, 5, 20), (3, 4, 20)], ["c.shape[1] >= a.shape[1]", "c.shape[2] >= b.shape[2]"]),
    (heated, [(5, 6, 40), (5, 6, 40)], ["c.shape[1] + 1 >= a.shape[1]", "c.shape[2] + 1 >= a.shape[2]"]),
    (
        of_heads,
        [(2, 3, 4, 5), (2, 3, 18, 5), (2, 3, 4, 18)],
        ["scores.shape[1] >= q.shape[1]", "scores.shape[2] >= q.shape[2]", "scores.shape[3] >= k.shape[2]"],
    ),
    (
        of_channels,
        [(2, 3, 20, 3), (3,), (2, 3, 20, 3)],
        ["c.shape[1] >= a.shape[1]", "c.shape[2] >= a.shape[2]", "c.shape[3] >= a.shape[3]"],
    ),
]


def drawn(shapes):
    draw = np.random.default_rng(len(shapes))
    return [draw.integers(0, 9, shape).astype(np.float64) for shape in shapes]


@pytest.mark.parametrize(
    ("function", "shapes", "conditions"), SHAPES, ids=lambda f: getattr(f, "__name__", None)
)
def test_each_index_stays_in_its_dimension(function, shapes, conditions) -> None:
    compiled = once(function)
    agree(compiled, *drawn(shapes))
    told = next(
        r.message for r in compiled.remarks if "the iterations of this loop are independent" in r.message
    )
    assert told.count("rows do not overlap") == len(conditions), told
    for condition in conditions:
        assert f"{condition}: rows do not overlap" in told
    for empty in (0, 1):
        agree(compiled, *drawn([(empty, *shape[1:]) if len(shape) > 1 else shape for shape in shapes]))


@pytest.mark.spread
@pytest.mark.parametrize(("function", "shapes", "_"), SHAPES, ids=lambda f: getattr(f, "__name__", None))
@pytest.mark.parametrize("moved", [1, 7, 100])
def test_views_that_overlap_run_in_order(function, shapes, _, moved: int) -> None:
    sizes = [int(np.prod(shape)) for shape in shapes]
    memory = np.random.default_rng(moved).integers(0, 9, max(sizes) + len(shapes) * moved) * 0.03125
    views = [
        memory[n * moved :][:size].reshape(shape)
        for n, (size, shape) in enumerate(zip(sizes, shapes, strict=True))
    ]
    agree(once(function), *views)


def flat(a, c, height, width, depth, m, n):
    for i in range(height):
        for j in range(width):
            for k in range(depth):
                c[(i * m + j) * n + k] = c[(i * m + j) * n + k] * 0.5 + a[i * m * n + j * n + k] + i - j


def squared(a, c, height, width, depth, m, n):
    """All dimensions but the first are the same parameter."""
    for i in range(height):
        for j in range(width):
            for k in range(depth):
                c[i * n * n + j * n + k] = c[i * n * n + j * n + k] * 0.5 + a[k] - 2 * i + j


def across(a, c, height, width, depth, m, n):
    """What one iteration of the outer loop writes another one reads, where rows overlap."""
    for i in range(height):
        for k in range(depth):
            c[(i * m + 1) * n + k] = a[k] + c[i * m * n + k]
            for j in range(2, width):
                c[(i * m + j) * n + k] += a[j] * c[i * m * n + k]


def by_counters(a, c, height, width, depth, m, n):
    """What counters are multiplied with are counters: no dimension has a size."""
    for i in range(height):
        for j in range(width):
            c[i * j] = c[i * j + 1] + a[j]


INDICES = [flat, squared, across, by_counters]
small = st.integers(0, 6)


@given(
    st.sampled_from([flat, squared, across, by_counters]),
    small,
    small,
    st.integers(0, 20),
    small,
    st.integers(0, 20),
)
def test_indices_that_leave_their_rows(function, height, width, depth, m, n) -> None:
    draw = np.random.default_rng(height + 7 * width)
    size = (height + 1) * (m + n + 1) * (n + 1) + (width + 1) * (height + n + 1) + depth + 1
    agree(
        once(function),
        draw.integers(0, 9, size) * 1.0,
        draw.integers(0, 9, size) * 1.0,
        height,
        width,
        depth,
        m,
        n,
    )


@pytest.mark.parametrize(("function", "condition"), [(flat, "m >= width"), (squared, "n >= width")])
def test_flat_indices_are_taken_apart(function, condition: str) -> None:
    compiled = auto(function)
    agree(compiled, np.ones(2000), np.ones(2000), 3, 4, 20, 5, 20)
    assert any(f"{condition}: rows do not overlap" in r.message for r in compiled.remarks)


def small_products(a, b, c):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                total = np.float32(0)
                for m in range(a.shape[2]):
                    total += a[i, j, m] * b[i, m, k]
                c[i, j, k] = total


def summed_along(a, c):
    """A total of three does not decide how a nest over rows runs."""
    for i in prange(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for k in range(a.shape[2]):
                total = 0.0
                for d in range(-1, 2):
                    total += a[i + d, j, k] + a[i, j + d, k]
                c[i, j, k] = total


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_small_products_share_what_they_load(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    draw = np.random.default_rng(3)
    a = draw.integers(0, 9, (50, 8, 8)).astype(np.float32)
    # Their sums are exact, over and over again.
    b = np.stack([np.eye(8, dtype=np.float32)[draw.permutation(8)] for _ in range(50)])
    compiled, c = weft.jit(small_products, fastmath=True), np.zeros_like(a)
    compiled(a, b, c)
    assert np.array_equal(c, a @ b)
    # In place, each product sees what was written before.
    got, wanted = a.copy(), a.copy()
    compiled(got, b, got)
    small_products(wanted, b, wanted)
    assert np.array_equal(got, wanted)


def test_short_totals_leave_rows_to_llvm() -> None:
    a = np.random.default_rng(4).integers(0, 9, (6, 7, 50)) * 1.0
    compiled, got, wanted = weft.jit(summed_along, fastmath=True), np.zeros_like(a), np.zeros_like(a)
    compiled(a, got)
    summed_along(a, wanted)
    assert np.array_equal(got, wanted)
    assert not any("the iterations of this loop are independent" in r.message for r in compiled.remarks)


def distances(a, b, found):
    for i in range(a.shape[0]):
        row = np.empty(17, np.int32)
        for j in range(17):
            row[j] = j
        for k in range(16):
            before = row[0]
            row[0] = k + 1
            for j in range(16):
                here = row[j + 1]
                same = before if a[i, k] == b[i, j] else before + 1
                row[j + 1] = min(same, min(here, row[j]) + 1)
                before = here
        found[i] = row[16]


def test_lanes_run_along_the_loop_around_what_is_in_order() -> None:
    """The first row alone is a loop of independent iterations; lanes along it would leave the rest in order."""
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 4, (2, 70, 16), np.uint8)
    expected, found = np.zeros(70, np.int32), np.zeros(70, np.int32)
    distances(a, b, expected)
    made = weft.jit(parallel="auto")(distances)
    made(a, b, found)
    np.testing.assert_array_equal(found, expected)
    first = distances.__code__.co_firstlineno + 1
    vectorized = {r.span.line for r in made.remarks if r.kind.value == "vectorized"}
    assert vectorized == {first}


def cross_products(a, b, c):
    for i in range(a.shape[0]):
        c[i, 0] = a[i, 1] * b[i, 2] - a[i, 2] * b[i, 1]
        c[i, 1] = a[i, 2] * b[i, 0] - a[i, 0] * b[i, 2]
        c[i, 2] = a[i, 0] * b[i, 1] - a[i, 1] * b[i, 0]


def test_rows_of_plain_loops_have_lengths_that_a_call_shows() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.random((2, 100, 3))
    c = np.zeros((100, 3))
    made = weft.jit(parallel="auto")(cross_products)
    made(a, b, c)
    np.testing.assert_allclose(c, np.cross(a, b))
    assert any(version.row_numbers for version in made.overloads.values())
    # Rows of other lengths run in the general code.
    wide = np.zeros((100, 5))
    made(np.pad(a, ((0, 0), (0, 1))), np.pad(b, ((0, 0), (0, 4))), wide)
    np.testing.assert_allclose(wide[:, :3], np.cross(a, b))

"""Loops over `weft.prange` inside of each other: against plain Python, with one and two threads."""

import numpy as np
import pytest

import weft
from pairs import WHOLE
from weft import prange
from weft.diag.remarks import Remark

LONG = 1031 if WHOLE else 317
SHAPES = ((0, 3), (3, 0), (1, 1), (2, LONG), (LONG, 2), (37, 61) if WHOLE else (17, 29), (5, 16))


@pytest.fixture(autouse=True, params=[1, 2], ids=["alone", "shared"])
def threads(request):
    before = weft.get_num_threads()
    weft.set_num_threads(request.param)
    yield
    weft.set_num_threads(before)


@weft.jit
def rows(a, b, factor):
    for i in prange(a.shape[0]):
        scaled = factor * i
        for j in prange(a.shape[1]):
            if b[i, j] > 0.25:
                a[i, j] = scaled + b[i, j]
            else:
                a[i, j] = j


@weft.jit
def columns(a, b, factor):
    for j in prange(a.shape[1]):
        for i in prange(a.shape[0]):
            a[i, j] = b[i, j] * factor + i


@weft.jit
def triangle(a, b, factor):
    for i in prange(a.shape[0]):
        first = b[i, i % a.shape[1]] if a.shape[1] > 0 else 0.0
        for j in prange(i, a.shape[1]):
            a[i, j] = b[i, j] * factor + first


@weft.jit
def stepped(a, b, factor):
    for i in prange(a.shape[0] - 1, -1, -2):
        for j in prange(1, a.shape[1], 3):
            a[i, j] = b[i, j] + factor


@weft.jit
def deep(a, b, factor):
    for i in prange(a.shape[0]):
        for k in prange(2):
            for j in prange(a.shape[1] // 2):
                a[i, 2 * j + k] = b[i, 2 * j + k] + factor * k


@weft.jit
def counted(a, b, factor):
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            x, steps = b[i, j], 0
            while x > 0.01 and steps < 20:
                x *= factor
                steps += 1
            a[i, j] = steps


@pytest.mark.parametrize("function", [rows, columns, triangle, stepped, deep, counted])
def test_arrays(function) -> None:
    for shape in SHAPES:
        a, b = np.zeros(shape), np.random.default_rng(1).random(shape)
        wanted = a.copy()
        function(a, b, 0.75)
        function.py_func(wanted, b, 0.75)
        assert np.array_equal(a, wanted), shape


@weft.jit
def reductions(a, limit):
    total, low, high, count = 0.0, limit, -limit, 0
    found, small, bits = False, True, 0
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            total += a[i, j]
            low = min(low, a[i, j])
            if a[i, j] > high:
                high = a[i, j]
            if a[i, j] > 0.5:
                count += 1
            found = found or a[i, j] > 0.999
            small = small and a[i, j] < 0.999
            bits ^= i * j
    return total, low, high, count, found, small, bits


@weft.jit
def row_sums(a, sums):
    most = 0.0
    for i in prange(a.shape[0]):
        total = 0.0
        for j in prange(a.shape[1]):
            total += a[i, j]
        sums[i] = total
        most = max(most, total)
    return most


@weft.jit
def weighted(a):
    total = 0.0
    for i in prange(a.shape[0]):
        total += i
        for j in prange(a.shape[1]):
            total += a[i, j]
    return total


@weft.jit
def counting(a):
    count, twice = 0, 0
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            count += 1
            twice += 2 if a[i, j] > 0.5 else 0
    return count, twice


def test_reductions() -> None:
    for shape in SHAPES:
        a = np.random.default_rng(2).random(shape)
        total, *others = reductions(a, 10.0)
        wanted, *rest = reductions.py_func(a, 10.0)
        assert np.isclose(total, wanted) and others == rest
        sums, wanted_sums = np.zeros(shape[0]), np.zeros(shape[0])
        assert np.isclose(row_sums(a, sums), row_sums.py_func(a, wanted_sums))
        assert np.allclose(sums, wanted_sums)
        assert np.isclose(weighted(a), weighted.py_func(a))
        assert counting(a) == counting.py_func(a)


@weft.jit
def exchanged(planes, steps):
    for i in prange(planes.shape[1]):
        for t in range(steps):
            for j in prange(1, planes.shape[2] - 1):
                planes[(t + 1) % 2, i, j] = planes[t % 2, i, j - 1] + planes[t % 2, i, j + 1]


def test_a_loop_in_between_that_runs_in_order() -> None:
    for shape in ((2, 1, 30_000), (2, 40, 20)):
        a = np.random.default_rng(4).integers(0, 3, shape)
        wanted = a.copy()
        exchanged(a, 3)
        exchanged.py_func(wanted, 3)
        assert np.array_equal(a, wanted), shape


def test_a_sum_is_the_same_for_any_number_of_threads() -> None:
    a, results = np.random.default_rng(3).random((7, 5000)).astype(np.float32), set()
    for count in (1, 2, 3):
        weft.set_num_threads(count)
        results |= {reductions(a, np.float32(9))[0] for _ in range(3)}
    assert len(results) == 1


def test_lanes_run_along_what_is_contiguous() -> None:
    def remarks(function) -> tuple[Remark, ...]:
        (code,) = function.overloads.values()
        return code.remarks()

    def lines(function) -> list[int]:
        start = function.py_func.__code__.co_firstlineno
        said = (r for r in remarks(function) if "few iterations" not in r.message)
        return [r.span.line - start for r in said if "iterations at a time" in r.message]

    a, b = np.zeros((8, 8)), np.zeros((8, 8))
    for function in (rows, columns, triangle):
        function(a, b, 1.0)
    assert lines(rows) == [4] and lines(columns) == [2] and lines(triangle) == [4]
    assert "all cores share both loops" in remarks(rows)[0].message
    assert "all cores share the loop around it" in remarks(triangle)[0].message


@weft.jit(fastmath=True, brush=False)
def nearest_in_planes(points, wanted, out):
    for i in prange(wanted.shape[0]):
        total, left, top = 0.0, wanted[i, 0], wanted[i, 1]
        for j in prange(points.shape[0]):
            x = points[j, 0] - left
            y = points[j, 1] - top
            total += max(x * x + y * y, 0.25)
        out[i] = total


@weft.jit(fastmath=True, brush=False)
def weighted_sums(points, weights, out):
    for i in prange(weights.shape[0]):
        total = 0.0
        for j in prange(points.shape[0]):
            total += points[j, 0] * weights[i, j]
        out[i] = total


def test_what_lanes_share_is_as_near_as_neighbours_and_nearer_than_what_is_shuffled() -> None:
    """Lanes along the outer loop read one point; along the inner loop they would read points that are two apart."""
    rng = np.random.default_rng(11)
    points, wanted, weights, out = (
        rng.random((50, 2)),
        rng.random((37, 2)),
        rng.random((37, 50)),
        np.zeros(37),
    )
    nearest_in_planes(points, wanted, out)
    square = ((points[None] - wanted[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(out, np.maximum(square, 0.25).sum(axis=1))
    first = nearest_in_planes.py_func.__code__.co_firstlineno
    assert nearest_in_planes.remarks[0].span.line == first + 2
    # A gather weighs more than any number of shuffles.
    weighted_sums(points, weights, out)
    np.testing.assert_allclose(out, weights @ points[:, 0])
    first = weighted_sums.py_func.__code__.co_firstlineno
    assert any(r.span.line == first + 4 and "at a time" in r.message for r in weighted_sums.remarks if r.span)


def test_rows_in_several_tiles() -> None:
    b = np.random.default_rng(5).random((3, 40_011))
    a, (i, j) = np.zeros_like(b), np.indices(b.shape)
    rows(a, b, 0.75)
    assert np.array_equal(a, np.where(b > 0.25, 0.75 * i + b, j))
    total, *others = reductions(b, 10.0)
    bits = np.bitwise_xor.reduce((i * j).ravel())
    wanted = [b.min(), b.max(), (b > 0.5).sum(), (b > 0.999).any(), (b < 0.999).all(), bits]
    assert np.isclose(total, b.sum()) and others == wanted


@pytest.mark.parametrize("columns", [3, 15, 16, 17, 33, 63, 64, 65, 193, 194, 225, 257])
def test_what_is_left_of_a_row_belongs_to_the_last_tile(columns: int) -> None:
    """Less than a box is done by the box before, which begins earlier."""
    for count in (1, 5, 200):
        b = np.random.default_rng(columns).random((count, columns))
        a, (i, j) = np.zeros_like(b), np.indices(b.shape)
        rows(a, b, 0.75)
        assert np.array_equal(a, np.where(b > 0.25, 0.75 * i + b, j))
        total, *others = reductions(b, 10.0)
        bits = np.bitwise_xor.reduce((i * j).ravel())
        wanted = [b.min(), b.max(), (b > 0.5).sum(), (b > 0.999).any(), (b < 0.999).all(), bits]
        assert np.isclose(total, b.sum()) and others == wanted

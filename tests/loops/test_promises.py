"""Loops over `prange` that certainly break their promise are refused, and no others."""

import numpy as np
import pytest

import weft
from weft import prange
from weft.diag.remarks import RemarkKind
from weft.errors import UnsupportedError

READ = "each iteration writes the same element, and it is read in others"
WRITTEN = "each iteration writes the same element"
SOME = "iterations write the same element, and it is read in others"


@weft.jit
def add_to(o, j, v):
    o[j] += v


def columns(a, o):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            o[j] += a[i, j]


def columns_by_while(a, o):
    for i in prange(a.shape[0]):
        j = 0
        while j < a.shape[1]:
            o[j] = o[j] * a[i, j]
            j += 1


def columns_by_a_function(a, o):
    for i in prange(a.shape[0]):
        for j in range(o.size):
            add_to(o, j, a[i, j])


def nested_prange(a, o):
    for i in prange(a.shape[0]):
        for j in prange(o.size):
            o[j] -= a[i, j]


def columns_of_a_view(a, o):
    for i in prange(a.shape[0]):
        part = o[1:]
        for j in range(part.size):
            part[-1 - j] += a[i, j]


def two_loops_inside(a, o):
    for i in prange(a.shape[0]):
        for j in range(3):
            for k in range(2):
                o[(j + k) % 2] += a[i, j]


def last_one_wins(a, o):
    for i in prange(a.shape[0]):
        for j in range(o.size):
            o[j] = a[i, j]


def filled(a, o):
    for i in prange(a.shape[0]):
        o.fill(a[i, 0])


def rows_of_two_dimensions(a, o):
    square = a[:4, :4]
    for i in prange(a.shape[0]):
        for j in range(4):
            for k in range(4):
                square[j, k] += o[i]


def lower_triangle(a, o):
    for i in prange(o.size):
        for j in range(i):
            o[j] += a[i, j]


def lower_triangle_with_diagonal(a, o):
    for i in prange(a.shape[1]):
        for j in range(i + 1):
            o[j] = o[j] * a[i, j]


def upper_triangle(a, o):
    n = o.size
    for i in prange(n):
        for j in range(i + 1, n):
            o[j] += a[i, j]


def from_the_end(a, o):
    n = o.size
    for i in prange(n):
        for j in range(n - i):
            o[j] += a[i, j]


def backwards(a, o):
    for i in prange(o.size):
        for j in range(i, -1, -1):
            o[j] += a[i, j]


def one_element_of_a_triangle(a, o):
    for i in prange(o.size):
        for j in range(i):
            o[0] += a[i, j]


def rows_of_a_triangle(a, o):
    for i in prange(o.size):
        for j in range(i):
            for k in range(o.size):
                o[k] += a[i, j]


def triangle_by_while(a, o):
    for i in prange(o.size):
        j = 0
        while j < i:
            o[j] += a[i, j]
            j += 1


@pytest.mark.parametrize(
    ("function", "says"),
    [(columns, READ), (columns_by_while, READ), (columns_by_a_function, READ), (nested_prange, READ),
     (columns_of_a_view, READ), (two_loops_inside, READ), (last_one_wins, WRITTEN), (filled, WRITTEN),
     (rows_of_two_dimensions, READ), (lower_triangle, SOME), (lower_triangle_with_diagonal, SOME),
     (upper_triangle, SOME), (from_the_end, SOME), (backwards, SOME), (one_element_of_a_triangle, SOME),
     (rows_of_a_triangle, SOME), (triangle_by_while, SOME)],
)  # fmt: skip
def test_elements_that_all_iterations_write_are_refused(function, says: str) -> None:
    with pytest.raises(UnsupportedError, match=f"cannot run in parallel: {says}") as caught:
        weft.jit(function)(np.ones((9, 5)), np.zeros(5))
    assert caught.value.span is not None and caught.value.span.file == __file__


def own_rows(a, o):
    for i in prange(o.size):
        for j in range(a.shape[1]):
            o[i] += a[i, j]


def one_iteration(a, o):
    for i in prange(a.shape[0]):
        if i == 3:
            for j in range(o.size):
                o[j] += a[i, j]
            o[0] -= 1


def never(a, o):
    for i in prange(a.shape[0]):
        if o.size > 100:
            o[0] += a[i, 0]


def every_other(a, o):
    for i in prange(1, o.size):
        if i % 2:
            o[i] = o[i - 1] + a[i, 0]


def on_the_diagonal(a, o):
    for i in prange(o.size):
        for j in range(o.size):
            if j == i:
                o[j] += a[i, j]


def found_by_a_loop(a, o):
    for i in prange(o.size):
        j = 0
        while j < i:
            j += 1
        o[j] += a[i, 0]


def from_the_counter(a, o):
    for i in prange(o.size):
        for j in range(i, i + 1):
            o[j] += a[i, 0]


def the_same_everywhere(a, o):
    first = a[0, 0]
    for _ in prange(a.shape[0]):
        for j in range(o.size):
            o[j] = first * j + o.size * 2.0


def through_an_index(a, o):
    order = np.arange(o.size)
    for i in prange(o.size):
        for j in range(a.shape[1]):
            o[order[i]] += a[i, j]


def own_rows_of_a_triangle(a, o):
    for i in prange(o.size):
        for j in range(i):
            o[i] += a[i, j]


def last_of_a_triangle(a, o):
    for i in prange(o.size):
        j = 0
        for j in range(i):  # noqa: B007
            pass
        o[j + (1 if i else 0)] += a[i, 0]


def one_iteration_of_a_triangle(a, o):
    for i in prange(1, 3):
        for j in range(i - 1):
            o[j] += a[i, j]


def only_the_last(a, o):
    k = o.size - 2
    for i in prange(o.size):
        for j in range(i - k):
            o[j] += a[i, j]


def disjoint_pieces(a, o):
    for i in prange(o.size):
        for j in range(i, i + 1):
            o[j] -= a[i, j]


def the_same_in_a_triangle(a, o):
    for i in prange(o.size):
        for j in range(i):
            o[j] = j * 2.0


def never_in_two(a, o):
    for i in prange(o.size):
        for j in range(1 - i):
            o[j] += a[i, j]


def counted_apart(a, o):
    n = o.size
    for i in prange(n):
        k = i
        for _ in range(i, n):
            o[k - i + i] += 0.0 * a[i, 0]
            k = i


@pytest.mark.parametrize(
    "function",
    [own_rows, own_rows_of_a_triangle, last_of_a_triangle, one_iteration_of_a_triangle, only_the_last,
     disjoint_pieces, the_same_in_a_triangle, never_in_two, counted_apart,
     one_iteration, never, every_other, on_the_diagonal, found_by_a_loop, from_the_counter,
     the_same_everywhere, through_an_index],
)  # fmt: skip
def test_what_keeps_the_promise_runs(function) -> None:
    a = np.arange(45.0).reshape(9, 5)
    made, wanted = np.arange(5.0), np.arange(5.0)
    weft.jit(function)(a, made)
    function(a, wanted)
    assert np.array_equal(made, wanted)


def flagged(a, o):
    for i in prange(a.shape[0]):
        if a[i, 0] > 100:
            o[0] += 1


def data_decides_how_long(a, o):
    for i in prange(a.shape[0]):
        for j in range(int(a[i, 0]) // 40):
            o[j] += 1


def picked(a, o):
    for i in prange(a.shape[0]):
        if i == a.shape[0] - 1:
            o[0] += a[i, 0]


@pytest.mark.parametrize(("function", "count"), [(flagged, 1), (data_decides_how_long, 0), (picked, 0)])
def test_what_is_likely_leaves_a_remark(function, count: int) -> None:
    a = np.arange(45.0).reshape(9, 5)
    compiled = weft.jit(function)
    compiled(a, np.zeros(5))
    found = [r for r in compiled.remarks if r.kind == RemarkKind.ASSUMPTION]
    assert len(found) == count
    assert all("no two iterations" in r.message and r.span is not None for r in found)

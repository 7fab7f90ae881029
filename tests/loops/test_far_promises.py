"""Loops over prange in which iterations far apart meet: they run in order where there are so many iterations."""

import types

import numpy as np
import pytest

import weft
from weft import prange
from weft.errors import UnsupportedError


def rows_of_scratch(w, a, n):
    for i in prange(n):
        for k in range(4):
            w[k * 1024 + i] = a[i] * k
        w[5 * 1024 + i] = w[2 * 1024 + i] + w[4 * 1024 + i]


def delayed(w, a, n):
    total = 0.0
    for i in prange(n):
        w[i + 300] = w[i] * 0.5 + a[i]
        total += a[i]
    return total


def read_ahead(w, a, n):
    for i in prange(n):
        w[i] = w[i + 300] * 0.5 + a[i]


def two_distances(w, a, n):
    for i in prange(n):
        w[i + 700] = w[i + 400] + w[i] + a[i]


def constant_count(w, a, n):
    for i in prange(300):
        w[i + 300] = w[i] + a[i]


def in_order(function, *args):
    """What plain Python makes of it."""
    return types.FunctionType(function.__code__, {"prange": range, "np": np})(*args)


@pytest.mark.parametrize("function", [rows_of_scratch, delayed, read_ahead, two_distances, constant_count])
@pytest.mark.parametrize("fastmath", [False, True])
def test_they_are_what_a_loop_in_order_makes(function, fastmath):
    compiled = weft.jit(fastmath=fastmath)(function)
    for n in (300, 0, 1, 299, 301, 1000, 1300):
        rng = np.random.default_rng(n)
        w, a = rng.integers(0, 9, 9000).astype(np.float64), rng.integers(0, 9, 2000).astype(np.float64)
        expected = w.copy()
        total = in_order(function, expected, a, n)
        assert compiled(w, a, n) == total, n
        np.testing.assert_array_equal(w, expected, str(n))


@pytest.mark.parametrize(
    ("function", "distance"), [(rows_of_scratch, 1024), (delayed, 300), (two_distances, 300)]
)
def test_a_remark_says_from_where_on(function, distance):
    compiled = weft.jit(function)
    compiled(np.zeros(9000), np.zeros(2000), 10)
    said = f"the loop runs in order where it has more than {distance} iterations"
    assert any(said in str(remark) for remark in compiled.remarks)


def test_where_they_surely_meet_it_is_refused():
    @weft.jit
    def once_more(w):
        for i in prange(301):
            w[i + 300] = w[i] + 1

    with pytest.raises(UnsupportedError, match="300 iterations later"):
        once_more(np.zeros(900))


def test_within_a_lane_group_it_is_refused():
    @weft.jit
    def near(w, n):
        for i in prange(n):
            w[i + 63] = w[i] + 1

    with pytest.raises(UnsupportedError, match="63 iterations later"):
        near(np.zeros(900), 10)


def test_few_iterations_are_no_dependence():
    @weft.jit(parallel="auto")
    def apart(w):
        for i in range(300):
            w[i + 300] = w[i] + 1

    w = np.arange(600.0)
    apart(w)
    np.testing.assert_array_equal(w[300:], np.arange(300.0) + 1)

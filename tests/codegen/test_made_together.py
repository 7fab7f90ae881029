"""A load that moves up to a neighbour does not pass a store that waits for a neighbour of its own.

Each of both moves is right by itself: the store waits behind the load's neighbour, the load moves before the store's.
"""

import numpy as np
import pytest

import weft
from loops.python_doors import levels
from pairs import pairs
from weft import prange


def parts(a, w, q):
    """Stores of a structure's parts, and loads of others between them."""
    for n in prange(a.shape[0]):
        a[n, 2 * q + 1] = w[n] + 5
        s = a[n, 0]
        a[n, 2 * q] = s + 7
        a[n, 6] = s + a[n, 1]


def gathered(a, w, q):
    """Rows that are looked up, to which stores are made together, and a pair of loads."""
    for n in prange(a.shape[0]):
        k = w[n]
        a[k, 16 * q + 7] = k + 5
        s = a[k, 8]
        a[k, 16 * q + 0] = s + 0
        a[k, 16 * q + 1] = s + 1
        a[k, 16 * q + 2] = s + 2
        a[k, 16 * q + 3] = s + 3
        a[k, 16 * q + 4] = s + 4
        a[k, 16 * q + 5] = s + 5
        a[k, 16 * q + 6] = s + 6
        a[k, 15] = s + 2 * a[k, 7]


def looked_up(a, w, q):
    """The same with a row of loads."""
    for n in prange(a.shape[0]):
        k = w[n]
        a[k, 16 * q + 7] = k + 5
        s = a[k, 8] + a[k, 9] + a[k, 10] + a[k, 11] + a[k, 12] + a[k, 13] + a[k, 14]
        a[k, 16 * q + 0] = s + 0
        a[k, 16 * q + 1] = s + 1
        a[k, 16 * q + 2] = s + 2
        a[k, 16 * q + 3] = s + 3
        a[k, 16 * q + 4] = s + 4
        a[k, 16 * q + 5] = s + 5
        a[k, 16 * q + 6] = s + 6
        a[k, 15] = s + 2 * a[k, 7]


def rounds(a, w, q):
    """As this was found: in the last round, the loads of one are made together."""
    for n in prange(a.shape[0]):
        for r in range(3):
            for i in range(1, 5):
                for j in range(2):
                    a[n, r * 2 + j] = a[n, 2 * i + (n + j) % 2] - a[n, j]


@pytest.mark.parametrize(("level", "width"), pairs(levels(), (None, 8)))
@pytest.mark.parametrize("function", [parts, gathered, looked_up, rounds], ids=lambda f: f.__name__)
def test_neighbours_are_read_behind_stores_that_wait(function, level, width, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CPU", level)
    drawn = np.random.default_rng(3)
    rows = drawn.permutation(67).astype(np.int32)
    compiled = weft.jit(width=width)(function)
    for q in (0, 1):
        got = drawn.integers(0, 99, (67, {parts: 8, rounds: 10}.get(function, 32))).astype(np.float32)
        wanted = got.copy()
        compiled(got, rows, q)
        function(wanted, rows, q)
        np.testing.assert_array_equal(got, wanted)

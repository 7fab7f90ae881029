"""Nests of short loops, and loops that look tables up: lanes run along the loop around."""

import math

import numpy as np

import weft
from weft import prange


@weft.jit
def decomposed(a):
    for i in prange(a.shape[0]):
        for j in range(6):
            s = a[i, j, j]
            for k in range(j):
                s -= a[i, j, k] * a[i, j, k]
            d = math.sqrt(s)
            a[i, j, j] = d
            for r in range(j + 1, 6):
                t = a[i, r, j]
                for k in range(j):
                    t -= a[i, r, k] * a[i, j, k]
                a[i, r, j] = t / d


def test_loops_over_a_small_matrix_are_no_nest():
    """It took seven times as long, with lanes along rows of at most five elements."""
    b = np.random.default_rng(1).random((40, 6, 6))
    a = b @ b.transpose(0, 2, 1) + 6 * np.eye(6)
    wanted = np.linalg.cholesky(a)
    decomposed(a)
    np.testing.assert_allclose(np.tril(a), wanted, rtol=1e-12)
    assert not any("are independent if" in r.message for r in decomposed.remarks)


@weft.jit(fastmath=True)
def hashed(table, out, rounds):
    for y in prange(out.shape[0]):
        for x in range(out.shape[1]):
            total = np.float32(0)
            scale = np.float32(1)
            for r in range(rounds):
                a = table[(x + r) & 255]
                b = table[(a + y) & 255]
                c = table[(a * y) & 255]
                total += scale * (b - c)
                scale *= np.float32(0.5)
            out[y, x] = total


def test_tables_are_no_rows():
    """Lookups are far apart either way: they are no reason to leave the loop around them in order."""
    table = np.random.default_rng(2).permutation(256).astype(np.int32)
    out = np.zeros((40, 30), np.float32)
    hashed(table, out, 3)
    y, x = np.mgrid[:40, :30]
    wanted = np.zeros((40, 30))
    for r in range(3):
        a = table[(x + r) & 255]
        wanted += 0.5**r * (table[(a + y) & 255] - table[(a * y) & 255])
    np.testing.assert_allclose(out, wanted, rtol=1e-5)
    assert not any("inner loops run along rows" in r.message for r in hashed.remarks)

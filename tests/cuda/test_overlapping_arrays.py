"""Kernels whose loads are replaced because arrays are apart: launches in which they are not get another version."""

import numpy as np

from weft import cuda
from weft.runtime.array_memory import have_common_bytes


@cuda.jit
def blur(a, out, n):
    t = cuda.grid(1)
    if t < out.shape[1]:
        for i in range(n):
            out[i, t] = a[i, t] + a[i + 1, t] + a[i + 2, t]


def test_a_second_version_serves_arrays_that_overlap() -> None:
    a = np.random.default_rng(1).random((12, 64), np.float32)
    out = np.zeros((10, 64), np.float32)
    blur[2, 32](a, out, 10)
    np.testing.assert_allclose(out, a[:-2] + a[1:-1] + a[2:], rtol=1e-6)
    (compiled,) = blur.overloads.values()
    assert compiled.terms.arrays_apart and not blur._specializations.made
    wanted = a.copy()
    for i in range(10):
        wanted[i + 2] = wanted[i] + wanted[i + 1] + wanted[i + 2]
    blur[2, 32](a, a[2:], 10)
    np.testing.assert_allclose(a, wanted, rtol=1e-6)
    (special,) = blur._specializations.made.values()
    assert not special.options.arrays_apart and not special.terms.arrays_apart


@cuda.jit
def looked_up(table, at, out):
    t = cuda.grid(1)
    if t < at.shape[0]:
        i = at[t]
        first = table[i, 0] + np.float32(1)
        out[t, 0] = first
        out[t, 1] = table[i, 1] + first
        out[t, 2] = table[i, 2] - first


def test_neighbours_are_looked_up_together_where_arrays_are_apart() -> None:
    table = np.arange(192, dtype=np.float32).reshape(64, 3)
    at = np.random.default_rng(2).permutation(64)
    out = np.zeros((64, 3), np.float32)
    looked_up[2, 32](table, at, out)
    first = table[at, 0] + 1
    np.testing.assert_array_equal(out, np.stack([first, table[at, 1] + first, table[at, 2] - first], axis=1))
    # Each thread changes the row that it has looked up, one element before the one that it reads next.
    both = np.random.default_rng(3).random(257, np.float32)
    wanted = both.copy()
    first, second, third, last = wanted[:256].reshape(64, 4).T
    second[:] = first + 1
    third[:] = second + second
    last[:] = third - second
    looked_up[2, 32](both[:256].reshape(64, 4), np.arange(64), both[1:].reshape(64, 4))
    np.testing.assert_array_equal(both, wanted)
    assert any(not made.options.arrays_apart for made in looked_up._specializations.made.values())


def test_bytes_in_common() -> None:
    a = np.zeros((8, 8), np.float32)
    assert have_common_bytes([a, a]) and have_common_bytes([a[:5], 3, (a[4:],)])
    assert not have_common_bytes([a[:4], a[4:], 1.0, np.zeros(0), np.zeros(3)])
    assert have_common_bytes([a[:, :4], a[:, 4:]]), "rows lie between each other's"


@cuda.jit
def products(a, b, c):
    i = cuda.grid(1)
    if i < a.shape[0]:
        for r in range(8):
            for q in range(8):
                s = np.float32(0)
                for k in range(8):
                    s += a[i, r, k] * b[i, k, q]
                c[i, r, q] = s


def test_threads_by_themselves_have_vectors_where_arrays_are_apart() -> None:
    a, b = np.random.default_rng(4).integers(-3, 4, (2, 40, 8, 8)).astype(np.float32)
    c = np.zeros_like(a)
    products[2, 32](a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    (compiled,) = products.overloads.values()
    assert compiled.terms.arrays_apart
    wanted = a.copy()
    for r in range(8):
        for q in range(8):
            wanted[:, r, q] = np.sum(wanted[:, r, :] * b[:, :, q], axis=1)
    products[2, 32](a, b, a)
    np.testing.assert_array_equal(a, wanted)
    assert any(not made.options.arrays_apart for made in products._specializations.made.values())

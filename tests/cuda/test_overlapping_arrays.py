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


def test_bytes_in_common() -> None:
    a = np.zeros((8, 8), np.float32)
    assert have_common_bytes([a, a]) and have_common_bytes([a[:5], 3, (a[4:],)])
    assert not have_common_bytes([a[:4], a[4:], 1.0, np.zeros(0), np.zeros(3)])
    assert have_common_bytes([a[:, :4], a[:, 4:]]), "rows lie between each other's"

"""Arrays of the same extents, and others: which code calls run, be they made by Python or by machine code."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.runtime.row_numbers import difference_of, numbers_of, restrictions

SAME = ((difference_of(1, 3), 0),)


def around(a, out):
    """Sums of neighbours around a ring, with as many rounds as there is room for."""
    for i in prange(out.shape[0]):
        out[i] = a[(i + 1) % a.shape[0]] + 2 * a[(i - 1) % a.shape[0]]


def around_kernel(a, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = a[(i + 1) % a.shape[0]] + 2 * a[(i - 1) % a.shape[0]]


def expected(a, count):
    i = np.arange(count)
    return a[(i + 1) % a.size] + 2 * a[(i - 1) % a.size]


@pytest.mark.parametrize("form", ["kernel", "loop"])
def test_code_for_equal_extents(form):
    made = cuda.jit(around_kernel) if form == "kernel" else weft.jit(around)
    run = made[4, 64] if form == "kernel" else made
    for _ in range(2):
        # The second time machine code finds the record.
        for size, count in ((200, 200), (70, 200), (150, 150), (200, 70), (1, 100)):
            a, out = np.arange(size) % 13, np.zeros(count, np.int64)
            run(a, out)
            assert np.array_equal(out, expected(a, count))
    (general,) = made.overloads.values()
    assert general.row_numbers == SAME
    versions = made._specializations.made if form == "kernel" else made._versions
    assert [code.options.known for code in versions.values()] == [SAME]


def test_numbers_of_differences():
    assert numbers_of(SAME, [0, 7, 0, 7]) == SAME and numbers_of(SAME, [0, 7, 0, 8]) == ()
    assert restrictions(SAME, SAME) == [(difference_of(1, 3), 0, 0)]
    assert restrictions((), SAME) == [(difference_of(1, 3), 1, -1)]


def test_only_what_matters_is_asked():
    @weft.jit
    def plain(a, b, n, c):
        for i in prange(b.shape[0]):
            if i < a.shape[0]:
                b[i] = a[(i + 1) % a.shape[0]] + (i + 2) % n + i // c.shape[0] + i % c.shape[0]

    out = np.zeros(100, np.int64)
    plain(np.arange(100), out, 100, np.ones(5))
    # The divisor that bounds `i` itself is known; a number may be an extent; `i` is parted in rows of `c`.
    (general,) = plain.overloads.values()
    assert {n for n, _ in general.row_numbers} == {difference_of(1, 4), difference_of(3, 4)}
    i = np.arange(100)
    assert np.array_equal(out, (i + 1) % 100 + (i + 2) % 100 + i // 5 + i % 5)

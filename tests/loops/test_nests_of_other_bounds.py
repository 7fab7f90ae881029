"""A loop that counts to what the outermost one of a nest computes is no part of a nest around the loop between both."""

import numpy as np
import pytest

import weft
from loops.python_doors import levels
from weft import prange


def filled(a):
    for n in prange(3, a.shape[0] // 15):
        for _ in range(8):
            for i in range(3):
                for j in range(n % 3):
                    a[(n - 1) * 15 + i * 5 + j] = 3


def all_promised(a):
    for n in prange(3, a.shape[0] // 15):
        columns = n % 5
        for i in prange(3):
            for j in prange(columns):
                a[(n - 1) * 15 + i * 5 + j] += n + j


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("function", [filled, all_promised], ids=lambda f: f.__name__)
def test_bounds_that_the_outermost_loop_computes(function, level, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    monkeypatch.setenv("WEFT_CPU", level)
    for count in (0, 15, 900):
        got, wanted = np.zeros(count, np.int64), np.zeros(count, np.int64)
        weft.jit(function)(got)
        function(wanted)
        np.testing.assert_array_equal(got, wanted)

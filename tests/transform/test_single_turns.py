"""Loops over ``prange`` that run once are straight code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import prange


def rows(x: Any, out: Any) -> None:
    for j in prange(1):
        for i in range(x.size):
            out[j, i] = x[i] + j


def total(x: Any, out: Any) -> None:
    found = 2.0
    for j in prange(3, 4):
        for i in range(x.size):
            found += x[i] * j
    out[0, 0] = found


def in_a_loop(x: Any, out: Any) -> None:
    for k in range(out.shape[0]):
        last = 0.0
        for j in prange(1):
            if x[k] > 2:
                out[k, j] = x[k]
            last += x[j]
        out[k, 1] = last


def inside_another(x: Any, out: Any) -> None:
    for k in prange(out.shape[0]):
        for j in prange(1):
            out[k, j] = x[k]


def around_another(x: Any, out: Any) -> None:
    for j in prange(1):
        for i in prange(x.size):
            out[j, i] = x[i]


def downwards(x: Any, out: Any) -> None:
    for j in prange(1, 0, -1):
        out[j, 0] = x[j]


@pytest.mark.spread
@pytest.mark.parametrize("options", [{}, {"fastmath": True}, {"debug": True}], ids=str)
@pytest.mark.parametrize(
    "function", [rows, total, in_a_loop, inside_another, around_another, downwards], ids=lambda f: f.__name__
)
def test_a_turn(
    function: Callable[..., None], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    x = np.arange(9.0)
    out, wanted = np.zeros((2, 4, 9))
    function(x, wanted)
    weft.jit(parallel=True, **options)(function)(x, out)
    np.testing.assert_array_equal(out, wanted)

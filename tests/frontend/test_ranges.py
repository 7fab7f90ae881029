"""Ranges by how many items they have: with far ends, in `enumerate`, `zip`, `reversed`, `len` and as conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.diag.errors import TypingError

FAR = [
    (2**62 + 1, -(2**62) - 1),
    (2**63 - 1, -(2**63)),
    (2**62, -(2**62) - 1),
    (2**63 - 1, 2**63 - 4),
    (-(2**63) + 9, -(2**63) + 2),
    (5, 9),
]
"""Ends whose difference wraps to a positive number, although nothing is between them; and near ones."""


def enumerated(out, start, stop, step):
    for k, i in enumerate(range(start, stop, 3)):
        out[0] += i ^ k


def zipped(out, start, stop, step):
    for i, _ in zip(range(start, stop, step), out):  # noqa: B905 - neither has `strict` here
        out[0] += i


def backwards(out, start, stop, step):
    for i in reversed(range(start, stop, 3)):
        out[0] += i


def at_once(out, start, stop, step):
    for i in prange(start, stop, step):
        out[i & 15] += i


def counted(out, start, stop, step):
    out[0] = len(range(start, stop, step))
    out[1] = len(prange(4)) + len(range(9, 2, -3))


def chosen(out, start, stop, step):
    if range(start, stop, step):
        out[0] = 1
    out[1] = 2 if not range(start, stop, step) else 3


@pytest.mark.parametrize("function", [enumerated, zipped, backwards, at_once, counted, chosen])
def test_as_in_python(function: Callable[..., Any]) -> None:
    compiled = weft.jit(function)
    for start, stop in FAR:
        for step in (1, 3, -3):
            if step < 0 and stop - start < -99:
                continue
            given, wanted = np.zeros(16, np.int64), np.zeros(16, np.int64)
            function(wanted, start, stop, step)
            compiled(given, start, stop, step)
            assert given.tolist() == wanted.tolist(), (function.__name__, start, stop, step)


def test_debugged_as_in_python() -> None:
    given = np.zeros(16, np.int64)
    cuda.jit(enumerated, debug=True)[1, 1](given, 2**62 + 1, -(2**62) - 1, 1)
    assert not given.any()


def indexed(out, n):
    out[0] = range(n)[2]


def measured(out, n):
    out[0] = len(enumerate(out))


@pytest.mark.parametrize(
    ("function", "said"), [(indexed, r"range\(\) cannot be indexed"), (measured, r"enumerate\(\) has no len")]
)
def test_refused_by_name(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(TypingError, match=said):
        weft.jit(function)(np.zeros(3), 3)

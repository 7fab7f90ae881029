"""What the examples share: timing a computation on kernels and comparing its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def blocks_for(count: int, threads: int) -> int:
    """Return how many groups of so many threads cover `count` items."""
    return max(1, -(-count // threads))


def timed(name: str, compute: Callable[[], Any]) -> Any:
    """Run a computation twice, print the time of the second run, and return its result.

    The first run compiles the kernels.
    """
    compute()
    begin = time.perf_counter()
    result = compute()
    print(f"{name}: {(time.perf_counter() - begin) * 1e3:.2f} ms")
    return result


def agree(what: str, got: np.ndarray, wanted: np.ndarray, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Raise AssertionError unless two arrays are equal, or close to the given tolerances."""
    if rtol or atol:
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=what)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=what)

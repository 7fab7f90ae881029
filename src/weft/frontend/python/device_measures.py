"""NumPy's functions that find elements or compare arrays, in the kernel language itself.

Each means what NumPy's does for the arguments that `weft.frontend.python.lowering.arrays.measures` and
`weft.frontend.python.lowering.arrays.rearranged` let through.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def places(a: Any) -> Any:
    """The numbers, in C order, of the elements that are not zero."""
    row = np.ravel(a)
    made = np.empty(np.count_nonzero(row), np.int64)
    found = 0
    for i in range(row.size):
        if row[i] != 0:
            made[found] = i
            found += 1
    return made


def indices_along(places: Any, extent: Any, inner: Any) -> Any:
    """The indices along one axis of elements that are given by their numbers, of which each step skips `inner`."""
    made = np.empty_like(places)
    for i in range(places.size):
        made[i] = places[i] // inner % extent
    return made


def spread(a: Any) -> Any:
    """How far the greatest element is from the least one."""
    return np.max(a) - np.min(a)


def weighted_mean(a: Any, weights: Any) -> Any:
    """The mean of the elements, each counted as often as its weight says."""
    if a.size != weights.size:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    scale = np.sum(weights)
    if scale == 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return np.sum(a * weights) / scale


def is_close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    """Whether two numbers are the same within a tolerance that grows with the second one."""
    near = abs(x - y) <= atol + rtol * abs(y) and np.isfinite(y)
    return near or x == y or (equal_nan and x != x and y != y)


def crossed(a: Any, b: Any) -> Any:
    """The vector products along the last axis."""
    if a.shape[a.ndim - 1] != 3 or b.shape[b.ndim - 1] != 3:
        raise ValueError("both arrays must have three elements along the last axis")
    made = np.empty_like(a * b)
    made[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    made[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    made[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return made


def same_elements(a: Any, b: Any) -> Any:
    """Whether the elements in C order are the same; of arrays of one shape."""
    x, y = np.ravel(a), np.ravel(b)
    n = min(x.size, y.size)
    return np.all(x[:n] == y[:n])


def steps_between(start: Any, stop: Any, step: Any) -> Any:
    """How many numbers `np.arange` makes of floats."""
    if step == 0:
        raise ZeroDivisionError("division by zero")
    count = (stop - start) / step
    if not abs(count) < 2.0**62:
        raise ValueError("arange: cannot compute length")
    return max(math.ceil(count), 0)


def store_steps(out: Any, start: Any, step: Any) -> None:
    """Store numbers that are as far from each other as the second one, rounded, is from the first one."""
    second = start + step
    distance = second - start
    for i in range(out.size):
        out[i] = start + i * distance
    if out.size > 1:
        out[1] = second

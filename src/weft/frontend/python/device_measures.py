"""NumPy's functions that find elements or compare arrays, in the kernel language itself.

Each means what NumPy's does for the arguments that `weft.frontend.python.lowering.arrays.measures` and
`weft.frontend.python.lowering.arrays.rearranged` let through.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_OTHERS = np.uint64(0x7F7F7F7F7F7F7F7F)
"""All bits of eight bytes but the first of each."""


def places(a: Any) -> Any:
    """The numbers, in C order, of the elements that are not zero."""
    row = np.ravel(a)
    # Each number is stored, the next one in its place if it is not wanted: no branch has to be foreseen.
    made = np.empty(np.count_nonzero(row) + 1, np.int64)
    found = 0
    for i in range(row.size):
        made[found] = i
        found += 1 if row[i] != 0 else 0
    return made[: made.size - 1]


def places_in_mask(mask: Any) -> Any:
    """The numbers, in C order, of the elements of a mask in C order that are true."""
    truths, words = _parts_of(mask)
    made = np.empty(_true_among(truths, words) + 1, np.int64)
    found = 0
    for w in range(words.size):
        # Of many that are false few words are looked into.
        if words[w] != 0:
            for i in range(8 * w, 8 * w + 8):
                made[found] = i
                found += 1 if truths[i] != 0 else 0
    for i in range(8 * words.size, truths.size):
        made[found] = i
        found += 1 if truths[i] != 0 else 0
    return made[: made.size - 1]


def chosen(a: Any, mask: Any) -> Any:
    """The elements of a row where a mask in C order is true, as `places_in_mask` finds them."""
    truths, words = _parts_of(mask)
    made = np.empty(_true_among(truths, words) + 1, a.dtype)
    found = 0
    for w in range(words.size):
        if words[w] != 0:
            for i in range(8 * w, 8 * w + 8):
                made[found] = a[i]
                found += 1 if truths[i] != 0 else 0
    for i in range(8 * words.size, truths.size):
        made[found] = a[i]
        found += 1 if truths[i] != 0 else 0
    return made[: made.size - 1]


def true_in_mask(mask: Any) -> Any:
    """How many elements of a mask in C order are true."""
    truths, words = _parts_of(mask)
    return _true_among(truths, words)


def _parts_of(mask: Any) -> Any:
    """The bytes of a mask in a row, and eight at a time as far as they go."""
    truths = np.ravel(mask).view(np.uint8)
    return truths, truths[: truths.size // 8 * 8].view(np.uint64)


def _true_among(truths: Any, words: Any) -> Any:
    count = 0
    for w in range(words.size):
        # The first bit of each byte tells whether the others are not all zero, or it itself.
        count += ((((words[w] & _OTHERS) + _OTHERS) | words[w]) & ~_OTHERS).bit_count()
    for i in range(8 * words.size, truths.size):
        count += 1 if truths[i] != 0 else 0
    return count


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

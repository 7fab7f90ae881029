"""NumPy's reductions along an axis that is not the last, in the kernel language itself.

An array has three axes here, of which the middle one goes. Where elements behind it are many, whole rows of these are
combined, in order and four at a time, so that memory is read as it lies; where they are few, each result has running
values of its own (`weft.frontend.python.device_arrays`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.frontend.python.device_arrays import greatest, least, product, total

FEW, BLOCK = 16, 1024
"""Elements behind an axis up to which each result is made by itself, and as many as stay in the nearest cache."""


def sums(a: Any, out: Any, zero: Any) -> None:
    """Store the sums."""
    n, columns = a.shape[1], a.shape[2]
    for i in range(a.shape[0]):
        if columns < FEW:
            for j in range(columns):
                out[i, j] = total(a[i, :, j], zero)
        else:
            for left in range(0, columns, BLOCK):
                right = min(left + BLOCK, columns)
                for j in range(left, right):
                    out[i, j] = zero
                whole = n // 4 * 4
                for k in range(0, whole, 4):
                    for j in range(left, right):
                        first = out[i, j] + a[i, k, j] + a[i, k + 1, j]
                        out[i, j] = first + a[i, k + 2, j] + a[i, k + 3, j]
                for k in range(whole, n):
                    for j in range(left, right):
                        out[i, j] += a[i, k, j]


def means(a: Any, out: Any, zero: Any) -> None:
    """Store the means; NaN of no elements."""
    sums(a, out, zero)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = out[i, j] / a.shape[1]


def products(a: Any, out: Any, one: Any) -> None:
    """Store the products."""
    columns = a.shape[2]
    for i in range(a.shape[0]):
        if columns < FEW:
            for j in range(columns):
                out[i, j] = product(a[i, :, j], one)
        else:
            for j in range(columns):
                out[i, j] = one
            for k in range(a.shape[1]):
                for j in range(columns):
                    out[i, j] *= a[i, k, j]


def minima(a: Any, out: Any) -> None:
    """Store the least elements, of one or more; NaN where there is one."""
    _extremes(a, out, least, np.minimum)


def maxima(a: Any, out: Any) -> None:
    """Store the greatest elements, of one or more; NaN where there is one."""
    _extremes(a, out, greatest, np.maximum)


def _extremes(a: Any, out: Any, of_row: Any, of_two: Any) -> None:
    columns = a.shape[2]
    for i in range(a.shape[0]):
        if columns < FEW:
            for j in range(columns):
                out[i, j] = of_row(a[i, :, j])
        else:
            for left in range(0, columns, BLOCK):
                right = min(left + BLOCK, columns)
                for j in range(left, right):
                    out[i, j] = a[i, 0, j]
                for k in range(1, a.shape[1]):
                    for j in range(left, right):
                        out[i, j] = of_two(out[i, j], a[i, k, j])

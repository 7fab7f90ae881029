"""Products of matrices, in the kernel language itself.

Each sum is added up in order, in registers for several rows and columns together or rows of the second matrix at a
time; complex matrices are products of real ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.frontend.python.device_arrays import dot
from weft.frontend.python.prange import in_place

BOX, DEEP = 8, 4096
"""Rows and columns from which on boxes of a product pay, and terms of a sum that are added up in them: as many elements
of some columns of a matrix stay in the cache (`weft.codegen.parallel.panels`)."""


MANY, NEAR = 64, 4 << 20
"""Rows from which on boxes read copies of columns (`weft.codegen.parallel.panels`); bytes of a matrix up to which
columns can be read as they lie. Of 16 rows times 3000 by 4000 floats, boxes took 43 ms on Zen 3, rows 12."""


def multiplied(a: Any, b: Any, out: Any, zero: Any) -> None:
    """Store the matrix product of two matrices, each sum in order.

    Rows of `b` are added up as they lie in memory: a copy takes less than reading them apart two times.
    """
    inner, whole = a.shape[1], np.ascontiguousarray(b)
    is_read_along = out.shape[0] < MANY and whole.nbytes > NEAR
    in_boxes = out.shape[0] >= BOX and out.shape[1] >= BOX and not is_read_along
    begun = min(inner, DEEP) if in_boxes else 0
    if begun > 0:
        _multiplied_in_boxes(np.ascontiguousarray(a), whole, begun, out, zero)
    else:
        out.fill(0)
    if begun < inner:
        _add_by_rows(a, whole, begun, out)


def _multiplied_in_boxes(a: Any, b: Any, inner: Any, out: Any, zero: Any) -> None:
    """Store what the first terms of each sum make: the sums of several rows and columns are in registers together."""
    for i in in_place(out.shape[0]):
        for j in in_place(out.shape[1]):
            total = zero
            for k in range(inner):
                total += a[i, k] * b[k, j]
            out[i, j] = total


def add_products(
    a: Any, b: Any, shift: Any, out: Any, i0: Any, i1: Any, k0: Any, k1: Any, j0: Any, j1: Any
) -> None:
    """Add products with rows ``k0`` to ``k1`` to rows ``i0`` to ``i1``, columns ``j0`` to ``j1``, each sum in order.

    Row k is row ``k - shift`` of `b`. What is read of `b` for all rows stays in the cache, and is loaded once for two
    rows; an element of `out` is loaded once for four products.
    """
    pairs = i0 + (i1 - i0) // 2 * 2
    # What is read once only is read along the rows.
    wide = 512 if i1 - i0 > 2 else 8192
    for left in range(j0, j1, wide):
        right = min(left + wide, j1)
        for first in range(k0, k1, 64):
            last = min(first + 64, k1)
            whole = first + (last - first) // 4 * 4
            for i in range(i0, pairs, 2):
                for k in range(first, whole, 4):
                    f0, f1, f2, f3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                    g0, g1, g2, g3 = a[i + 1, k], a[i + 1, k + 1], a[i + 1, k + 2], a[i + 1, k + 3]
                    at = k - shift
                    for j in range(left, right):
                        b0, b1, b2, b3 = b[at, j], b[at + 1, j], b[at + 2, j], b[at + 3, j]
                        out[i, j] = out[i, j] + f0 * b0 + f1 * b1 + f2 * b2 + f3 * b3
                        out[i + 1, j] = out[i + 1, j] + g0 * b0 + g1 * b1 + g2 * b2 + g3 * b3
            for i in range(pairs, i1):
                for k in range(first, whole, 4):
                    f0, f1, f2, f3, at = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3], k - shift
                    for j in range(left, right):
                        total = out[i, j] + f0 * b[at, j] + f1 * b[at + 1, j]
                        out[i, j] = total + f2 * b[at + 2, j] + f3 * b[at + 3, j]
            for i in range(i0, i1):
                for k in range(whole, last):
                    factor, at = a[i, k], k - shift
                    for j in range(left, right):
                        out[i, j] += factor * b[at, j]


def _add_by_rows(a: Any, b: Any, begin: Any, out: Any) -> None:
    """Add the other terms to each sum."""
    add_products(a, b, 0, out, 0, a.shape[0], begin, a.shape[1], 0, b.shape[1])


def multiplied_by_rows(a: Any, b: Any, out: Any) -> None:
    """Store the matrix product of two matrices, each sum in order, adding up rows of `b`."""
    out.fill(0)
    _add_by_rows(a, b, 0, out)


def multiplied_in_parts(a: Any, b: Any, out: Any, zero: Any) -> None:
    """Store the matrix product of two matrices one of which at least is complex, by products of real ones.

    Of real and imaginary parts of `a`, one below the other, and the numbers that `b` consists of.
    """
    whole = np.ascontiguousarray(b)
    numbers = whole.view(np.real(whole[:0]).dtype)
    if a.dtype.kind != "c":
        multiplied(a, numbers, out.view(np.real(out[:0]).dtype), zero)
    else:
        rows = a.shape[0]
        factors = np.empty((2 * rows, a.shape[1]), np.real(a[:0]).dtype)
        factors[:rows] = np.real(a)
        factors[rows:] = np.imag(a)
        made = np.empty((2 * rows, numbers.shape[1]), np.real(out[:0]).dtype)
        multiplied(factors, numbers, made, zero)
        for i in range(rows):
            for j in range(out.shape[1]):
                if b.dtype.kind == "c":
                    real = made[i, 2 * j] - made[rows + i, 2 * j + 1]
                    out[i, j] = complex(real, made[i, 2 * j + 1] + made[rows + i, 2 * j])
                else:
                    out[i, j] = complex(made[i, j], made[rows + i, j])


SHORT = 16
"""Terms of a sum from which on `weft.frontend.python.device_arrays.dot` has several running values."""


def applied(a: Any, x: Any, out: Any, zero: Any, in_any_order: Any) -> None:
    """Store the product of a matrix and a vector.

    Each sum is that of `dot`. Several rows are read from memory faster than one, and share what they are multiplied by.
    """
    rows, terms = a.shape
    if terms < SHORT:
        for i in range(rows):
            short = zero
            for k in range(terms):
                short += a[i, k] * x[k]
            out[i] = short
    elif in_any_order:
        whole = rows // 4 * 4
        for i in range(0, whole, 4):
            t0 = t1 = t2 = t3 = zero
            for k in range(terms):
                t0 += a[i, k] * x[k]
                t1 += a[i + 1, k] * x[k]
                t2 += a[i + 2, k] * x[k]
                t3 += a[i + 3, k] * x[k]
            out[i], out[i + 1], out[i + 2], out[i + 3] = t0, t1, t2, t3
        for i in range(whole, rows):
            out[i] = dot(a[i], x, zero, in_any_order)
    else:
        for i in range(rows):
            out[i] = dot(a[i], x, zero, in_any_order)

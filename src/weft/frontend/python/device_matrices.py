"""NumPy's functions of matrices, in the kernel language itself.

Each means what NumPy's does for the arguments that `weft.frontend.python.lowering.arrays.written` lets through; systems
of equations are solved by elimination with row pivots (Golub and Van Loan, *Matrix Computations*, 3.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.frontend.python.device_products import add_products


def ones_along(out: Any, k: Any) -> None:
    """Store ones along a diagonal."""
    for i in range(max(0, -k), min(out.shape[0], out.shape[1] - k)):
        out[i, i + k] = 1


def upper(m: Any, k: Any) -> Any:
    """What is on a diagonal or above it, and zeros."""
    made = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(max(0, i + k), m.shape[1]):
            made[i, j] = m[i, j]
    return made


def lower(m: Any, k: Any) -> Any:
    """What is on a diagonal or below it, and zeros."""
    made = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(min(m.shape[1], i + k + 1)):
            made[i, j] = m[i, j]
    return made


def on_diagonal(v: Any, k: Any) -> Any:
    """A matrix of zeros but for a diagonal."""
    n = v.size + abs(k)
    made = np.zeros((n, n), v.dtype)
    for i in range(v.size):
        made[i + max(0, -k), i + max(0, k)] = v[i]
    return made


def diagonal(v: Any, k: Any) -> Any:
    """The elements of a diagonal."""
    rows, columns = max(0, -k), max(0, k)
    n = max(0, min(v.shape[0] - rows, v.shape[1] - columns))
    made = np.empty(n, v.dtype)
    for i in range(n):
        made[i] = v[i + rows, i + columns]
    return made


def trace(a: Any, offset: Any) -> Any:
    """The sum of a diagonal."""
    return diagonal(a, offset).sum()


def covariances(m: Any, ddof: Any) -> Any:
    """Of rows that are variables."""
    apart = m - np.reshape(m.mean(axis=1), (m.shape[0], 1))
    return (apart @ np.conj(apart).T) / max(m.shape[1] - ddof, 0)


def correlations(m: Any) -> Any:
    """Of rows that are variables."""
    made = covariances(m, 1)
    spread = np.sqrt(np.real(diagonal(made, 0)))
    for i in range(made.shape[0]):
        for j in range(made.shape[1]):
            made[i, j] = min(max(made[i, j] / spread[i] / spread[j], -1.0), 1.0)
    return made


def length(x: Any) -> Any:
    """The root of the sum of all squares."""
    row = np.ravel(x)
    return np.sqrt((np.real(row) * np.real(row) + np.imag(row) * np.imag(row)).sum())


def _require_square(a: Any) -> None:
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


PANEL = 16
"""Columns that are eliminated one by one, before all behind them is at once: large matrices go through the cache once
for so many. Of 500 rows a determinant takes 3.8 ms, 12.5 with one column at a time (LAPACK 3.2)."""


def _store_negative(rows: Any, k: Any, j: Any, value: Any) -> None:
    """Store what a factor in column `k` is multiplied by to be subtracted; of a complex one each part."""
    if rows.dtype == (value * 1).dtype:
        rows[k, j] = -value
    else:
        rows[2 * k, 2 * j] = -value.real
        rows[2 * k, 2 * j + 1] = -value.imag
        rows[2 * k + 1, 2 * j] = value.imag
        rows[2 * k + 1, 2 * j + 1] = -value.real


def _numbers_of(c: Any) -> Any:
    """The real numbers of a matrix, two of each complex one."""
    return c.view(np.real(c[:0]).dtype)


def _add_stored(
    c: Any, rows: Any, first: Any, last: Any, top: Any, bottom: Any, left: Any, right: Any
) -> None:
    """Add products of columns `first` to `last` with `rows` to some rows and columns behind them."""
    numbers, parts = _numbers_of(c), 2 if c.dtype.kind == "c" else 1
    begin, end = parts * first, parts * last
    add_products(numbers, rows, begin, numbers, top, bottom, begin, end, parts * left, parts * right)


def _room_for_rows(c: Any, n: Any) -> Any:
    """What a panel is stored in, if there is anything behind one."""
    numbers, parts = _numbers_of(c[: PANEL if n > PANEL else 0]), 2 if c.dtype.kind == "c" else 1
    return np.empty((parts * numbers.shape[0], numbers.shape[1]), numbers.dtype)


def _size(x: Any) -> Any:
    """How far from zero a number is, along both axes of complex ones."""
    return abs(np.real(x)) + abs(np.imag(x))


def _subtract_rows(c: Any, i: Any, begin: Any, end: Any, left: Any) -> None:
    """Subtract multiples of some rows from one, by its factors."""
    for k in range(begin, end):
        factor = c[i, k]
        for j in range(left, c.shape[1]):
            c[i, j] -= factor * c[k, j]


def _panel_eliminated(c: Any, n: Any, first: Any, last: Any) -> Any:
    """Bring some columns to triangular form, and their rows; the sign of the exchanges of rows, 0 if singular."""
    sign, columns = 1, c.shape[1]
    for k in range(first, last):
        pivot, greatest = k, _size(c[k, k])
        for i in range(k + 1, n):
            size = _size(c[i, k])
            if size > greatest:
                pivot, greatest = i, size
        if c[pivot, k] == 0:
            return 0
        if pivot != k:
            sign = -sign
            for j in range(first, columns):
                c[k, j], c[pivot, j] = c[pivot, j], c[k, j]
        for i in range(k + 1, n):
            factor = c[i, k] / c[k, k]
            c[i, k] = factor
            for j in range(k + 1, last):
                c[i, j] -= factor * c[k, j]
    for i in range(first + 1, last):
        _subtract_rows(c, i, first, i, last)
    return sign


def _panel_solved(c: Any, n: Any, first: Any, last: Any) -> None:
    """Let the columns behind the first `n` be solutions in some rows, the last of them first."""
    for i in range(last - 1, first - 1, -1):
        _subtract_rows(c, i, i + 1, last, n)
        pivot = c[i, i]
        for j in range(n, c.shape[1]):
            c[i, j] /= pivot


def _eliminated(c: Any, n: Any, is_solved: Any) -> Any:
    """Bring `n` columns to triangular form, factors below; the sign of the exchanges of rows, 0 if singular.

    Where systems of equations are solved, the columns behind become the solutions, and all others are used up.
    """
    sign, panels, rows = 1, (n + PANEL - 1) // PANEL, _room_for_rows(c, n)
    for step in range(2 * panels if is_solved else panels):
        # That no row is negative is to be seen: what is not known to stay in an array is not vectorized.
        first = (step if step < panels else max(2 * panels - 1 - step, 0)) * PANEL
        last = min(first + PANEL, n)
        if step < panels:
            sign *= _panel_eliminated(c, n, first, last)
            if sign == 0:
                break
            top, bottom, left = last, n, last
        else:
            _panel_solved(c, n, first, last)
            top, bottom, left = 0, first, n
        if top < bottom:
            for k in range(first, last):
                for j in range(left, c.shape[1]):
                    _store_negative(rows, k - first, j, c[k, j])
            _add_stored(c, rows, first, last, top, bottom, left, c.shape[1])
    return sign


def _solved(c: Any, n: Any) -> None:
    """Let the columns behind the first `n`, which are used up, be the solutions of systems of equations."""
    if _eliminated(c, n, True) == 0:
        raise np.linalg.LinAlgError("Singular matrix")


def solution(a: Any, b: Any) -> Any:
    """What times `a` gives `b`, a vector or the columns of a matrix."""
    _require_square(a)
    if b.shape[0] != a.shape[0]:
        raise ValueError("solve: the equations and their right sides differ in number")
    n = a.shape[0]
    made = b + (a[:0, :0] * 1.0).sum()
    right = made.reshape(n, made.size // max(n, 1))
    c = np.empty((n, n + right.shape[1]), made.dtype)
    c[:, :n] = a
    c[:, n:] = right
    _solved(c, n)
    right[:, :] = c[:, n:]
    return made


def inverse(a: Any) -> Any:
    """What times `a` gives ones on the diagonal."""
    _require_square(a)
    n = a.shape[0]
    c = np.zeros((n, 2 * n), (a[:0, :0] * 1.0).dtype)
    c[:, :n] = a
    ones_along(c, n)
    _solved(c, n)
    return c[:, n:].copy()


def determinant(a: Any) -> Any:
    """The product of the pivots."""
    _require_square(a)
    m = a * 1.0
    product = m[:0, :0].sum() + _eliminated(m, m.shape[0], False)
    for i in range(m.shape[0]):
        product *= m[i, i]
    return product


def lower_factor(a: Any) -> Any:
    """The lower triangle whose product with its own transposed and conjugate matrix is `a` (Cholesky)."""
    _require_square(a)
    n, m = a.shape[0], lower(a, 0) * 1.0
    rows = _room_for_rows(m, n)
    for first in range(0, n, PANEL):
        last = min(first + PANEL, n)
        for k in range(first, last):
            square = np.real(m[k, k])
            for j in range(first, k):
                square -= np.real(m[k, j] * np.conj(m[k, j]))
            if not square > 0:
                raise np.linalg.LinAlgError("Matrix is not positive definite")
            m[k, k] = np.sqrt(square)
            for i in range(k + 1, n):
                total = m[i, k]
                for j in range(first, k):
                    total -= m[i, j] * np.conj(m[k, j])
                m[i, k] = total / m[k, k]
        for k in range(first, last if last < n else first):
            for i in range(last, n):
                _store_negative(rows, k - first, i, np.conj(m[i, k]))
        # Rows end 64 by 64: what is above the diagonal is not wanted.
        for top in range(last, n, 64):
            bottom = min(top + 64, n)
            _add_stored(m, rows, first, last, top, bottom, last, bottom)
    for i in range(n):
        for j in range(i + 1, n):
            m[i, j] = 0
    return m

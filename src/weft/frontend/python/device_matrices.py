"""NumPy's functions of matrices, in the kernel language itself.

Each means what NumPy's does for the arguments that `weft.frontend.python.lowering.arrays.written` lets through; systems
of equations are solved by elimination with row pivots (Golub and Van Loan, *Matrix Computations*, 3.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np


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


def _eliminated(m: Any, b: Any) -> Any:
    """Bring a matrix to triangular form, and rows of `b` with it; the sign of the exchanges of rows, 0 if singular."""
    n, sign = m.shape[0], 1
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(m[i, k]) > abs(m[pivot, k]):
                pivot = i
        if m[pivot, k] == 0:
            return 0
        if pivot != k:
            sign = -sign
            for j in range(k, n):
                m[k, j], m[pivot, j] = m[pivot, j], m[k, j]
            for j in range(b.shape[1]):
                b[k, j], b[pivot, j] = b[pivot, j], b[k, j]
        for i in range(k + 1, n):
            factor = m[i, k] / m[k, k]
            for j in range(k + 1, n):
                m[i, j] -= factor * m[k, j]
            for j in range(b.shape[1]):
                b[i, j] -= factor * b[k, j]
    return sign


def _solved(m: Any, b: Any) -> None:
    """Store the solutions of systems of equations to `b`; `m` is used up."""
    n = m.shape[0]
    if _eliminated(m, b) == 0:
        raise np.linalg.LinAlgError("Singular matrix")
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            factor = m[i, k]
            for j in range(b.shape[1]):
                b[i, j] -= factor * b[k, j]
        for j in range(b.shape[1]):
            b[i, j] /= m[i, i]


def solution(a: Any, b: Any) -> Any:
    """What times `a` gives `b`, a vector or the columns of a matrix."""
    _require_square(a)
    if b.shape[0] != a.shape[0]:
        raise ValueError("solve: the equations and their right sides differ in number")
    made = b + (a[:0, :0] * 1.0).sum()
    _solved(a * 1.0 + (np.ravel(made)[:0]).sum(), made.reshape(a.shape[0], made.size // max(a.shape[0], 1)))
    return made


def inverse(a: Any) -> Any:
    """What times `a` gives ones on the diagonal."""
    _require_square(a)
    made = np.zeros_like(a) * 1.0
    ones_along(made, 0)
    _solved(a * 1.0, made)
    return made


def determinant(a: Any) -> Any:
    """The product of the pivots."""
    _require_square(a)
    m = a * 1.0
    product = m[:0, :0].sum() + _eliminated(m, m[:, :0])
    for i in range(m.shape[0]):
        product *= m[i, i]
    return product


def lower_factor(a: Any) -> Any:
    """The lower triangle whose product with its own transposed and conjugate matrix is `a` (Cholesky)."""
    _require_square(a)
    n, m = a.shape[0], lower(a, 0) * 1.0
    for k in range(n):
        square = np.real(m[k, k])
        for j in range(k):
            square -= np.real(m[k, j] * np.conj(m[k, j]))
        if not square > 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        m[k, k] = np.sqrt(square)
        for i in range(k + 1, n):
            total = m[i, k]
            for j in range(k):
                total -= m[i, j] * np.conj(m[k, j])
            m[i, k] = total / m[k, k]
    return m

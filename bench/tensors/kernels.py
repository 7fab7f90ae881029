"""The six kernels of Moll, Fig. 13.10, as loops over `prange`, on arrays with a border that the stencil reaches into.

The drawings of the figure are lost; Jacobi is taken for a star, Seidel for a square, sparse Jacobi for a star whose
points are two elements away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Point = tuple[int, int]


def _star(*distances: int) -> list[Point]:
    around = [p for d in distances for p in ((-d, 0), (0, -d), (0, d), (d, 0))]
    return [(0, 0), *around]


def _square(reach: int) -> list[Point]:
    return [(j, i) for j in range(-reach, reach + 1) for i in range(-reach, reach + 1)]


STENCILS: dict[str, list[Point]] = {
    "Jacobi-5": _star(1),
    "Seidel-9": _square(1),
    "Jacobi-9": _star(1, 2),
    "Seidel-25": _square(2),
    "sparse Jacobi-5": _star(2),
}
TRANSPOSE = "transpose"
KERNELS = (*STENCILS, TRANSPOSE)


@dataclass(frozen=True, slots=True)
class Task:
    """A kernel and its arguments.

    Parameters
    ----------
    source
        Its text, a function ``kernel(a, b)``.
    a, b
        What it reads, and where it writes.
    wanted
        What `b` is to be.
    border
        How far it reads around what it writes.
    """

    source: str
    a: Any
    b: Any
    wanted: Any
    border: int = 0


def reach(points: list[Point]) -> int:
    """How far a stencil reaches."""
    return max(max(abs(j), abs(i)) for j, i in points)


def task(name: str, size: int, dtype: Any = np.float64) -> Task:
    """A kernel on `size` by `size` elements."""
    random = np.random.default_rng(1)
    if name == TRANSPOSE:
        a = random.random((size, size)).astype(dtype)
        return Task(
            _source("0, a.shape[0]", "0, a.shape[1]", "b[i, j] = a[j, i]"), a, np.zeros_like(a), a.T.copy()
        )
    points = STENCILS[name]
    border = reach(points)
    a = random.random((size + 2 * border, size + 2 * border)).astype(dtype)
    wanted = np.zeros_like(a)
    inner = slice(border, border + size)
    for j, i in points:
        wanted[inner, inner] += a[border + j : border + j + size, border + i : border + i + size]
    wanted *= 1 / len(points)
    total = " + ".join(f"a[j{_by(j)}, i{_by(i)}]" for j, i in points)
    body = f"b[j, i] = {1 / len(points)!r} * ({total})"
    along = [f"{border}, a.shape[{d}] - {border}" for d in range(2)]
    return Task(_source(*along, body), a, np.zeros_like(a), wanted, border)


def _by(offset: int) -> str:
    return f" {'-' if offset < 0 else '+'} {abs(offset)}" if offset else ""


def _source(rows: str, columns: str, body: str) -> str:
    return f"def kernel(a, b):\n    for j in prange({rows}):\n        for i in prange({columns}):\n            {body}\n"


def function_of(source: str, prange: Any) -> Callable[..., Any]:
    """The function of a text."""
    scope: dict[str, Any] = {"prange": prange, "np": np}
    exec(compile(source, "<bench.tensors>", "exec"), scope)
    return scope["kernel"]

"""The masked concretization (Moll, §6.2) as a program: whether a vector of lane values belongs to a shape.

For tests, which compare what an analysis claims with what an interpreter saw; exact, not fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.analysis.integers.bounds import to_signed, to_unsigned, trailing_zeros
from weft.analysis.integers.intervals import full
from weft.analysis.shapes.shape import ACTIVE, BASE, SYMBOLIC, Shape

Coordinates = tuple[int, ...]
Lanes = list[tuple[Coordinates, int]]


def contains(shape: Shape, lanes: np.ndarray, active: np.ndarray | Sequence[bool] | None, bits: int) -> bool:
    """Whether `lanes` is in the concretization of `shape`; parameters as in `domain.Domain.contains`."""
    if shape.is_bottom:
        return active is not None and not np.any(active)
    present = _active_lanes(lanes, active, len(shape.strides))
    if not bits:
        return _is_constant_per_group(shape, [(at, _raw(value)) for at, value in present])
    values = [(at, to_unsigned(int(value), bits)) for at, value in present]
    if not _fits(shape, values, 1 << bits, None):
        return False
    if shape.nuw >= ACTIVE and not _fits(shape, values, None, (0, (1 << bits) - 1), shape.nuw):
        return False
    signed = [(at, to_signed(value, bits)) for at, value in values]
    return shape.nsw < ACTIVE or _fits(shape, signed, None, full(bits), shape.nsw)


def _active_lanes(
    lanes: np.ndarray, active: np.ndarray | Sequence[bool] | None, rank: int
) -> list[tuple[Coordinates, Any]]:
    lanes = np.asarray(lanes)
    mask = np.ones(lanes.shape, bool) if active is None else np.asarray(active, bool)
    if lanes.ndim == rank:
        return [(tuple(map(int, at)), lanes[tuple(at)]) for at in np.argwhere(mask)]
    raise ValueError(f"{lanes.ndim}-dimensional lanes for a shape of {rank} dimensions")


def _raw(value: Any) -> object:
    # Bit patterns: a NaN is the same in all lanes where its bits are.
    return value.tobytes() if isinstance(value, np.generic) else value


def _is_constant_per_group(shape: Shape, lanes: Sequence[tuple[Coordinates, object]]) -> bool:
    seen: dict[Coordinates, object] = {}
    return all(seen.setdefault(_group(shape, at), value) == value for at, value in lanes)


def _group(shape: Shape, at: Coordinates) -> Coordinates:
    """The coordinates on which the base may depend."""
    return tuple(c for c, s in zip(at, shape.strides, strict=True) if s is None)


def _fits(
    shape: Shape,
    lanes: Lanes,
    modulus: int | None,
    limits: tuple[int, int] | None,
    level: int = ACTIVE,
) -> bool:
    """Whether bases f and symbolic strides C exist, modulo `modulus` or over the integers.

    The symbolic strides are multiples of 2^known_bits, so the equations of two lanes of a group are
    Σ (C/2^k)·Δℓ = (Δv - Δσ)/2^k.
    """
    unit = 1 << shape.known_bits
    dims = [d for d, s in enumerate(shape.strides) if s is SYMBOLIC]
    first: dict[Coordinates, tuple[Coordinates, int]] = {}
    equations: list[tuple[list[int], int]] = []
    for at, value in lanes:
        sigma = sum(s * c for s, c in zip(shape.strides, at, strict=True) if isinstance(s, int))
        rest = value - sigma
        if (rest - shape.residue) % unit:
            return False
        origin, base = first.setdefault(_group(shape, at), (at, rest))
        equations.append(([at[d] - origin[d] for d in dims], (rest - base) // unit))
    solution = _solve(equations, None if modulus is None else modulus // unit)
    if solution is None or level < BASE or limits is None:
        return solution is not None
    return _bases_within(shape, dims, solution, list(first.values()), limits)


def _bases_within(
    shape: Shape,
    dims: list[int],
    solution: tuple[list[int], bool],
    first: list[tuple[Coordinates, int]],
    limits: tuple[int, int],
) -> bool:
    strides, unique = solution
    if dims and not unique:
        # Free strides: put the base of the first lane of a group itself within the limits, with stride zero.
        return True
    unit = 1 << shape.known_bits
    for at, rest in first:
        base = rest - sum(unit * c * at[d] for c, d in zip(strides, dims, strict=True))
        if not limits[0] <= base <= limits[1]:
            return False
    return True


def _solve(equations: list[tuple[list[int], int]], modulus: int | None) -> tuple[list[int], bool] | None:
    """Integers C with A·C = d, over the integers or modulo a power of two; and whether they are unique.

    By column operations to echelon form over the integers (Hermite), with the modulus as one more unknown a row
    when there is one: rows are few and mostly alike, so duplicates go first.
    """
    rows = sorted({(tuple(a), d if modulus is None else d % modulus) for a, d in equations})
    rows = [(a, d) for a, d in rows if any(a) or d]
    if any(not any(a) for a, _ in rows):
        return None
    if not rows:
        count = len(equations[0][0]) if equations else 0
        return [0] * count, count == 0
    if modulus is not None:
        return _solve_modulo(rows, modulus)
    return _solve_integers(rows)


def _solve_modulo(rows: list[tuple[tuple[int, ...], int]], modulus: int) -> tuple[list[int], bool] | None:
    """Elimination with the pivot of least 2-adic valuation, which divides all other entries."""
    work = [[*(c % modulus for c in a), d % modulus] for a, d in rows]
    columns = list(range(len(rows[0][0])))
    while work:
        entries = [(trailing_zeros(row[c]), i, c) for i, row in enumerate(work) for c in columns if row[c]]
        if not entries:
            return ([], False) if not any(row[-1] for row in work) else None
        zeros, i, c = min(entries)
        pivot = work.pop(i)
        if pivot[-1] % (1 << zeros):
            return None
        inverse = pow(pivot[c] >> zeros, -1, modulus)
        for row in work:
            factor = (row[c] >> zeros) * inverse
            row[:] = [(r - factor * p) % modulus for r, p in zip(row, pivot, strict=True)]
        columns.remove(c)
    return [], False


def _solve_integers(rows: list[tuple[tuple[int, ...], int]]) -> tuple[list[int], bool] | None:
    """Column-style Hermite elimination: A·U = L lower triangular, then forward substitution."""
    count = len(rows[0][0])
    matrix = [list(a) for a, _ in rows]
    transform = [[int(i == j) for j in range(count)] for i in range(count)]
    solved: list[int] = []
    for row, (_, target) in zip(matrix, rows, strict=True):
        rank = len(solved)
        while sum(1 for c in range(rank, count) if row[c]) > 1:
            low = min((c for c in range(rank, count) if row[c]), key=lambda c: abs(row[c]))
            for c in range(rank, count):
                if c != low and row[c]:
                    factor = row[c] // row[low]
                    for line in (*matrix, *transform):
                        line[c] -= factor * line[low]
        pivot = next((c for c in range(rank, count) if row[c]), None)
        remainder = target - sum(row[c] * y for c, y in enumerate(solved))
        if pivot is None:
            if remainder:
                return None
            continue
        for line in (*matrix, *transform):
            line[rank], line[pivot] = line[pivot], line[rank]
        if remainder % row[rank]:
            return None
        solved.append(remainder // row[rank])
    values = [*solved, *([0] * (count - len(solved)))]
    strides = [sum(t * y for t, y in zip(line, values, strict=True)) for line in transform]
    return strides, len(solved) == count

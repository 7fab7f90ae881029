"""Concretizations of one-dimensional shapes on small integers, enumerated with NumPy.

A second statement of what a shape means, written apart from `weft.analysis.shapes.concretize`: existence of bases
and symbolic strides is decided by trying all of them.
"""

from __future__ import annotations

import itertools
import random
from functools import lru_cache

import numpy as np

from analysis.lanewise import signed
from weft.analysis.shapes import ACTIVE, BASE, SYMBOLIC, Shape
from weft.analysis.shapes.lattice import make

Batch = tuple[np.ndarray, np.ndarray]
"""Unsigned lane values and activity, one vector a row."""


def members(shape: Shape, values: np.ndarray, active: np.ndarray, bits: int) -> np.ndarray:
    """Which rows are in the concretization of `shape`."""
    width = values.shape[1]
    lane = np.arange(width)
    (stride,) = shape.strides
    unit = 1 << shape.known_bits
    if stride is None:
        return ((values % unit == shape.residue) | ~active).all(axis=1)
    if stride is SYMBOLIC:
        modular = exact = [c * lane for c in range(0, 1 << bits, unit)]
        if shape.nsw >= ACTIVE or shape.nuw >= ACTIVE:
            exact = [c * lane for c in range(-(1 << bits), (1 << bits) + 1, unit)]
    else:
        modular = exact = [stride * lane]
    result = _some_base(shape, values, active, modular, 1 << bits, None)
    if shape.nuw >= ACTIVE:
        limits = (0, (1 << bits) - 1) if shape.nuw == BASE else None
        result &= _some_base(shape, values, active, exact, None, limits)
    if shape.nsw >= ACTIVE:
        half = 1 << (bits - 1)
        limits = (-half, half - 1) if shape.nsw == BASE else None
        result &= _some_base(shape, signed(values, bits), active, exact, None, limits)
    return result


def _some_base(
    shape: Shape,
    values: np.ndarray,
    active: np.ndarray,
    linear: list[np.ndarray],
    modulus: int | None,
    limits: tuple[int, int] | None,
) -> np.ndarray:
    found = ~active.any(axis=1)
    unit = 1 << shape.known_bits
    left = np.flatnonzero(~found)
    values, passive, first = values[left], ~active[left], active[left].argmax(axis=1)
    for sigma in linear:
        rest = values - sigma
        if modulus is not None:
            rest = rest % modulus
        base = rest[np.arange(left.size), first]
        fits = ((rest == base[:, None]) | passive).all(axis=1) & (base % unit == shape.residue)
        if limits is not None:
            fits &= (limits[0] <= base) & (base <= limits[1])
        if fits.any():
            found[left[fits]] = True
            left, values, passive, first = (rows[~fits] for rows in (left, values, passive, first))
            if not left.size:
                break
    return found


@lru_cache(maxsize=1 << 14)
def vectors(shape: Shape, bits: int, width: int) -> Batch:
    """Vectors of a shape under masks: all of them for strides that are numbers, else a large sample."""
    rng = np.random.default_rng(hash((bits, width)) & 0xFFFF)
    masks = np.array(list(itertools.product([False, True], repeat=width)))[1:]
    (stride,) = shape.strides
    size = 1 << bits
    lane = np.arange(width)
    if stride is None:
        values = rng.integers(0, size, (200, width))
        values += (shape.residue - values) % (1 << shape.known_bits)
        active = masks[rng.integers(0, len(masks), len(values))]
    elif stride is SYMBOLIC:
        grid = np.array(list(itertools.product(range(size), range(0, size, 1 << shape.known_bits))))
        grid = grid[rng.permutation(len(grid))[:400]]
        values = grid[:, :1] + grid[:, 1:] * lane
        active = np.where(
            rng.random((len(values), 1)) < 0.5, True, masks[rng.integers(0, len(masks), len(values))]
        )
    else:
        values = np.repeat(np.arange(size)[:, None] + stride * lane, len(masks), axis=0)
        active = np.tile(masks, (size, 1))
    values = values & (size - 1)
    inside = members(shape, values, active, bits)
    return values[inside], active[inside]


def random_shape(rng: random.Random, bits: int, width: int, symbolic: bool = True) -> Shape:
    """A canonical shape; small strides and full alignment more often than others."""
    kinds = [0, 0, 1, 1, -1, 2, rng.randrange(1 << bits), 1 << rng.randrange(bits), None]
    stride = rng.choice([*kinds, SYMBOLIC] if symbolic else kinds)
    known = rng.choice([0, 1, 2, bits, rng.randint(0, bits)])
    residue = rng.choice([0, 0, rng.randrange(1 << bits)])
    return make((width,), bits, (stride,), residue, known, rng.randint(0, 2), rng.randint(0, 2))


def all_shapes(bits: int, width: int) -> list[Shape]:
    """Every canonical shape whose stride is a number."""
    low = [(r, k) for k in range(bits + 1) for r in range(1 << k)]
    return sorted(
        {
            make((width,), bits, (s,), r, k, nsw, nuw)
            for s in range(1 << bits)
            for r, k in low
            for nsw in range(3)
            for nuw in range(3)
        },
        key=lambda shape: (repr(shape.strides[0]), shape.known_bits, shape.residue, shape.nsw, shape.nuw),
    )

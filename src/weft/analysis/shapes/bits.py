"""Single bits of strided values: which are known, and how a value splits at a bit position."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from weft.analysis.integers.bounds import trailing_zeros
from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes.lattice import Extents, span, weaken
from weft.analysis.shapes.shape import SYMBOLIC, Shape, Stride


def ones(count: int) -> int:
    """A mask of `count` low bits."""
    return (1 << count) - 1


class Split(NamedTuple):
    """A value seen as high·2^c + low.

    Parameters
    ----------
    shape
        The value; dimensions that carry from the low part into the high part have become None.
    low, high
        Strides of ``value mod 2^c`` and of ``value - value mod 2^c``.
    """

    shape: Shape
    low: tuple[Stride, ...]
    high: tuple[Stride, ...]


def split(extents: Extents, x: Shape, c: int) -> Split:
    """Split a value at bit c.

    A stride that is a multiple of 2^c moves the high part only. The others move the low part only, provided that
    together they never carry out of it: the base has k known low bits, and base + σ stays in its block of
    2^min(k, c). Neither needs exactness, since blocks do not wrap.
    """
    if x.known_bits < c and SYMBOLIC in x.strides:
        x = weaken(x, tuple(None if s is SYMBOLIC else s for s in x.strides))
    x = _without_carry(extents, x, c)
    low: list[Stride] = []
    high: list[Stride] = []
    for s in x.strides:
        if isinstance(s, int) and trailing_zeros(s) < c:
            low.append(s)
            high.append(0)
        else:
            low.append(None if s is None else 0)
            high.append(s)
    return Split(x, tuple(low), tuple(high))


def _without_carry(extents: Extents, x: Shape, c: int) -> Shape:
    """`x` with as many as possible of the strides that move the low c bits; the others become None."""
    small = [d for d, s in enumerate(x.strides) if isinstance(s, int) and trailing_zeros(s) < c]
    for count in range(len(small), 0, -1):
        for kept in combinations(small, count):
            gone = set(small).difference(kept)
            rest = weaken(x, tuple(None if d in gone else s for d, s in enumerate(x.strides)))
            bounds = span(extents, tuple(s if d in kept else 0 for d, s in enumerate(x.strides)))
            block = ones(min(rest.known_bits, c))
            base = rest.residue & block
            if bounds is not None and base + bounds[0] >= 0 and base + bounds[1] <= block:
                return rest
    return weaken(x, tuple(None if d in small else s for d, s in enumerate(x.strides)))


def known_zeros_and_ones(extents: Extents, bits: int, x: Shape, bounds: Interval | None) -> tuple[int, int]:
    """Masks of the bits that are 0, and that are 1, in every lane."""
    low = ones(x.lane_known_bits)
    zero, one = ~x.residue & low, x.residue & low
    reach = span(extents, x.strides)
    if reach is not None:
        first, last = x.residue + reach[0], x.residue + reach[1]
        if first >= 0 and last <= ones(x.known_bits):
            # Values between these two share the bits above the highest in which they differ.
            common = ones(x.known_bits) & ~ones((first ^ last).bit_length())
            zero |= ~first & common
            one |= first & common
    if bounds is not None:
        if bounds.lo >= 0:
            zero |= ones(bits) & ~ones(bounds.hi.bit_length())
        elif bounds.hi < 0:
            one |= ones(bits) & ~ones((~bounds.lo).bit_length())
    return zero, one

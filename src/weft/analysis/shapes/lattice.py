"""The lattice of shapes (Moll, §10.2; Sampaio et al., Fig. 12): canonical form, order, join and meet.

* **⊥** is `BOTTOM`; **⊤** has stride None in each dimension and no known bits.
* **Order.** Per dimension, number ⊑ `SYMBOLIC` ⊑ None. ``a ⊑ b`` if each stride of a is below that of b, the
  low bits that b knows of its base follow from a (a stride s that b no longer has makes all but the
  `trailing_zeros(s)` low bits unknown), and a is at least as exact as b wherever b still has a stride.
* **Join.** The least such b: equal numbers stay, two different numbers become `SYMBOLIC` (one of two strided
  vectors is strided), and of the bases the low bits are kept on which both agree.
* **Height** for d dimensions and n bits: at most 2d + n + 5 (⊥, two steps a dimension, n known bits, two levels
  of exactness in either reading).

Canonical form makes equal what means the same: an extent of 1 has stride 0, strides are in the signed range, a
dimension that cannot change any bit has stride 0, exactness that follows from strides and known bits is noted,
and where a stride is None there is none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from weft.analysis.integers.bounds import to_signed, trailing_zeros
from weft.analysis.shapes.shape import BASE, BOTTOM, SYMBOLIC, WRAPS, Shape, Stride

Extents: TypeAlias = tuple[int | None, ...]


def span(extents: Extents, strides: tuple[Stride, ...]) -> tuple[int, int] | None:
    """Least and greatest value of σ over the lane space; None if an extent that matters is unknown."""
    low = high = 0
    for extent, stride in zip(extents, strides, strict=True):
        if isinstance(stride, int) and stride:
            if extent is None:
                return None
            reach = stride * (extent - 1)
            if reach < 0:
                low += reach
            else:
                high += reach
    return low, high


def linear_stride(extents: Extents, strides: tuple[Stride, ...]) -> int | None:
    """By how much a value grows from each lane to the next, lanes counted from dimension 0 upwards.

    None where that is no one number. Of a lane space with an unknown extent, it is the stride along dimension 0.
    """
    if not strides or not all(isinstance(s, int) for s in strides):
        return None
    first = strides[0]
    assert isinstance(first, int)
    if None in extents:
        return first
    step: int | None = None
    before = 1
    for extent, stride in zip(extents, strides, strict=True):
        assert isinstance(stride, int) and extent is not None
        if extent == 1:
            continue
        if step is None:
            step = stride
        elif stride != step * before:
            return None
        before *= extent
    return step or 0


@lru_cache(maxsize=1 << 16)
def make(
    extents: Extents,
    bits: int,
    strides: tuple[Stride, ...],
    residue: int = 0,
    known_bits: int = 0,
    nsw: int = WRAPS,
    nuw: int = WRAPS,
) -> Shape:
    """The canonical shape with at least these claims.

    Strides may be any integers: one that is not in the signed range is taken modulo 2^bits, and the claims of
    exactness, which were about the stride as given, are dropped. Values that are no integers have 0 bits; they
    and booleans are uniform or varying in each dimension, nothing between.
    """
    known = min(known_bits, bits)
    new: list[Stride] = []
    for extent, given in zip(extents, strides, strict=True):
        stride = given
        if extent == 1:
            stride = 0
        elif isinstance(stride, int) and stride and bits > 1:
            stride = to_signed(stride, bits)
            if stride != given:
                nsw = nuw = WRAPS
        elif bits <= 1 and stride != 0:
            if isinstance(stride, int):
                known = min(known, trailing_zeros(stride))
            stride = None
        new.append(stride)
    if bits and known == bits:
        # What is no number leaves the known bits alone; if these are all bits, it changes nothing.
        new = [s if isinstance(s, int) else 0 for s in new]
    residue &= (1 << known) - 1
    final = tuple(new)
    if None in final:
        return Shape(final, residue, known, WRAPS, WRAPS)
    if SYMBOLIC not in final:
        proved = _exactness(extents, bits, final, residue, known)
        nsw, nuw = max(nsw, proved[0]), max(nuw, proved[1])
    return Shape(final, residue, known, nsw, nuw)


def _exactness(
    extents: Extents, bits: int, strides: tuple[Stride, ...], residue: int, known: int
) -> tuple[int, int]:
    """Levels of exactness that follow from the rest: signed, unsigned. No stride is None or symbolic.

    If base + σ does not leave the block of 2^known values around the base, nothing wraps: blocks do not
    straddle the ends of the signed or the unsigned range. A constant base is compared with the ends themselves.
    """
    bounds = span(extents, strides)
    if bounds is None:
        return WRAPS, WRAPS
    low, high = bounds
    unsigned = BASE if residue + low >= 0 and residue + high < 1 << known else WRAPS
    if known < bits or not bits:
        return unsigned, unsigned
    half = 1 << (bits - 1)
    base = to_signed(residue, bits)
    return (BASE if base + low >= -half and base + high < half else WRAPS), unsigned


def kept_bits(shape: Shape, strides: tuple[Stride, ...]) -> int:
    """How many low bits of the base stay known when `shape` is seen as having `strides`.

    A dimension whose stride was a number and is no more moves from σ into the base.
    """
    known = shape.known_bits
    for old, new in zip(shape.strides, strides, strict=True):
        if isinstance(old, int) and old and not isinstance(new, int):
            known = min(known, trailing_zeros(old))
    return known


def _join_stride(a: Stride, b: Stride) -> Stride:
    if a == b:
        return a
    return None if a is None or b is None else SYMBOLIC


def weaken(shape: Shape, strides: tuple[Stride, ...]) -> Shape:
    """`shape` with the given strides, each equal to or above its own."""
    if shape.strides == strides:
        return shape
    known = kept_bits(shape, strides)
    residue = shape.residue & ((1 << known) - 1)
    if None in strides:
        return Shape(strides, residue, known, WRAPS, WRAPS)
    return Shape(strides, residue, known, shape.nsw, shape.nuw)


def join(a: Shape, b: Shape) -> Shape:
    """The least upper bound of two shapes of the same type."""
    if a is b or a == b or not b.strides:
        return a
    if not a.strides:
        return b
    strides = tuple(map(_join_stride, a.strides, b.strides))
    x, y = weaken(a, strides), weaken(b, strides)
    known = min(x.known_bits, y.known_bits, trailing_zeros(x.residue ^ y.residue))
    return Shape(strides, x.residue & ((1 << known) - 1), known, min(x.nsw, y.nsw), min(x.nuw, y.nuw))


def leq(a: Shape, b: Shape) -> bool:
    """Whether a ⊑ b: every vector of `a` is one of `b`, and the claims show it."""
    return join(a, b) == b


def meet(extents: Extents, bits: int, a: Shape, b: Shape) -> Shape:
    """A shape with the claims of both, which are about the same value (the reduction of the product).

    Two different numbers for one stride can only both be true where no two active lanes meet; then the first is
    kept.
    """
    if not a.strides or not b.strides:
        return BOTTOM
    strides = tuple(map(_meet_stride, a.strides, b.strides))
    x, y = _sharpen(a, strides), _sharpen(b, strides)
    residue, known = max(x, y, key=lambda bits_known: bits_known[1])
    nsw, nuw = _met_level(a, b, strides, "nsw"), _met_level(a, b, strides, "nuw")
    return make(extents, bits, strides, residue, known, nsw, nuw)


def _meet_stride(a: Stride, b: Stride) -> Stride:
    if isinstance(a, int) or b is None:
        return a
    return b


def _sharpen(shape: Shape, strides: tuple[Stride, ...]) -> tuple[int, int]:
    """Residue and known bits of `shape` once strides it lacked are taken out of its base."""
    known = shape.known_bits
    for old, new in zip(shape.strides, strides, strict=True):
        if isinstance(new, int) and old != new:
            known = min(known, trailing_zeros(new))
            if isinstance(old, int):
                known = min(known, trailing_zeros(old))
        elif new is SYMBOLIC and old is None:
            known = 0  # of the base: lane zero need not be active
    return shape.residue & ((1 << known) - 1), known


def _met_level(a: Shape, b: Shape, strides: tuple[Stride, ...], reading: str) -> int:
    # Exactness is about a shape's own strides; it carries over only where these are the result's.
    return max((getattr(shape, reading) for shape in (a, b) if shape.strides == strides), default=WRAPS)

"""Transfer functions of casts.

Truncation is a ring homomorphism: strides and known low bits carry over. An extension keeps a stride only where the
operand is exact in its reading; `zext nneg` may use either.
"""

from __future__ import annotations

from weft.analysis.integers.bounds import to_signed
from weft.analysis.integers.intervals import full, unsigned
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.lattice import Extents, make, span, weaken
from weft.analysis.shapes.shape import ACTIVE, BASE, WRAPS, Shape


def zext(a: Application) -> Shape:
    """Exact in the unsigned reading."""
    (x,) = a.operands
    source = a.facts[0].bits
    by_zeros = extend(a.extents, source, a.bits, x, "nuw", a.need)
    if "nneg" not in a.flags:
        return by_zeros
    # Both extensions give the same; what one knows more, the other may have as well.
    by_sign = extend(a.extents, source, a.bits, x, "nsw", a.need)
    best = min((by_zeros, by_sign), key=lambda shape: (None in shape.strides, -shape.known_bits))
    return a.result(
        best.strides,
        best.residue,
        best.known_bits,
        max(by_zeros.nsw, by_sign.nsw),
        max(by_zeros.nuw, min(ACTIVE, by_sign.nsw)),
    )


def sext(a: Application) -> Shape:
    """Exact in the signed reading."""
    (x,) = a.operands
    return extend(a.extents, a.facts[0].bits, a.bits, x, "nsw", a.need)


def trunc(a: Application) -> Shape:
    """The low bits."""
    (x,) = a.operands
    nsw, nuw = "nsw" in a.flags, "nuw" in a.flags
    bounds = a.range(0)
    if bounds is not None:
        limits = full(a.bits)
        nsw = nsw or (limits.lo <= bounds.lo and bounds.hi <= limits.hi)
        nuw = nuw or unsigned(bounds, a.facts[0].bits)[1] < 1 << a.bits
    return truncate(a.extents, a.bits, x, nsw, nuw)


def same_bits(a: Application) -> Shape:
    """ptrtoint, inttoptr, addrspacecast, bitcast: addresses are integers, address spaces share one flat space."""
    (x,) = a.operands
    source = a.facts[0].bits
    if not source or not a.bits:
        return a.elementwise()
    if source == a.bits:
        return x
    if source > a.bits:
        return truncate(a.extents, a.bits, x)
    return extend(a.extents, source, a.bits, x, "nuw", a.need)


def truncate(extents: Extents, bits: int, x: Shape, nsw: bool = False, nuw: bool = False) -> Shape:
    """`x` modulo 2^bits; the flags say that no lane changes its value in that reading."""
    return make(
        extents,
        bits,
        x.strides,
        x.residue,
        x.known_bits,
        min(x.nsw, ACTIVE) if nsw else WRAPS,
        min(x.nuw, ACTIVE) if nuw else WRAPS,
    )


def extend(extents: Extents, source: int, bits: int, x: Shape, reading: str, need: int) -> Shape:
    """`x` extended from `source` bits, by zeros for the reading "nuw" and by sign bits for "nsw"."""
    if getattr(x, reading) < need:
        x = weaken(x, tuple(0 if s == 0 else None for s in x.strides))
    level = getattr(x, reading)
    residue, known = x.residue, x.known_bits
    if known == source and level == BASE:
        # The base is in range and all its bits are known: it is that number.
        residue = to_signed(residue, source) if reading == "nsw" else residue
        known = bits
    if reading == "nsw":
        return make(
            extents, bits, x.strides, residue, known, max(level, _fits(extents, bits, x, full(source))), WRAPS
        )
    return make(
        extents,
        bits,
        x.strides,
        residue,
        known,
        max(level, _fits(extents, bits, x, (0, (1 << source) - 1))),
        level,
    )


def _fits(extents: Extents, bits: int, x: Shape, limits: tuple[int, int]) -> int:
    """BASE if a base, some exact lane within `limits` less its σ, must be in the signed range."""
    reach = span(extents, x.strides) if x.is_strided else None
    if reach is None:
        return WRAPS
    low, high = full(bits)
    return BASE if limits[0] - reach[1] >= low and limits[1] - reach[0] <= high else WRAPS

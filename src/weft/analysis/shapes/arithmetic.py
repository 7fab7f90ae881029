"""Transfer functions of add, sub, mul and shl (Moll §10.4.2, Fig. 10.9 and 10.14).

Modulo 2ⁿ the integers are a ring, so sums, differences and multiples of strided values are strided whatever
wraps. Exactness is another matter: it needs a flag, or ranges that exclude a wrap.

Fig. 10.14 is wrong as printed where the shift amount is a variable: with amount 0, of alignment 2 (or any), a
value of alignment a keeps alignment a, not 4a. What counts is the least possible amount.
"""

from __future__ import annotations

from weft.analysis.integers.bounds import to_signed, to_unsigned, trailing_zeros
from weft.analysis.integers.intervals import unsigned
from weft.analysis.integers.wrapping import no_wrap
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.lattice import Extents, kept_bits, make
from weft.analysis.shapes.shape import ACTIVE, BASE, SYMBOLIC, WRAPS, Shape, Stride


def add(a: Application) -> Shape:
    """Strides add up."""
    x, y = a.operands
    return combine(a.extents, a.bits, x, y, 1, *_exactness_of_sum(a))


def sub(a: Application) -> Shape:
    """Strides are subtracted."""
    x, y = a.operands
    return combine(a.extents, a.bits, x, y, -1, *_exactness_of_sum(a))


def mul(a: Application) -> Shape:
    """A strided value times a uniform one is strided; times a constant, by a number."""
    x, y = a.operands
    nsw, nuw = exactness(a)
    if x.constant(a.bits) is not None or (x.is_uniform and not y.is_uniform):
        x, y = y, x
    factor = y.constant(a.bits)
    if factor is not None:
        return scale(a.extents, a.bits, x, factor, nsw, nuw)
    residue, known = _product_bits(x, y)
    if y.is_uniform:
        return a.result(_symbolic(x), residue, known, nsw, nuw)
    return a.elementwise(residue, known)


def shl(a: Application) -> Shape:
    """A product with 2^amount."""
    x, y = a.operands
    nsw, nuw = exactness(a)
    amount = y.constant(a.bits)
    if amount is not None:
        if amount >= a.bits:
            return a.poison()
        return scale(a.extents, a.bits, x, 1 << amount, nsw, nuw, positive=True)
    known = min(x.lane_known_bits, trailing_zeros(x.residue)) + _least_amount(a)
    if y.is_uniform:
        return a.result(_symbolic(x), 0, known, nsw, nuw)
    return a.elementwise(0, known)


def _least_amount(a: Application) -> int:
    amount = a.operands[1]
    bounds = a.range(1)
    # Known low bits are a lower bound of the unsigned value.
    least = amount.residue & ((1 << amount.lane_known_bits) - 1)
    return min(max(least, unsigned(bounds, a.bits)[0] if bounds else 0), a.bits)


def _exactness_of_sum(a: Application) -> tuple[int, int]:
    """As `exactness`; what has base 0, such as a lane's number, leaves the base of the other operand as it is."""
    x, y = a.operands
    keeps_base = _has_base_zero(y, a.bits) or (a.op == "add" and _has_base_zero(x, a.bits))
    return exactness(a, BASE if keeps_base else ACTIVE)


def _has_base_zero(x: Shape, bits: int) -> bool:
    return x.known_bits == bits and x.residue == 0


def exactness(a: Application, most: int = ACTIVE) -> tuple[int, int]:
    """Levels that flags, or ranges that exclude a wrap, give the result: signed, unsigned.

    Neither says anything of a lane zero that is inactive: `most` is `BASE` where its base is in range anyway.
    """
    x, y = a.operands
    nsw, nuw = "nsw" in a.flags, "nuw" in a.flags
    if not (nsw and nuw) and a.need == ACTIVE:
        x_range, y_range = a.range(0), a.range(1)
        if x_range is not None and y_range is not None:
            proved = no_wrap(a.op, a.bits, x_range, y_range)
            nsw, nuw = nsw or proved[0], nuw or proved[1]
    return (
        min(most, x.nsw, y.nsw) if nsw else WRAPS,
        min(most, x.nuw, y.nuw) if nuw else WRAPS,
    )


def combine(
    extents: Extents, bits: int, x: Shape, y: Shape, sign: int, nsw: int = WRAPS, nuw: int = WRAPS
) -> Shape:
    """The shape of x + sign·y, whose exactness is as given."""
    strides = tuple(_sum(s, t, sign) for s, t in zip(x.strides, y.strides, strict=True))
    known = min(kept_bits(x, strides), kept_bits(y, strides))
    return make(extents, bits, strides, x.residue + sign * y.residue, known, nsw, nuw)


def _sum(s: Stride, t: Stride, sign: int) -> Stride:
    if isinstance(s, int) and isinstance(t, int):
        return s + sign * t
    return None if s is None or t is None else SYMBOLIC


def scale(
    extents: Extents,
    bits: int,
    x: Shape,
    factor: int,
    nsw: int = WRAPS,
    nuw: int = WRAPS,
    positive: bool = False,
) -> Shape:
    """The shape of x·factor; `positive`: flags mean the factor as given, not its signed reading (shl)."""
    signed = factor if positive else to_signed(factor, bits)
    if signed != to_unsigned(factor, bits):
        nuw = WRAPS  # the stride below is that of the signed product
    strides = tuple(s * signed if isinstance(s, int) else s for s in x.strides)
    known = x.known_bits + trailing_zeros(signed)
    return make(extents, bits, strides, x.residue * signed, known, nsw, nuw)


def _symbolic(x: Shape) -> tuple[Stride, ...]:
    """Strides of x times a uniform value that only run time knows."""
    return tuple(0 if s == 0 else None if s is None else SYMBOLIC for s in x.strides)


def _product_bits(x: Shape, y: Shape) -> tuple[int, int]:
    """Low bits known of every lane of a product: (r + 2^k·i)·(r' + 2^k'·j)."""
    k, m = x.lane_known_bits, y.lane_known_bits
    r, q = x.residue & ((1 << k) - 1), y.residue & ((1 << m) - 1)
    return r * q, min(k + m, trailing_zeros(r) + m, trailing_zeros(q) + k)

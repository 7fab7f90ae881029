"""Transfer functions of and, or, xor: index arithmetic as LLVM's InstCombine leaves it (Moll §10.4.5).

Everything comes down to clearing low bits, keeping low bits, and sums of values without common bits. Moll's rule for
``or x, c``, that c has only bits in which x is known to be zero, is the special case of ``x | c = (x & ~c) + c``
in which the first summand is x.
"""

from __future__ import annotations

from weft.analysis.integers.bounds import trailing_zeros
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.arithmetic import combine
from weft.analysis.shapes.bits import known_zeros_and_ones, ones, split
from weft.analysis.shapes.lattice import Extents, make
from weft.analysis.shapes.shape import ACTIVE, BASE, Shape

_MAX_RUNS = 3
"""Masks with more runs of ones than this are not taken apart."""


def and_(a: Application) -> Shape:
    """Masks that are constant keep and clear runs of bits."""
    x, _, mask = _constant_last(a)
    if mask is None or x.is_uniform:
        return _bit_by_bit(a)
    zero, _ = _known(a, 0 if x is a.operands[0] else 1)
    if zero | mask == ones(a.bits):
        return x  # only zeros are masked out
    strided = and_constant(a.extents, a.bits, x, mask)
    if strided is None or strided.is_varying:
        return _best(a, strided, _bit_by_bit(a))
    return strided


def or_(a: Application) -> Shape:
    """A sum where no bit is set in both; a constant sets bits that are cleared first."""
    x, y, mask = _constant_last(a)
    if "disjoint" in a.flags or _disjoint(a):
        return _disjoint_sum(a.extents, a.bits, x, y)
    if mask is None or x.is_uniform:
        return _bit_by_bit(a)
    rest = and_constant(a.extents, a.bits, x, ones(a.bits) & ~mask)
    total = None if rest is None else _disjoint_sum(a.extents, a.bits, rest, y)
    if total is None or total.is_varying:
        return _best(a, total, _bit_by_bit(a))
    return total


def xor(a: Application) -> Shape:
    """A sum where no bit is set in both; a constant flips bits."""
    x, y, mask = _constant_last(a)
    if _disjoint(a):
        return _disjoint_sum(a.extents, a.bits, x, y)
    if mask is None or x.is_uniform:
        return _bit_by_bit(a)
    if mask == 1 << (a.bits - 1):
        # Flipping the sign bit adds 2^(n-1): what was the signed reading is now the unsigned one.
        flipped = combine(a.extents, a.bits, x, y, 1)
        return make(a.extents, a.bits, flipped.strides, flipped.residue, flipped.known_bits, x.nuw, x.nsw)
    kept = and_constant(a.extents, a.bits, x, ones(a.bits) & ~mask)
    cleared = and_constant(a.extents, a.bits, x, mask)
    if kept is None or cleared is None:
        return _bit_by_bit(a)
    # The bits of the mask that x has are taken from it, the others remain: no borrow, no carry.
    flipped = combine(a.extents, a.bits, y, cleared, -1, min(ACTIVE, cleared.nsw), min(ACTIVE, cleared.nuw))
    total = _disjoint_sum(a.extents, a.bits, kept, flipped)
    return _best(a, total, _bit_by_bit(a)) if total.is_varying else total


def keep_low(extents: Extents, bits: int, x: Shape, c: int) -> Shape:
    """The shape of x mod 2^c."""
    if c >= bits:
        return x
    x, low, _ = split(extents, x, c)
    known = bits if x.known_bits >= c else x.known_bits
    return make(extents, bits, low, x.residue & ones(min(c, x.known_bits)), known, BASE, BASE)


def clear_low(extents: Extents, bits: int, x: Shape, c: int) -> Shape:
    """The shape of x - x mod 2^c."""
    if c == 0:
        return x
    x, _, high = split(extents, x, c)
    residue = x.residue & ~ones(c) if x.known_bits >= c else 0
    return make(extents, bits, high, residue, max(x.known_bits, min(c, bits)), x.nsw, x.nuw)


def and_constant(extents: Extents, bits: int, x: Shape, mask: int) -> Shape | None:
    """The shape of x & mask, as the sum over the runs of ones in the mask; None if there are too many."""
    total: Shape | None = None
    for count in range(_MAX_RUNS + 1):
        if mask == 0:
            break
        if count == _MAX_RUNS:
            return None
        start = trailing_zeros(mask)
        end = start + trailing_zeros(~(mask >> start))
        mask &= ~ones(end)
        run = clear_low(extents, bits, keep_low(extents, bits, x, end), start)
        total = run if total is None else _disjoint_sum(extents, bits, total, run)
    return total if total is not None else make(extents, bits, (0,) * len(extents), 0, bits)


def _disjoint_sum(extents: Extents, bits: int, x: Shape, y: Shape) -> Shape:
    """X + y where no bit is set in both: nothing carries, so nothing wraps in either reading."""
    return combine(extents, bits, x, y, 1, min(ACTIVE, x.nsw, y.nsw), min(ACTIVE, x.nuw, y.nuw))


def _constant_last(a: Application) -> tuple[Shape, Shape, int | None]:
    x, y = a.operands
    if x.constant(a.bits) is not None:
        x, y = y, x
    return x, y, y.constant(a.bits)


def _known(a: Application, index: int) -> tuple[int, int]:
    return known_zeros_and_ones(a.extents, a.bits, a.operands[index], a.range(index))


def _disjoint(a: Application) -> bool:
    return _known(a, 0)[0] | _known(a, 1)[0] == ones(a.bits)


def _bit_by_bit(a: Application) -> Shape:
    """Uniform or varying per dimension, with the low bits that follow from those of the operands."""
    (zx, ox), (zy, oy) = _known(a, 0), _known(a, 1)
    if a.op == "and":
        zero, one = zx | zy, ox & oy
    elif a.op == "or":
        zero, one = zx & zy, ox | oy
    else:
        zero, one = (zx & zy) | (ox & oy), (zx & oy) | (ox & zy)
    return a.elementwise(one, trailing_zeros(~(zero | one)))


def _best(a: Application, first: Shape | None, second: Shape) -> Shape:
    """Of two true shapes with the same dimensions None, the one that knows more bits; else the more regular."""
    if first is None:
        return second
    if first.strides == second.strides:
        return max(first, second, key=lambda shape: shape.known_bits)
    irregular = [sum(s is None for s in shape.strides) for shape in (first, second)]
    return second if irregular[1] < irregular[0] else first

"""Transfer functions of udiv, sdiv, urem, srem, lshr, ashr (Moll, Fig. 10.10).

Rounding down, ⌊(F + σ)/d⌋ = ⌊F/d⌋ + σ/d if d divides every stride, whatever F is: Moll's demand that d divide the
alignment too is needed only where quotients round toward zero. But F + σ has to be the mathematical value, so
these rules ask for exactness. A stride that d does not divide is harmless where base + σ stays between two
multiples of d; for powers of two `bits.split` decides that, and needs no exactness. Other d are multiples of a power of
two: between two multiples of that there is none of d.
"""

from __future__ import annotations

from weft.analysis.integers.bounds import to_signed, trailing_zeros
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.bits import known_zeros_and_ones, ones, split
from weft.analysis.shapes.bitwise import keep_low
from weft.analysis.shapes.lattice import make, span, weaken
from weft.analysis.shapes.shape import ACTIVE, BASE, SYMBOLIC, WRAPS, Shape, Stride


def lshr(a: Application) -> Shape:
    """A quotient by a power of two in the unsigned reading."""
    return _shift(a, "nuw")


def ashr(a: Application) -> Shape:
    """A quotient by a power of two in the signed reading, rounded down."""
    return _shift(a, "nsw")


def _shift(a: Application, reading: str) -> Shape:
    amount = a.operands[1].constant(a.bits)
    if amount is None:
        return a.elementwise()
    if amount >= a.bits:
        return a.poison()
    return _shift_right(a, a.operands[0], amount, reading)


def _shift_right(a: Application, x: Shape, c: int, reading: str) -> Shape:
    """The shape of ⌊x / 2^c⌋, x in the given reading."""
    if c == 0:
        return x
    x, _, high = split(a.extents, x, c)
    if any(high) and getattr(x, reading) < a.need:
        x = _forget(a, x, [bool(s) for s in high])
        high = tuple(None if s is None else 0 for s in x.strides)
    level = getattr(x, reading)
    strides = tuple(s >> c if isinstance(s, int) else s for s in high)
    residue, known = x.residue >> c, x.known_bits - c
    if x.known_bits == a.bits and (level == BASE or not any(high)):
        residue = _read(x.residue, a.bits, reading) >> c
        known = a.bits
    if reading == "nsw":
        return a.result(strides, residue, max(known, 0), level, WRAPS)
    # Shifted in zeros: the result is the same number in both readings.
    return a.result(strides, residue, max(known, 0), level, level)


def _read(value: int, bits: int, reading: str) -> int:
    return to_signed(value, bits) if reading == "nsw" else value


def _forget(a: Application, x: Shape, gone: list[bool]) -> Shape:
    return weaken(
        x,
        tuple(None if g else s for g, s in zip(gone, x.strides, strict=True)),
    )


def udiv(a: Application) -> Shape:
    """A quotient in the unsigned reading."""
    divisor = a.operands[1].constant(a.bits)
    return a.elementwise() if not divisor else _quotient(a, a.operands[0], divisor, "nuw")


def _quotient(a: Application, x: Shape, d: int, reading: str) -> Shape:
    """The shape of ⌊x / d⌋, x in the given reading, d > 0."""
    if d & (d - 1) == 0:
        return _shift_right(a, x, trailing_zeros(d), reading)
    level = getattr(x, reading)
    if _stays_between_multiples(a, x, d, reading):
        strides: tuple[Stride, ...] = (0,) * len(a.extents)
    else:
        x = _keep_multiples(a, x, d, reading)
        strides = tuple(s // d if isinstance(s, int) else s for s in x.strides)
    residue = known = 0
    if x.known_bits == a.bits and level == BASE:
        residue, known = _read(x.residue, a.bits, reading) // d, a.bits
    return a.result(strides, residue, known, level, level if reading == "nuw" else WRAPS)


def _keep_multiples(a: Application, x: Shape, d: int, reading: str) -> Shape:
    """`x` without the strides that d does not divide; without all if it is not exact enough."""

    def gone(s: Stride) -> bool:
        if s is None or s == 0:
            return False
        multiple = 1 << x.known_bits if s is SYMBOLIC else s
        return multiple % d != 0 or getattr(x, reading) < a.need

    return _forget(a, x, [gone(s) for s in x.strides])


def _stays_between_multiples(a: Application, x: Shape, d: int, reading: str) -> bool:
    """Whether no multiple of d is above the number of one lane and at most that of another one."""
    reach = span(a.extents, x.strides) if x.is_strided else None
    if reach is None or reach == (0, 0) or getattr(x, reading) < a.need:
        return False
    power = 1 << min(x.known_bits, trailing_zeros(d))
    first = x.residue & (power - 1)
    return first + reach[0] >= 0 and first + reach[1] < power


def sdiv(a: Application) -> Shape:
    """A quotient rounded toward zero: down if the dividend is not negative, exact if the divisor divides it."""
    x = a.operands[0]
    constant = a.operands[1].constant(a.bits)
    if not constant:
        return a.elementwise()
    d = to_signed(constant, a.bits)
    if _not_negative(a):
        # Rounding down and toward zero are one; either reading gives the value.
        quotient = _quotient(a, x, abs(d), "nuw" if x.nuw >= x.nsw else "nsw")
        return quotient if d > 0 else _negated(a, quotient)
    c = trailing_zeros(d)
    divides = abs(d) == 1 << c and x.lane_known_bits >= c and x.residue & ones(c) == 0
    if not divides and "exact" not in a.flags:
        return a.elementwise()
    if not x.is_uniform:
        x = _keep_multiples(a, x, abs(d), "nsw")
    strides = tuple(s // d if isinstance(s, int) else s for s in x.strides)
    if not divides:
        return a.result(strides, 0, 0, min(x.nsw, ACTIVE))
    base = (x.residue >> c) * (1 if d > 0 else -1)
    return a.result(strides, base, max(x.known_bits - c, 0), min(x.nsw, ACTIVE))


def _negated(a: Application, x: Shape) -> Shape:
    strides = tuple(-s if isinstance(s, int) else s for s in x.strides)
    return make(a.extents, a.bits, strides, -x.residue, x.known_bits, min(x.nsw, ACTIVE))


def _not_negative(a: Application) -> bool:
    """Whether the dividend is at least zero in each lane that matters: lane zero too if `need` is BASE."""
    x = a.operands[0]
    zero, _ = known_zeros_and_ones(a.extents, a.bits, x, None)
    if zero >> (a.bits - 1):
        return True
    bounds = a.facts[0].range
    if bounds is None or bounds.lo < 0:
        return False
    if a.need == ACTIVE or x.is_uniform:
        return True
    # The base is some lane less its σ; so it is at least the first number there with its known low bits.
    reach = span(a.extents, x.strides) if x.is_strided else None
    if reach is None or x.nsw < BASE:
        return False
    least = bounds.lo - reach[1]
    return least + ((x.residue - least) & ones(x.known_bits)) >= 0


def urem(a: Application) -> Shape:
    """A remainder in the unsigned reading."""
    divisor = a.operands[1].constant(a.bits)
    return a.elementwise() if not divisor else _remainder(a, divisor)


def srem(a: Application) -> Shape:
    """A remainder with the sign of the dividend."""
    constant = a.operands[1].constant(a.bits)
    if not constant:
        return a.elementwise()
    d = abs(to_signed(constant, a.bits))
    if _not_negative(a):
        return _remainder(a, d)
    # The remainder has the sign of the dividend; its low bits are those of the dividend in either case.
    x, c = a.operands[0], trailing_zeros(d)
    known = min(x.lane_known_bits, c)
    if d == 1 << known and x.residue & ones(known) == 0:
        return a.result((0,) * len(a.extents), 0, a.bits)
    return a.elementwise(x.residue & ones(known), known)


def _remainder(a: Application, d: int) -> Shape:
    """The shape of x mod d in [0, d)."""
    x = a.operands[0]
    bounds = a.range(0)
    if bounds is not None and bounds.lo >= 0 and bounds.hi < d:
        return x
    c = trailing_zeros(d)
    if d == 1 << c:
        return keep_low(a.extents, a.bits, x, c)
    reading = "nuw" if x.nuw >= x.nsw or not _not_negative(a) else "nsw"
    if x.constant(a.bits) is not None:
        return a.result(x.strides, x.residue % d, a.bits)
    if _stays_between_multiples(a, x, d, reading):
        known = min(x.known_bits, c)
        return a.result(x.strides, x.residue & ones(known), known)
    x = _keep_multiples(a, x, d, reading)
    strides = tuple(None if s is None else 0 for s in x.strides)
    known = min(x.lane_known_bits, c)
    return a.result(strides, x.residue & ones(known), known)

"""Transfer functions of icmp (Moll §10.4.4, Fig. 10.12 and 10.13).

Let x - y = F + δ(ℓ), F the difference of the bases and δ that of the σ. *Equality* needs this modulo 2ⁿ only.
An *order* needs it over the integers, so both operands must be exact in its reading; then ``x < y`` is uniform
unless F + δ changes sign within the lane space, and the known low bits of F often exclude that: with
``tid : (1, 4)``, W = 4 and n a multiple of 4, F is a multiple of 4 and δ in [0, 3].

Fig. 10.12 is wrong as printed. Its first case lacks the demand that nothing wraps: in i8, x = 126 + tid is
below y = 127 + tid in lane 0, and above it in lane 1, where y is -128. Its second case does
not ask which operand grows: x = -tid and y = 4·k pass it with W = 4, yet for k = 0 ``-tid >= 0`` is true in lane 0
alone. (``-tid <= 4·k`` is the uniform one.)
"""

from __future__ import annotations

from itertools import combinations
from math import gcd

from weft.analysis.integers.bounds import to_signed, trailing_zeros
from weft.analysis.integers.intervals import compare as compare_ranges
from weft.analysis.shapes.application import Application
from weft.analysis.shapes.arithmetic import combine
from weft.analysis.shapes.bits import ones
from weft.analysis.shapes.lattice import kept_bits, span
from weft.analysis.shapes.shape import Shape, Stride

_MAX_MULTIPLES = 64
"""More multiples of the known block than this in the span of a difference are not tried one by one."""


def icmp(a: Application) -> Shape:
    """Uniform where the difference of the operands does not change its answer between lanes."""
    x, y = a.operands
    width = a.facts[0].bits
    predicate = a.predicate or ""
    if not width or not predicate:
        return a.elementwise()
    x_range, y_range = a.range(0), a.range(1)
    if x_range is not None and y_range is not None:
        outcome = compare_ranges(predicate, x_range, y_range, width)
        if outcome is not None:
            return _constant(a, outcome)
    if predicate in ("eq", "ne"):
        return _equality(a, x, y, width, predicate == "eq")
    return _order(a, x, y, width, predicate)


def _constant(a: Application, outcome: bool) -> Shape:
    return a.result((0,) * len(a.extents), int(outcome), 1)


def _equality(a: Application, x: Shape, y: Shape, width: int, equal: bool) -> Shape:
    difference = combine(a.extents, width, x, y, -1)
    if difference.constant(width) == 0:
        return _constant(a, equal)
    if not _may_be_zero(a, difference):
        return _constant(a, not equal)
    return a.result(tuple(0 if s == 0 else None for s in difference.strides))


def _may_be_zero(a: Application, difference: Shape) -> bool:
    """Whether base + σ can be a multiple of 2^known_bits, as zero is; tried with fewer bits too.

    Modulo a smaller power of two, strides that it divides drop out of σ.
    """
    known = difference.known_bits
    zeros = [trailing_zeros(s) for s in difference.strides if isinstance(s, int)]
    return all(_may_be_zero_modulo(a, difference, 1 << k) for k in {known, *(z for z in zeros if z < known)})


def _may_be_zero_modulo(a: Application, difference: Shape, modulus: int) -> bool:
    strides = tuple(s if isinstance(s, int) and s % modulus else 0 for s in difference.strides)
    residue = difference.residue % modulus
    reach = span(a.extents, strides)
    if not any(strides):
        return residue == 0
    step = gcd(*strides)
    if reach is None:
        return residue % gcd(step, modulus) == 0
    first, last = residue + reach[0], residue + reach[1]
    low, high = -(-first // modulus), last // modulus
    if high - low >= _MAX_MULTIPLES:
        return residue % gcd(step, modulus) == 0
    return any((m * modulus - residue) % step == 0 for m in range(low, high + 1))


def _order(a: Application, x: Shape, y: Shape, width: int, predicate: str) -> Shape:
    known = _order_of_constants(x, y, width, predicate)
    if known is not None:
        return _constant(a, known)
    if not _comparable(a, x, y, predicate):
        return a.elementwise()
    deltas = tuple(_delta(s, t) for s, t in zip(x.strides, y.strides, strict=True))
    same = {dim for dim, delta in enumerate(deltas) if delta == 0}
    moving = [dim for dim, delta in enumerate(deltas) if delta]
    at_most = predicate[1:] in ("le", "gt")
    for count in range(len(moving), 0, -1):
        for dims in combinations(moving, count):
            # The other dimensions count as part of F.
            kept = tuple(d if dim in dims or dim in same else None for dim, d in enumerate(deltas))
            if not _may_cross(a, x, y, kept, at_most):
                same.update(dims)
        if same.issuperset(moving):
            break
    return a.result(tuple(0 if dim in same else None for dim in range(len(deltas))))


def _comparable(a: Application, x: Shape, y: Shape, predicate: str) -> bool:
    """Whether both operands are exact in a reading in which the comparison is that of their values."""
    signed = x.nsw >= a.need and y.nsw >= a.need
    unsigned = x.nuw >= a.need and y.nuw >= a.need
    if "samesign" in a.flags:
        return signed or unsigned
    return signed if predicate[0] == "s" else unsigned


def _delta(s: Stride, t: Stride) -> Stride:
    return s - t if isinstance(s, int) and isinstance(t, int) else None


def _may_cross(a: Application, x: Shape, y: Shape, deltas: tuple[Stride, ...], at_most: bool) -> bool:
    """Whether F + δ < 0 (or ≤ 0) in some lanes and not in others, for some F with the known low bits."""
    known = min(kept_bits(x, deltas), kept_bits(y, deltas))
    residue = x.residue - y.residue
    reach = span(a.extents, deltas)
    if reach is None:
        return True
    low, high = reach
    first, last = (1 - high, -low) if at_most else (-high, -low - 1)
    return first + ((residue - first) & ones(known)) <= last


def _order_of_constants(x: Shape, y: Shape, width: int, predicate: str) -> bool | None:
    a, b = x.constant(width), y.constant(width)
    if a is None or b is None:
        return None
    if predicate[0] == "s":
        a, b = to_signed(a, width), to_signed(b, width)
    return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate[1:]]

"""Intervals of n-bit machine integers.

An `Interval` (lo, hi) says that the signed value of an integer or pointer lies in [lo, hi], in every active
lane in which it is not poison. The empty set is None. This file is the lattice; `interval_transfer.py` has
the transfer functions.

* **⊥** is None (no value), **⊤** is `full(bits)`, the **order** is inclusion, **join** the convex hull.
* **Height** is 2^bits: an analysis must `widen` around loops. `widen` sends a bound that moves to the next of
  a few landmarks (0, ±1, the ends of the narrower types), so few steps remain.

Only signed bounds are kept. Unsigned operations see an interval that holds both signs as the full unsigned
range.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from weft.analysis.integers.bounds import to_signed


class Interval(NamedTuple):
    """All integers from `lo` to `hi`, both included."""

    lo: int
    hi: int

    def __str__(self) -> str:
        return f"[{self.lo}, {self.hi}]"

    @property
    def is_constant(self) -> bool:
        return self.lo == self.hi

    def holds(self, value: int) -> bool:
        return self.lo <= value <= self.hi


SWAPPED = {
    "eq": "eq", "ne": "ne", "slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle",
    "ult": "ugt", "ule": "uge", "ugt": "ult", "uge": "ule",
}  # fmt: skip
"""The predicate that says of (y, x) what the given one says of (x, y)."""

INVERTED = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt",
    "ult": "uge", "uge": "ult", "ugt": "ule", "ule": "ugt",
}  # fmt: skip
"""The predicate that is true where the given one is false."""


@cache
def full(bits: int) -> Interval:
    """Every value of the type."""
    half = 1 << (bits - 1)
    return Interval(-half, half - 1)


def constant(bits: int, value: int) -> Interval:
    """The one value, given in either reading."""
    signed = to_signed(value, bits)
    return Interval(signed, signed)


def join(a: Interval | None, b: Interval | None) -> Interval | None:
    """The hull of both; `a` itself where it contains `b`."""
    if a is None or b is None:
        return b if a is None else a
    (alo, ahi), (blo, bhi) = a, b
    if alo <= blo:
        return a if bhi <= ahi else Interval(alo, bhi)
    return b if ahi <= bhi else Interval(blo, ahi)


def meet(a: Interval | None, b: Interval | None) -> Interval | None:
    """What is in both; one of them itself where the other contains it."""
    if a is None or b is None:
        return None
    (alo, ahi), (blo, bhi) = a, b
    if alo <= blo:
        if bhi <= ahi:
            return b
        return Interval(blo, ahi) if blo <= ahi else None
    if ahi <= bhi:
        return a
    return Interval(alo, bhi) if alo <= bhi else None


def leq(a: Interval | None, b: Interval | None) -> bool:
    """Whether `a` is contained in `b`."""
    return a is None or (b is not None and b.lo <= a.lo and a.hi <= b.hi)


@cache
def _landmarks(bits: int) -> tuple[int, ...]:
    # Numbers that may be doubled: what a node of a tree, or an extent, is known to be less than.
    marks = {0, 1, -1, *full(bits), *full(max(bits - 1, 1))}
    for width in (8, 16, 32, 64):
        if width < bits:
            marks |= {*full(width), (1 << width) - 1}
    return tuple(sorted(marks))


def widen(old: Interval | None, new: Interval | None, bits: int) -> Interval | None:
    """An upper bound of both; repeated with growing `new` it is stable after a few steps."""
    if old is None or new is None:
        return old if new is None else new
    lo, hi = old
    marks = _landmarks(bits)
    if new.lo < lo:
        lo = max(m for m in marks if m <= new.lo)
    if new.hi > hi:
        hi = min(m for m in marks if m >= new.hi)
    return Interval(lo, hi)


def unsigned(a: Interval, bits: int) -> tuple[int, int]:
    """Least and greatest unsigned value."""
    if a.lo >= 0:
        return a.lo, a.hi
    if a.hi < 0:
        return a.lo + (1 << bits), a.hi + (1 << bits)
    return 0, (1 << bits) - 1


def wrapped(lo: int, hi: int, bits: int) -> Interval:
    """The least interval with all of [lo, hi] taken modulo 2^bits (so also: read as unsigned)."""
    half = 1 << (bits - 1)
    window = (lo + half) >> bits
    if window != (hi + half) >> bits:
        return full(bits)
    return Interval(lo - (window << bits), hi - (window << bits))


def compare(predicate: str, x: Interval, y: Interval, bits: int) -> bool | None:
    """What `icmp predicate x, y` must be; None if both are possible."""
    if predicate in ("eq", "ne"):
        if x.hi < y.lo or y.hi < x.lo:
            return predicate == "ne"
        return predicate == "eq" if x.is_constant and x == y else None
    if predicate[0] == "u":
        (xlo, xhi), (ylo, yhi) = unsigned(x, bits), unsigned(y, bits)
    else:
        (xlo, xhi), (ylo, yhi) = x, y
    if predicate[1:] in ("gt", "ge"):
        predicate, xlo, xhi, ylo, yhi = SWAPPED[predicate], ylo, yhi, xlo, xhi
    strict = predicate[1:] == "lt"
    if xhi < ylo or (not strict and xhi == ylo):
        return True
    return False if xlo > yhi or (strict and xlo == yhi) else None


def refine(predicate: str, x: Interval, y: Interval, bits: int) -> Interval | None:
    """What is left of `x` where ``icmp predicate x, y`` is true."""
    if predicate == "eq":
        return meet(x, y)
    if predicate == "ne":
        if not y.is_constant:
            return x
        if x == y:
            return None
        return meet(x, Interval(x.lo + (x.lo == y.lo), x.hi - (x.hi == y.lo)))
    if predicate[0] == "s":
        (xlo, xhi), (ylo, yhi) = x, y
    else:
        (xlo, xhi), (ylo, yhi) = unsigned(x, bits), unsigned(y, bits)
    lo, hi = xlo, xhi
    match predicate[1:]:
        case "lt":
            hi = min(hi, yhi - 1)
        case "le":
            hi = min(hi, yhi)
        case "gt":
            lo = max(lo, ylo + 1)
        case "ge":
            lo = max(lo, ylo)
    if lo > hi:
        return None
    if lo == xlo and hi == xhi:
        return x
    return Interval(lo, hi) if predicate[0] == "s" else meet(x, wrapped(lo, hi, bits))

"""Intervals of add, sub, mul and shl: bounds over the integers, and what wrapping around makes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from weft.analysis.integers.intervals import Interval, full, meet, unsigned, wrapped

Flags = Collection[str]

# Bounds of the mathematical result, the bounds of the operands being of one reading.


def _sum(xlo: int, xhi: int, ylo: int, yhi: int) -> tuple[int, int]:
    return xlo + ylo, xhi + yhi


def _difference(xlo: int, xhi: int, ylo: int, yhi: int) -> tuple[int, int]:
    return xlo - yhi, xhi - ylo


def _product(xlo: int, xhi: int, ylo: int, yhi: int) -> tuple[int, int]:
    corners = (xlo * ylo, xlo * yhi, xhi * ylo, xhi * yhi)
    return min(corners), max(corners)


def _shifted(xlo: int, xhi: int, ylo: int, yhi: int) -> tuple[int, int] | None:
    return None if ylo < 0 or yhi > 256 else _product(xlo, xhi, 1 << ylo, 1 << yhi)


_Bounds = Callable[[int, int, int, int], tuple[int, int] | None]
_EXACT: dict[str, _Bounds] = {"add": _sum, "sub": _difference, "mul": _product, "shl": _shifted}


def no_wrap(op: str, bits: int, x: Interval, y: Interval) -> tuple[bool, bool]:
    """Whether add, sub, mul or shl cannot wrap: signed, unsigned."""
    limits = full(bits)
    bounds_of = _EXACT[op]
    exact = bounds_of(*x, *y)
    positive = bounds_of(*unsigned(x, bits), *unsigned(y, bits))
    signed = exact is not None and limits.lo <= exact[0] and exact[1] <= limits.hi
    return signed, positive is not None and positive[0] >= 0 and positive[1] < 1 << bits


def wrapping(op: str) -> Callable[[Flags, int, Interval, Interval], Interval]:
    """The transfer function of add, sub, mul or shl."""
    bounds_of = _EXACT[op]

    def rule(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
        exact = bounds_of(*x, *y)
        if exact is None:
            return full(bits)
        lo, hi = exact
        half = 1 << (bits - 1)
        if -half <= lo and hi < half and "nuw" not in flags:
            return Interval(lo, hi)
        result = meet(full(bits), Interval(lo, hi)) if "nsw" in flags else wrapped(lo, hi, bits)
        if "nuw" in flags:
            positive = bounds_of(*unsigned(x, bits), *unsigned(y, bits))
            assert positive is not None, "shift amounts were checked above"
            lo, hi = max(positive[0], 0), min(positive[1], (1 << bits) - 1)
            result = meet(result, wrapped(lo, hi, bits)) if lo <= hi else None
        # Empty: always poison, of which any claim is true; the full range keeps the lattice simple.
        return full(bits) if result is None else result

    return rule

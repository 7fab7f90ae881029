"""Between which numbers a symbolic expression lies, by the ranges of its symbols alone.

What relates several symbols is in `weft.analysis.symbolic.facts`. Each atom is looked at once, as atoms in atoms would
be looked at 2ⁿ times if both ends were asked for one by one.
"""

from __future__ import annotations

from weft.analysis.symbolic.expression import Atom, Expression, Floor, Minimum, Symbol

NumericInterval = tuple[int | None, int | None]
"""The least and the greatest number; None where there is none."""


def numeric_bound(value: Expression, upper: bool) -> int | None:
    """The greatest or least number that an expression may be, by the ranges of its symbols; None if it is open."""
    return _numeric_interval(value)[1 if upper else 0]


def _numeric_interval(value: Expression) -> NumericInterval:
    """Both bounds of an expression."""
    if value.interval is None:
        value.interval = _found_interval(value)
    return value.interval


def _found_interval(value: Expression) -> NumericInterval:
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in value.terms.items():
        interval: NumericInterval = (1, 1)
        for atom in monomial:
            interval = _interval_product(interval, numeric_range(atom))
        least, greatest = interval if coefficient > 0 else interval[::-1]
        low = None if low is None or least is None else low + coefficient * least
        high = None if high is None or greatest is None else high + coefficient * greatest
        if low is None and high is None:
            break
    return low, high


def _interval_product(a: NumericInterval, b: NumericInterval) -> NumericInterval:
    """The product of two intervals; None is minus infinity as a lower end and infinity as an upper one."""
    if a == (1, 1):
        return b
    if None not in a and None not in b:
        ends = [x * y for x in a for y in b if x is not None and y is not None]
        return min(ends), max(ends)
    (low, high), (other_low, other_high) = a, b
    if low is not None and low >= 0 and other_low is not None and other_low >= 0:
        return low * other_low, None if high is None or other_high is None else high * other_high
    return None, None


def numeric_range(atom: Atom) -> NumericInterval:
    """The least and greatest number of an atom by ranges of symbols; None where it is open."""
    if isinstance(atom, Symbol):
        return atom.low, atom.high
    if isinstance(atom, Floor):
        low, high = _numeric_interval(atom.value)
        number = atom.divisor.constant
        if number is None:
            # The divisor is at least 1: what is 0 or greater stays so, and gets no greater.
            known = low is not None and low >= 0
            return (0 if known else None), (high if known else None)
        return (None if low is None else low // number), (None if high is None else high // number)
    lows, highs = zip(*map(_numeric_interval, atom.values), strict=True)
    known_lows = [x for x in lows if x is not None]
    known_highs = [x for x in highs if x is not None]
    if isinstance(atom, Minimum):
        least = min(known_lows) if len(known_lows) == len(lows) else None
        return least, (min(known_highs) if known_highs else None)
    greatest = max(known_highs) if len(known_highs) == len(highs) else None
    return (max(known_lows) if known_lows else None), greatest

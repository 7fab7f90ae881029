"""Rows and columns in linear offsets (Juravle, §5.2.1).

An offset is ``row·pitch + column``, where the pitch is the number of bytes of a row: a size of the program, with what
divides all that it is multiplied with (``4*N``), or the greatest number that an iteration has for a factor, unless
what is left of the offset goes over two such rows. The thesis tries all ways to match ``offset + stride·i_x +
stride·i_y·width + ...`` with the counters; here the pitch is looked for, and what is multiplied with it is the row,
whatever loops it comes from. Other strides in x, and offsets, need no cases.
"""

from __future__ import annotations

from math import gcd

from msgspec import Struct

from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.analysis.symbolic.facts import Facts
from weft.analysis.symbolic.numeric_bounds import numeric_bound


class TwoDimensional(Struct, frozen=True):
    """An offset in bytes, taken apart.

    Parameters
    ----------
    pitch
        Bytes from row to row.
    row
        The number of the row.
    column
        The bytes in it.
    """

    pitch: Expression
    row: Expression
    column: Expression


def two_dimensional(offset: Expression, facts: Facts) -> TwoDimensional | None:
    """Take an offset apart; None where it has no rows."""
    symbols = sorted({s for m in offset.terms for s in _sizes(m)}, key=lambda s: s.rank)
    for symbol in symbols:
        parts = offset.coefficients(symbol)
        if len(parts) != 2 or symbol in parts[0].symbols() | parts[1].symbols():
            continue
        number = gcd(parts[1].content(), parts[1].offset)
        row = Expression({m: c // number for m, c in parts[1].terms.items()})
        return TwoDimensional(as_expression(symbol) * number, row, parts[0])
    return _of_numbers(offset, facts)


def _sizes(monomial: tuple[object, ...]) -> list[Symbol]:
    """The sizes that a product of iterations is multiplied with."""
    if not any(isinstance(a, Symbol) and isinstance(a.origin, LoopContext) for a in monomial):
        return []
    return [a for a in monomial if isinstance(a, Symbol) and a.loop is None and not a.is_pointer]


def _of_numbers(offset: Expression, facts: Facts) -> TwoDimensional | None:
    """Rows of an array whose sizes are numbers: the largest factor, if what it does not divide stays below it."""
    factors = {abs(c) for m, c in offset.terms.items() if m}
    if len(factors) < 2:
        return None
    pitch = max(factors)
    row = {m: c // pitch for m, c in offset.terms.items() if m and c % pitch == 0}
    column = Expression({m: c for m, c in offset.terms.items() if m and c % pitch})
    # The constant belongs to the nearest row.
    row[()] = (offset.offset + pitch // 2) // pitch
    column = column + (offset.offset - row[()] * pitch)
    low, high = (_number(column, facts, upper) for upper in (False, True))
    if low is not None and high is not None and high - low >= 2 * pitch:
        return None
    return TwoDimensional(as_expression(pitch), Expression(row), column)


def _number(value: Expression, facts: Facts, upper: bool) -> int | None:
    """A bound in numbers, by what facts say of each symbol."""
    total = value.offset
    for monomial, coefficient in value.terms.items():
        if not monomial:
            continue
        end = upper == (coefficient > 0)
        numbers = [
            numeric_bound(b, upper=end)
            for atom in monomial[:1]
            for b, times in facts.bounds(atom, end)
            if times == 1
        ]
        known = [n for n in numbers if n is not None]
        if len(monomial) > 1 or not known:
            return None
        total += coefficient * (min(known) if end else max(known))
    return total

"""Rows of an array that a linear index is taken apart into: what their size is, and when an access stays in one.

Accesses of two rows do not meet where what is added to multiples of a row's size stays below it. The size is a
parameter of the function (``i * n + j``) or a number (``a[i][j]`` of ``double a[][1100]``).
"""

from __future__ import annotations

from math import gcd

from weft.analysis.sequential.accesses import Access
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression

MAX_ROWS = 3
"""Dimensions of an array that a linear index is taken apart into, but for the last."""


def row_sizes(write: Access, other: Access) -> tuple[Symbol, ...]:
    """Parameters that are factors of what changes from iteration to iteration: sizes of rows."""
    factors: dict[Symbol, None] = {}
    for access in (write, other):
        for monomial in access.offset.terms:
            if len(monomial) > 1 and any(isinstance(a, Symbol) and a.loop is not None for a in monomial):
                for atom in monomial:
                    if isinstance(atom, Symbol) and atom.loop is None and not atom.is_pointer:
                        factors[atom] = None
    return tuple(factors)


def row_pitches(write: Access, other: Access) -> tuple[int, ...]:
    """Numbers that are sizes of rows: what the counters of outer dimensions are multiplied with, greatest first.

    Of counters that begin at other ones, these are multiplied with more: the differences follow.
    """
    factors: set[int] = set()
    differences: set[int] = set()
    for access in (write, other):
        varying = {
            m: c for m, c in access.offset.terms.items() if any(s.loop is not None for s in _symbols(m))
        }
        if any(len(m) > 1 or not all(isinstance(a, Symbol) for a in m) for m in varying):
            continue
        own = {abs(c) for c in varying.values()}
        if len(own) == 1 and not any(abs(c) <= (access.size.constant or 1) for c in own):
            # The column is the same in all rows.
            factors |= own
        elif len(own) > 1:
            # The least one is that of elements, or of rows, too, where elements are reached by several counters.
            factors |= own - {min(own)} if access.size.constant == min(own) else own
        differences |= {a - b for a in own for b in own if a > b}
    ordered = [sorted(f, reverse=True)[:MAX_ROWS] for f in (factors, differences - factors)]
    return (*ordered[0], *ordered[1])


def within_row(access: Access, row: Symbol | int) -> list[Expression]:
    """That the part of an offset which has no factor `row` lies in one row."""
    if isinstance(row, int):
        # Of a greater coefficient, as of the constant, a part belongs to the nearest row.
        terms = {
            m: c if m and abs(c) < row else (c + row // 2) % row - row // 2
            for m, c in access.offset.terms.items()
        }
        column = Expression(terms)
        return [column, row - column - access.size]
    parts = access.offset.coefficients(row)
    if len(parts) != 2:
        return []
    stride = as_expression(row) * gcd(parts[1].content(), parts[1].offset)
    return [parts[0], stride - parts[0] - access.size]


def _symbols(monomial: tuple[Atom, ...]) -> set[Symbol]:
    return {s for atom in monomial for s in as_expression(atom).symbols()}

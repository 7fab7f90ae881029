"""Rows of an array that a linear index is taken apart into: what their size is, and when an access stays in one.

Accesses of two rows do not meet where what is added to multiples of a row's size stays below it. The size is a
parameter of the function (``i * n + j``) or a number (``a[i][j]`` of ``double a[][1100]``).

Arrays of more dimensions have rows of rows: of ``i * m * n + j * n + k``, k stays below n, and what is left when a
multiple of n is taken apart into rows, ``i * m + j``, is an index again, whose j stays below m.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TypeAlias

from weft.analysis.sequential.accesses import Access
from weft.analysis.symbolic.atoms import Monomial
from weft.analysis.symbolic.expression import Atom, Expression, Symbol, as_expression

MAX_ROWS = 3
"""Dimensions of an array that a linear index is taken apart into, but for the last."""

Row: TypeAlias = int | tuple[Symbol, ...]
"""A number that is a row's size; or sizes of rows, of rows of such rows, and so on."""


def row_sizes(write: Access, other: Access) -> tuple[Symbol, ...]:
    """Parameters that are factors of what changes from iteration to iteration: sizes of rows."""
    factors: dict[Symbol, None] = {}
    for access in (write, other):
        for monomial in _products(access.offset):
            factors |= dict.fromkeys(_sizes(monomial))
    return tuple(factors)


def nested_rows(write: Access, other: Access) -> tuple[tuple[Symbol, ...], ...]:
    """What an index may be taken apart into by parameters: few dimensions first.

    The size of a row is a factor of most products, that of rows of rows of fewer.
    """
    nest: list[Symbol] = []
    products = [m for access in (write, other) for m in _products(access.offset)]
    while len(nest) < MAX_ROWS:
        counts: dict[Symbol, int] = {}
        for monomial in products:
            for size in dict.fromkeys(_sizes(monomial)):
                counts[size] = counts.get(size, 0) + 1
        if not counts:
            break
        # Of sizes that are always together, the last dimension's is the last parameter.
        size = max(counts, key=lambda s: (counts[s], s.key))
        nest.append(size)
        products = [_without(m, size) for m in products if size in m]
    nested = [tuple(nest[:depth]) for depth in range(1, len(nest) + 1)]
    return (*nested, *((size,) for size in row_sizes(write, other) if size not in nest[:1]))


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


def within_row(access: Access, row: Row) -> list[Expression]:
    """That the part of an offset which has no factor `row` lies in one row; of nested rows, each part in its own."""
    if isinstance(row, int):
        # Of a greater coefficient, as of the constant, a part belongs to the nearest row.
        terms = {
            m: c if m and abs(c) < row else (c + row // 2) % row - row // 2
            for m, c in access.offset.terms.items()
        }
        column = Expression(terms)
        return [column, row - column - access.size]
    found: list[Expression] = []
    index, size = access.offset, access.size
    for symbol in row:
        column, index, number = taken_apart(index, symbol)
        if not number:
            break
        found += [column, as_expression(symbol) * number - column - size]
        size = as_expression(1)
    return found


def taken_apart(index: Expression, size: Symbol) -> tuple[Expression, Expression, int]:
    """The part without `size`, what `size` is multiplied with, and a number that divides all of that: none is 0.

    The index is the first, and the second times `size` and the number.
    """
    column, *parts = index.coefficients(size)
    row, power = as_expression(0), as_expression(1)
    for part in parts:
        row = row + part * power
        power = power * as_expression(size)
    number = gcd(row.content(), row.offset)
    return column, Expression({m: c // number for m, c in row.terms.items()}), number


def _products(index: Expression) -> list[Monomial]:
    """What is multiplied with a counter."""
    return [
        m for m in index.terms if len(m) > 1 and any(isinstance(a, Symbol) and a.loop is not None for a in m)
    ]


def _sizes(monomial: Monomial) -> Iterator[Symbol]:
    return (a for a in monomial if isinstance(a, Symbol) and a.loop is None and not a.is_pointer)


def _without(monomial: Monomial, factor: Symbol) -> Monomial:
    at = monomial.index(factor)
    return monomial[:at] + monomial[at + 1 :]


def _symbols(monomial: tuple[Atom, ...]) -> set[Symbol]:
    return {s for atom in monomial for s in as_expression(atom).symbols()}

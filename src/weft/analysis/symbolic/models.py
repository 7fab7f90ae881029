"""Points at which inequalities hold: what is negative at one of them need not be tried to be proved.

Symbols get numbers from the lowest rank up, parameters before the loops that depend on them: each a small one between
the bounds that the inequalities leave, in which it is the last. Points are found quickly or not at all, and always
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from weft.analysis.symbolic.atoms import Symbol
from weft.analysis.symbolic.expression import Expression

Point = dict[Symbol, int]

_POINTS = 3
_ATTEMPTS = 8
_SMALL = 12


def points(inequalities: Sequence[Expression]) -> list[Point]:
    """Some points at which all of the expressions are 0 or greater."""
    bounds: dict[Symbol, list[tuple[Expression, Expression]]] = {}
    symbols: dict[Symbol, None] = {}
    for inequality in inequalities:
        own = inequality.symbols()
        symbols.update(dict.fromkeys(own))
        last = max(own, key=_order)
        parts = inequality.coefficients(last)
        if len(parts) == 2 and not any(last in p.symbols() for p in parts):
            bounds.setdefault(last, []).append((parts[0], parts[1]))
    order = sorted(symbols, key=_order)
    draw = Random(len(order))
    found: list[Point] = []
    for _ in range(_ATTEMPTS):
        point = _draw(order, bounds, draw)
        if point is not None and all(value_at(e, point) >= 0 for e in inequalities):
            found.append(point)
            if len(found) == _POINTS:
                break
    return found


def _order(symbol: Symbol) -> tuple[int, str]:
    return symbol.rank, symbol.name


def value_at(expression: Expression, point: Point) -> int:
    """The number that an expression is; symbols that the point lacks are as small as they may be."""
    return expression.evaluate(lambda s: point[s] if s in point else _free(s))


def is_negative_at(expression: Expression, found: Sequence[Point]) -> bool:
    """Whether an expression is negative at one of some points."""
    try:
        return any(value_at(expression, point) < 0 for point in found)
    except ZeroDivisionError:
        return False


def _free(symbol: Symbol) -> int:
    low = -1 if symbol.low is None else symbol.low
    high = 1 if symbol.high is None else symbol.high
    return max(low, min(high, 1))


def _draw(
    order: Sequence[Symbol], bounds: dict[Symbol, list[tuple[Expression, Expression]]], draw: Random
) -> Point | None:
    point: Point = {}
    try:
        for symbol in order:
            low, high = symbol.low, symbol.high
            for rest, slope in bounds.get(symbol, ()):
                by, base = value_at(slope, point), value_at(rest, point)
                if by > 0:
                    least = -(base // by)
                    low = least if low is None else max(low, least)
                elif by < 0:
                    most = base // -by
                    high = most if high is None else min(high, most)
            begin, end = _small(low, high)
            if begin > end:
                return None
            point[symbol] = draw.randint(begin, end)
    except ZeroDivisionError:
        return None
    return point


def _small(low: int | None, high: int | None) -> tuple[int, int]:
    """Numbers between bounds, not far from 0 if there is a choice."""
    begin = 0 if low is None or low < -_SMALL else low
    end = begin + _SMALL if high is None else min(high, begin + _SMALL)
    if begin > end and (low is None or low < begin):
        begin = end - _SMALL if low is None else max(low, end - _SMALL)
    return begin, end

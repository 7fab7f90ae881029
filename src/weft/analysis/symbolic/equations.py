"""Systems of equations between expressions, solved in integers by substitution (Juravle, §7.2, Algorithm 7).

An equation that is linear in a symbol gives it, where its coefficient is a number that divides the rest, or may be
divided by: the value is put into the other equations, which may become linear by that. ``floor(x / d) = c`` says
that x is one of d numbers; if x is a symbol with a coefficient there may be several solutions, or none. The thesis
computes over the rationals and finds n = 200 from ``2n/4 = 100``; the trip count of its example is ``floor((2n + 3)
/ 4)``, for which n is 199 or 200.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from weft.analysis.symbolic.expression import Atom, Expression, Floor, Symbol, as_expression

MAX_SOLUTIONS = 64


def solve(equations: Sequence[Expression], unknowns: Sequence[Symbol]) -> list[dict[Symbol, int]]:
    """Solutions of a system ``e = 0``, in increasing order.

    Parameters
    ----------
    equations
        Expressions that are 0.
    unknowns
        The symbols to find.

    Returns
    -------
    Each with the numbers of the unknowns that the equations determine; empty where there is none. At most
    `MAX_SOLUTIONS` of them are looked for.
    """
    found: list[dict[Symbol, int]] = []
    for solution in _solutions([*equations], {}, set(unknowns)):
        if solution not in found:
            found.append(solution)
        if len(found) == MAX_SOLUTIONS:
            break
    order = {symbol: position for position, symbol in enumerate(unknowns)}
    return sorted(found, key=lambda s: [s[u] for u in sorted(s, key=lambda u: order[u])])


def _solutions(
    equations: list[Expression], known: Mapping[Symbol, Expression], unknowns: set[Symbol]
) -> Iterator[dict[Symbol, int]]:
    equations = [e for e in equations if e.constant != 0]
    if any(e.constant is not None for e in equations):
        return
    for equation in equations:
        rest = [e for e in equations if e is not equation]
        for symbol, value in _isolated(equation, unknowns):
            if value is None:
                return
            step: dict[Atom, Expression] = {symbol: value}
            yield from _solutions(
                [e.substitute(step) for e in rest],
                {**{s: v.substitute(step) for s, v in known.items()}, symbol: value},
                unknowns - {symbol},
            )
            return
    for equation in equations:
        floor = _single_floor(equation)
        if floor is None:
            continue
        atom, number, divisor = floor
        rest = [e for e in equations if e is not equation]
        for left in range(divisor):
            yield from _solutions([*rest, atom.value - (number * divisor + left)], known, unknowns)
        return
    if not equations:
        yield {s: v.offset for s, v in known.items() if v.constant is not None}


def _isolated(equation: Expression, unknowns: set[Symbol]) -> Iterator[tuple[Symbol, Expression | None]]:
    """A symbol that the equation is linear in, and its value; None where no integer is one."""
    for monomial, coefficient in equation.terms.items():
        if len(monomial) != 1 or not isinstance(monomial[0], Symbol) or monomial[0] not in unknowns:
            continue
        symbol = monomial[0]
        rest = Expression({m: c for m, c in equation.terms.items() if m != monomial})
        if symbol in rest.symbols():
            continue
        if rest.constant is not None and rest.offset % coefficient:
            yield symbol, None
            return
        if all(c % coefficient == 0 for c in rest.terms.values()):
            yield symbol, Expression({m: -(c // coefficient) for m, c in rest.terms.items()})


def _single_floor(equation: Expression) -> tuple[Floor, int, int] | None:
    """``c·floor(x / d) + k = 0`` as the floor, what it is, and d."""
    variable = [(m, c) for m, c in equation.terms.items() if m]
    if len(variable) != 1 or len(variable[0][0]) != 1 or not isinstance(variable[0][0][0], Floor):
        return None
    atom, coefficient = variable[0][0][0], variable[0][1]
    divisor = atom.divisor.constant
    if divisor is None or divisor > MAX_SOLUTIONS or equation.offset % coefficient:
        return None
    return atom, -equation.offset // coefficient, divisor


def satisfies(equations: Sequence[Expression], values: Mapping[Symbol, int]) -> bool:
    """Whether numbers solve a system."""
    put: dict[Atom, Expression] = {s: as_expression(v) for s, v in values.items()}
    return all(e.substitute(put).constant == 0 for e in equations)

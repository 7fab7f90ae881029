"""Parameters from numbers of iterations (Juravle, ch. 6): what n is if a loop has run 100 times.

The trip counts of loops, in parameters only, are equations with the numbers that were seen. They are solved in
integers, so ``floor((n + 1) / 2) = 100`` has two solutions, 199 and 200; the thesis's own example has one, by its
rational numbers and a normalization that does not round up. A loop that did not run says no more than an inequality,
and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.symbolic.atoms import Maximum, Symbol
from weft.analysis.symbolic.equations import solve
from weft.analysis.symbolic.expression import Expression


def parameters_by_rounds(rounds: Iterable[tuple[Expression, int]]) -> dict[Symbol, tuple[int, ...]]:
    """The values that parameters may have.

    Parameters
    ----------
    rounds
        Trip counts, and how often the loops ran.

    Returns
    -------
    For each parameter that the numbers determine all its values, least first; none where they contradict each other.
    """
    equations: list[Expression] = []
    for trips, count in rounds:
        if count > 0 and not any(s.loop is not None for s in trips.symbols()):
            equations.append(_of_running_loop(trips) - count)
    unknowns = sorted({s for e in equations for s in e.symbols()}, key=lambda s: s.rank)
    found: dict[Symbol, set[int]] = {}
    solutions = solve(equations, unknowns)
    for solution in solutions:
        for symbol, value in solution.items():
            if (symbol.low is None or value >= symbol.low) and (symbol.high is None or value <= symbol.high):
                found.setdefault(symbol, set()).add(value)
    known = {s for s in found if all(s in solution for solution in solutions)}
    return {s: tuple(sorted(found[s])) for s in sorted(known, key=lambda s: s.rank)}


def _of_running_loop(trips: Expression) -> Expression:
    """``max(0, e)`` is e where the loop runs."""
    if len(trips.terms) != 1:
        return trips
    ((monomial, coefficient),) = trips.terms.items()
    if coefficient != 1 or len(monomial) != 1 or not isinstance(monomial[0], Maximum):
        return trips
    rest = [v for v in monomial[0].values if v.constant is None]
    return rest[0] if len(rest) == 1 else trips

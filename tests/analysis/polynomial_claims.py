"""What abstract polynomials claim, as a test of membership."""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.gated.polynomial import Polynomial
from weft.analysis.integers.bounds import to_signed
from weft.analysis.shapes import ACTIVE, BASE
from weft.analysis.shapes.concretize import _solve

Ids = tuple[int, ...]


def holds(state: Polynomial, threads: Sequence[tuple[Ids, int]]) -> bool:
    """Whether values of the given threads (ids and unsigned value) agree with a state."""
    if not threads:
        return True
    if not state.bits:
        return not state.is_uniform or len({value for _, value in threads}) <= 1
    if not _congruent(state, threads):
        return False
    half = 1 << (state.bits - 1)
    if state.nsw >= ACTIVE:
        signed = [(ids, to_signed(value, state.bits)) for ids, value in threads]
        if not _exact(state, signed, state.nsw, (-half, half - 1)):
            return False
    return state.nuw < ACTIVE or _exact(state, threads, state.nuw, (0, 2 * half - 1))


def _monomials(state: Polynomial, ids: Ids) -> list[int]:
    return [state.domain.concrete(4096, _unit(state, k), ids) for k in range(len(state.coefficients))]


def _unit(state: Polynomial, k: int) -> list[int]:
    return [int(j == k) for j in range(len(state.coefficients))]


def _congruent(state: Polynomial, threads: Sequence[tuple[Ids, int]]) -> bool:
    """(1) of the concretization: modulo 2^n."""
    if all(a is None for a in state.coefficients):
        return True
    equations = []
    for ids, value in threads:
        values = _monomials(state, ids)
        unknown = [m for a, m in zip(state.coefficients, values, strict=True) if a is None]
        known = sum(a * m for a, m in zip(state.coefficients, values, strict=True) if a is not None)
        equations.append((unknown, value - known))
    return _solve(equations, 1 << state.bits) is not None


def _exact(
    state: Polynomial, threads: Sequence[tuple[Ids, int]], level: int, limits: tuple[int, int]
) -> bool:
    """(2): over the integers. The base is a₀ + 2ⁿ·k for some k, or at level BASE the one in range."""
    base = state.coefficients[0]
    pinned = base is not None and level == BASE
    if pinned and limits[0] == 0:
        base %= 1 << state.bits
    equations = []
    for ids, value in threads:
        terms = list(zip(state.coefficients, _monomials(state, ids), strict=True))[1:]
        row = [m for a, m in terms if a is None]
        if not pinned:
            row.append(1 if base is None else 1 << state.bits)
        rest = value - sum(a * m for a, m in terms if a is not None)
        equations.append((row, rest - (base or 0)))
    solution = _solve(equations, None)
    if solution is None:
        return False
    values, unique = solution
    # An unknown base is to be in range, too, where it has no choice.
    return level < BASE or base is not None or not unique or limits[0] <= values[-1] <= limits[1]

"""Fit the polynomials of `weft.target.own_math`: ``python -m bench.fits.polynomials`` prints the table of coefficients.

A polynomial is fitted in relative error of the function, by weighted least squares on Chebyshev nodes whose weights are
multiplied by the errors again and again (Lawson), which comes close to the minimax. Coefficients are then rounded to
the type one after the other, from the one that counts most, and the rest is fitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from msgspec import Struct

_NODES = 400
_ROUNDS = 60
_DIGITS = 40

Real = Callable[[Any], Any]
"""A function of numbers of multiple precision."""


class Fit(Struct, frozen=True):
    """A polynomial to fit: `function` is `base(x) + lead(x) * P(x ** power)`.

    Parameters
    ----------
    name
        How the table calls it.
    function
        What is computed.
    base, lead
        The part that the code adds, and the factor of the polynomial.
    low, high
        The interval of x.
    count
        The number of coefficients.
    power
        1, or 2 where P is a polynomial in the square of x.
    dtype
        The type of the coefficients.
    """

    name: str
    function: Real
    base: Real
    lead: Real
    low: float
    high: float
    count: int
    power: int = 1
    dtype: type[np.floating] = np.float32


_HALF_LN2 = 0.34675
_HALF_LOG10_2 = 0.15052
_HALF_PI = 1.5709
_TANH_SMALL = 0.625

FITS = (
    Fit("EXP", mpmath.exp, lambda x: 1 + x, lambda x: x * x, -_HALF_LN2, _HALF_LN2, 5),
    Fit("EXP2", lambda x: mpmath.mpf(2) ** x, lambda x: mpmath.mpf(1), lambda x: x, -0.5, 0.5, 6),
    Fit("EXP10", lambda x: mpmath.mpf(10) ** x, lambda x: mpmath.mpf(1), lambda x: x, -_HALF_LOG10_2, _HALF_LOG10_2, 6),
    Fit("LOG", mpmath.log1p, lambda x: x - x * x / 2, lambda x: x**3, -0.25, 0.5, 8),
    Fit("SIN", mpmath.sin, lambda x: x, lambda x: x**3, 0.0, _HALF_PI, 4, 2),
    Fit("TANH", mpmath.tanh, lambda x: x, lambda x: x**3, 0.0, _TANH_SMALL, 5, 2),
    Fit("LOG2", lambda x: mpmath.log(1 + x, 2), lambda x: mpmath.mpf(0), lambda x: x, -0.25, 0.5, 12, dtype=np.float64),
)  # fmt: skip


def fitted(fit: Fit) -> tuple[float, ...]:
    """Return the coefficients, that of the lowest power first."""
    rows, wanted = _system(fit)
    known: list[float] = []
    for k in range(fit.count):
        rest = wanted - rows[:, :k] @ np.array(known, np.longdouble)
        known.append(float(fit.dtype(_minimax(rows[:, k:], rest)[0])))
    return tuple(known)


def largest_error(fit: Fit, coefficients: Sequence[float]) -> float:
    """The largest relative error with these coefficients."""
    rows, wanted = _system(fit)
    return float(np.abs(wanted - rows @ np.array(coefficients, np.longdouble)).max())


def _system(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """The relative error, (base + lead * P) / function - 1, at each node as a row of a linear system."""
    with mpmath.workdps(_DIGITS):
        middle, half = (fit.high + fit.low) / 2, (fit.high - fit.low) / 2
        nodes = [middle + half * float(np.cos(np.pi * (k + 0.5) / _NODES)) for k in range(_NODES)]
        xs = [mpmath.mpf(x) for x in nodes if x]
        values = [fit.function(x) for x in xs]
        lead = np.array([float(fit.lead(x) / v) for x, v in zip(xs, values, strict=True)], np.longdouble)
        wanted = np.array(
            [float((v - fit.base(x)) / v) for x, v in zip(xs, values, strict=True)], np.longdouble
        )
        points = np.array([float(x) ** fit.power for x in xs], np.longdouble)
    return np.stack([lead * points**k for k in range(fit.count)], axis=1), wanted


def _minimax(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Coefficients of about the least largest error."""
    weights = np.full(len(wanted), 1 / len(wanted))
    best, least = np.zeros(rows.shape[1]), np.inf
    scale = np.abs(rows).max(axis=0).astype(float)
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)[:, None]
        found = np.linalg.lstsq(
            (rows / scale).astype(float) * root, wanted.astype(float) * root[:, 0], rcond=None
        )
        coefficients = found[0] / scale
        errors = np.abs(wanted - rows @ coefficients).astype(float)
        if errors.max() < least:
            best, least = coefficients, errors.max()
        weights = weights * errors
        weights /= weights.sum()
    return best


def main() -> None:
    for fit in FITS:
        coefficients = fitted(fit)
        print(f"{fit.name} = (  # relative error {largest_error(fit, coefficients):.2g}")
        for c in coefficients:
            print(f"    {c!r},")
        print(")")


if __name__ == "__main__":
    main()

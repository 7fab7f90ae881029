"""The rows of the table: ten functions, eight of which take different numbers of steps for different elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.speed.rows import Row
from examples.irregular import barrier_option, collatz, mandelbrot
from examples.irregular.problem import Checked

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Elementwise(Checked):
    """Operands and the array that takes the results, the last of the arguments.

    Parameters
    ----------
    arguments
        Arrays that broadcast together, numbers, and the results.
    by_numpy
        Computes the results of the operands with NumPy's and SciPy's functions of whole arrays.
    rtol, atol, mismatches
        As in `Problem`.
    """

    arguments: tuple[Any, ...]
    by_numpy: Callable[..., np.ndarray]
    rtol: float = 0.0
    atol: float = 0.0
    mismatches: float = 0.0

    @property
    def outputs(self) -> tuple[int, ...]:
        return (len(self.arguments) - 1,)

    def expected(self) -> Arrays:
        return (self.by_numpy(*self.arguments[:-1]),)


def points(width: int, height: int, limit: int) -> Elementwise:
    """Return a picture of the Mandelbrot set: a row of real parts and a column of imaginary ones."""
    step = np.float32(3.2 / width)
    left, top = np.float32(-2.2), np.float32(1.2)
    real = left + np.arange(width).astype(np.float32) * step
    imag = top - np.arange(height).astype(np.float32)[:, None] * step

    def by_numpy(real: np.ndarray, imag: np.ndarray, limit: int) -> np.ndarray:
        return mandelbrot.by_numpy(left, top, step, limit, (imag.size, real.size))

    counts = np.zeros((height, width), np.int64)
    # Under fastmath a point near the border may leave a step earlier or later.
    return Elementwise((real, imag, limit, counts), by_numpy, mismatches=0.02)


def roots(width: int, height: int, limit: int) -> Elementwise:
    """Return points for `newton`, none of them zero."""
    real = np.linspace(-2, 2.01, width, dtype=np.float32)
    imag = np.linspace(-1.5, 1.51, height, dtype=np.float32)[:, None]

    def by_numpy(real: np.ndarray, imag: np.ndarray, limit: int) -> np.ndarray:
        z = (real + 1j * imag).astype(np.complex64)
        counts = np.zeros(z.shape, np.int64)
        running = np.ones(z.shape, bool)
        for _ in range(limit):
            counts += running
            away = np.abs(z**3 - 1) ** 2
            z = (2 * z**3 + 1) / (3 * z * z)
            running &= away > 1e-6
        return counts

    return Elementwise((real, imag, limit, np.zeros((height, width), np.int64)), by_numpy, mismatches=0.02)


def numbers(count: int) -> Elementwise:
    steps = np.zeros(count, np.int64)
    return Elementwise((np.arange(1, count + 1), steps), lambda n: collatz.by_numpy(n.size))


def divisors(count: int) -> Elementwise:
    a, b = np.random.default_rng(2).integers(1, 1 << 30, (2, count), np.int32)
    return Elementwise((a, b, np.zeros(count, np.int32)), np.gcd)


def paths(count: int, steps: int) -> Elementwise:
    given = barrier_option.paths(count, steps)
    return Elementwise(given.arguments, barrier_option.by_numpy, given.rtol, given.atol, given.mismatches)


def orbits(count: int) -> Elementwise:
    rng = np.random.default_rng(3)

    def by_numpy(mean: np.ndarray, eccentricity: np.ndarray) -> np.ndarray:
        angle = mean + eccentricity * np.sin(mean)
        for _ in range(50):
            change = (angle - eccentricity * np.sin(angle) - mean) / (1 - eccentricity * np.cos(angle))
            angle -= change
            if np.abs(change).max() <= 1e-12:
                break
        return angle

    return Elementwise(
        (6.28 * rng.random(count), 0.9 * rng.random(count), np.zeros(count)), by_numpy, rtol=1e-9
    )


def deviates(count: int) -> Elementwise:
    from scipy.special import erf

    return Elementwise(
        (2 * np.random.default_rng(5).standard_normal(count), np.zeros(count)), erf, rtol=1e-11
    )


def positives(count: int) -> Elementwise:
    from scipy.special import gammaln

    x = 12 * np.random.default_rng(7).random(count) + 1e-3
    return Elementwise((x, np.zeros(count)), gammaln, rtol=1e-9, atol=1e-9)


def places(count: int) -> Elementwise:
    rng = np.random.default_rng(11)
    angles = [(size * (rng.random(count) - 0.5)).astype(np.float32) for size in (3, 6, 3, 6)]

    def by_numpy(*angles: np.ndarray) -> np.ndarray:
        latitude, longitude, to_latitude, to_longitude = angles
        across, up = np.sin((to_longitude - longitude) / 2), np.sin((to_latitude - latitude) / 2)
        square = up * up + np.cos(latitude) * np.cos(to_latitude) * across * across
        return 2 * np.arcsin(np.minimum(np.sqrt(square), 1))

    return Elementwise((*angles, np.zeros(count, np.float32)), by_numpy, rtol=1e-2, atol=1e-4)


def brightness(count: int) -> Elementwise:
    x = (1.4 * np.random.default_rng(13).random(count)).astype(np.float32)

    def by_numpy(x: np.ndarray) -> np.ndarray:
        middle = np.float32(0.05) + (x - np.float32(0.1)) * (np.float32(0.5) + x)
        high = np.minimum(np.float32(0.6) + np.float32(0.75) * (x - np.float32(0.6)), np.float32(1))
        return np.where(x < np.float32(0.1), np.float32(0.5) * x, np.where(x < np.float32(0.6), middle, high))

    return Elementwise((x, np.zeros_like(x)), by_numpy, rtol=1e-5)


def _row(name: str, title: str, make: Callable[[], Elementwise], *, divergent: bool = True) -> Row:
    return Row(name, title, make, name, divergent, wanted=1.0)


ROWS = (
    _row("mandelbrot", "Mandelbrot, 1024 x 768, 256 steps", lambda: points(1024, 768, 256)),
    _row("newton", "Newton fractal, 768 x 576", lambda: roots(768, 576, 100)),
    _row("collatz", f"Collatz, numbers to {collatz.LARGEST}", lambda: numbers(collatz.LARGEST)),
    _row("gcd", "greatest common divisors, 0.5 M pairs", lambda: divisors(1 << 19)),
    _row("barrier_option", "barrier option, 50 k paths of 256 steps", lambda: paths(50_000, 256)),
    _row("kepler", "Kepler's equation, 0.5 M orbits", lambda: orbits(1 << 19)),
    _row("error_function", "error function, 0.5 M", lambda: deviates(1 << 19)),
    _row("log_gamma", "logarithm of gamma, 1 M", lambda: positives(1 << 20)),
    _row("great_circle", "great circles, 1 M", lambda: places(1 << 20), divergent=False),
    _row("tone", "tone curve, 1 M", lambda: brightness(1 << 20), divergent=False),
)

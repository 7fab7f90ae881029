"""Programs with branches: of several probabilities, with threads that go together and with threads that do not."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bench.fits.program import Program, line, numbers
from weft import cuda


@cuda.jit
def corrected(given, result):
    """Treat some elements by a dear correction."""
    i = cuda.grid(1)
    if i < given.size:
        x = given[i]
        y = np.float32(0.5) * x
        if x > np.float32(1):
            y = math.log(x) * math.exp(-x) + math.sqrt(x)
        result[i] = y


@cuda.jit
def adjusted(given, result):
    """Treat some elements by a correction of some operations."""
    i = cuda.grid(1)
    if i < given.size:
        x = given[i]
        y = np.float32(0.5) * x
        if x > np.float32(1):
            y = ((x * np.float32(0.1) + np.float32(0.2)) * x - np.float32(0.3)) * x + np.float32(0.4)
            y = (y * x + np.float32(0.7)) / (x + np.float32(0.9))
        result[i] = y


@cuda.jit
def two_ways(given, result):
    """Go one of two ways, both dear."""
    i = cuda.grid(1)
    if i < given.size:
        x = given[i]
        if x > np.float32(1):
            result[i] = math.exp(-x) / (np.float32(1) + x)
        else:
            result[i] = math.sin(x) * math.sqrt(np.float32(2) - x)


@cuda.jit
def marked(given, limit, result):
    """Store where an element is large: under a mask, and nothing else."""
    i = cuda.grid(1)
    if i < given.size:
        x = given[i]
        if x > limit:
            result[i] = x


@cuda.jit
def pooled(given, result):
    """Classify by three limits in turn, each with some work behind it."""
    i = cuda.grid(1)
    if i < given.size:
        x = given[i]
        y = np.float32(0)
        for _ in range(4):
            if x < np.float32(0.25):
                y += math.sqrt(x)
            elif x < np.float32(1):
                y += x * x * (np.float32(3) - x)
            elif x < np.float32(4):
                y += np.float32(1) / (x + y)
            else:
                y += math.log(x + y)
            x = x * np.float32(0.75)
        result[i] = y


@cuda.jit
def ranges(given, low, high, result):
    """Look among the neighbours of those that are in range."""
    i = cuda.grid(1)
    if 8 < i < given.size - 8 and low <= given[i] < high:
        best = given[i]
        for k in range(-8, 9):
            best = max(best, given[i + k] * np.float32(0.9))
        result[i] = best


def shares(count: int, share: float, run: int) -> np.ndarray:
    """Return floats of which a share is above 1, by runs of so many."""
    rng = numbers()
    above = np.repeat(rng.random(-(-count // run)) < share, run)[:count]
    return np.where(above, rng.uniform(1.001, 1.9, count), rng.uniform(0.001, 0.999, count)).astype(
        np.float32
    )


DATA = ((0.005, 1), (0.05, 1), (0.5, 1), (0.02, 512), (0.5, 512), (0.95, 512))
"""Shares of the elements above 1, and runs of how many."""


def _shares(size: int) -> list:
    return [partial(lambda share, run: line(shares(size, share, run), np.float32), *each) for each in DATA]


def _marks(share: float, run: int) -> tuple[np.ndarray | np.float32, ...]:
    given = shares(1 << 18, share, run)
    return given, np.float32(1), np.zeros_like(given)


def _spread(run: int) -> tuple[np.ndarray, ...]:
    rng = numbers()
    given = np.exp(np.repeat(rng.normal(0, 1.5, (1 << 16) // run), run)).astype(np.float32)
    return given, np.zeros_like(given)


def _window(share: float, run: int) -> tuple[np.ndarray | np.float32, ...]:
    given = shares(1 << 17, share, run)
    return given, np.float32(1), np.float32(2), np.zeros_like(given)


PROGRAMS = (
    Program(corrected, *_shares(1 << 16)),
    Program(adjusted, *_shares(1 << 17)),
    Program(two_ways, *_shares(1 << 16)),
    Program(marked, *(partial(_marks, *each) for each in DATA)),
    Program(pooled, partial(_spread, 1), partial(_spread, 256)),
    Program(ranges, *(partial(_window, *each) for each in DATA)),
)

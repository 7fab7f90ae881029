"""Kernels of regular control flow: what other vectorizers do well, so that being divergent costs nothing here."""

from __future__ import annotations

import math

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

LINE = 256
TILE = (64, 4)


@cuda.jit(device=True)
def cumulative(d):
    """Return the normal distribution up to d, by Abramowitz and Stegun 26.2.17."""
    k = 1 / (1 + np.float32(0.2316419) * abs(d))
    series = np.float32(-1.821255978) + k * np.float32(1.330274429)
    series = np.float32(1.781477937) + k * series
    series = np.float32(-0.356563782) + k * series
    series = np.float32(0.31938153) + k * series
    tail = np.float32(0.39894228) * math.exp(np.float32(-0.5) * d * d) * (k * series)
    return 1 - tail if d > 0 else tail


@cuda.jit
def black_scholes(prices, strikes, years, rate, sigma, calls, puts):
    """Price a European call and put."""
    i = cuda.grid(1)
    if i < prices.size:
        root = math.sqrt(years[i])
        d1 = (math.log(prices[i] / strikes[i]) + (rate + sigma * sigma / 2) * years[i]) / (sigma * root)
        d2 = d1 - sigma * root
        discounted = strikes[i] * math.exp(-rate * years[i])
        call = prices[i] * cumulative(d1) - discounted * cumulative(d2)
        calls[i] = call
        puts[i] = call + discounted - prices[i]


@cuda.jit
def nbody(x, y, z, mass, softening, ax, ay, az):
    """Compute the acceleration of one body by all others."""
    i = cuda.grid(1)
    if i < x.size:
        sx = np.float32(0)
        sy = np.float32(0)
        sz = np.float32(0)
        for j in range(x.size):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            pull = mass[j] * inverse * inverse * inverse
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz


@cuda.jit
def stencil5(grid, result):
    """Average a point and its four neighbours."""
    x, y = cuda.grid(2)
    if y > 0 and y < grid.shape[0] - 1 and x > 0 and x < grid.shape[1] - 1:
        around = grid[y, x] + grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x]
        result[y, x] = np.float32(0.2) * around


@cuda.jit
def stencil9(grid, result):
    """Smooth a point with its eight neighbours."""
    x, y = cuda.grid(2)
    if y > 0 and y < grid.shape[0] - 1 and x > 0 and x < grid.shape[1] - 1:
        sides = grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x]
        corners = grid[y - 1, x - 1] + grid[y - 1, x + 1] + grid[y + 1, x - 1] + grid[y + 1, x + 1]
        result[y, x] = (
            np.float32(0.25) * grid[y, x] + np.float32(0.125) * sides + np.float32(0.0625) * corners
        )


@cuda.jit
def transpose(matrix, result):
    """Move one element."""
    x, y = cuda.grid(2)
    if y < matrix.shape[0] and x < matrix.shape[1]:
        result[x, y] = matrix[y, x]


@cuda.jit
def floyd_warshall(distances, k):
    """Shorten the path from i to j by way of vertex k."""
    j, i = cuda.grid(2)
    if i < distances.shape[0] and j < distances.shape[1]:
        through = distances[i, k] + distances[k, j]
        if through < distances[i, j]:
            distances[i, j] = through


def _uniform(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    return (low + (high - low) * rng.random(count)).astype(np.float32)


def options(count: int) -> Problem:
    """Return random options for `black_scholes`."""
    rng = np.random.default_rng(31)
    prices, strikes, years = (_uniform(rng, *r, count) for r in ((5, 30), (1, 100), (0.25, 10)))
    rate, sigma = np.float32(0.02), np.float32(0.3)
    results = np.zeros(count, np.float32), np.zeros(count, np.float32)

    def expected() -> tuple[np.ndarray, ...]:
        from scipy.special import ndtr

        s, k, t = (v.astype(np.float64) for v in (prices, strikes, years))
        d1 = (np.log(s / k) + (rate + sigma * sigma / 2) * t) / (sigma * np.sqrt(t))
        discounted = k * np.exp(-rate * t)
        call = s * ndtr(d1) - discounted * ndtr(d1 - sigma * np.sqrt(t))
        return call, call + discounted - s

    arguments = prices, strikes, years, rate, sigma, *results
    return Problem(black_scholes, arguments, blocks_for(count, LINE), LINE, (5, 6), expected, 1e-3, 1e-3)


def bodies(count: int) -> Problem:
    """Return random bodies for `nbody`."""
    rng = np.random.default_rng(37)
    x, y, z, mass = (_uniform(rng, 0, 1, count) for _ in range(4))
    softening = np.float32(1e-3)
    results = tuple(np.zeros(count, np.float32) for _ in range(3))

    def expected() -> tuple[np.ndarray, ...]:
        sums = [np.zeros(count) for _ in range(3)]
        for i in range(count):
            steps = [(v - v[i]).astype(np.float64) for v in (x, y, z)]
            pull = mass / (sum(s * s for s in steps) + softening) ** 1.5
            for total, step in zip(sums, steps, strict=True):
                total[i] = (pull * step).sum()
        return tuple(sums)

    arguments = x, y, z, mass, softening, *results
    return Problem(
        nbody, arguments, blocks_for(count, LINE), LINE, (5, 6, 7), expected, 1e-3, 1e-2 * count / 1024
    )


def _tiles(rows: int, columns: int) -> tuple[int, int]:
    return blocks_for(columns, TILE[0]), blocks_for(rows, TILE[1])


def plane(points: int, rows: int, columns: int) -> Problem:
    """Return a random plane for the stencil of five or nine points."""
    grid = np.random.default_rng(41).random((rows, columns), np.float32)
    result = np.zeros_like(grid)

    def expected() -> tuple[np.ndarray, ...]:
        wanted = np.zeros(grid.shape)
        sides = grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1]
        corners = grid[:-2, :-2] + grid[:-2, 2:] + grid[2:, :-2] + grid[2:, 2:]
        centre = grid[1:-1, 1:-1]
        five, nine = (centre + sides) / 5, centre / 4 + sides / 8 + corners / 16
        wanted[1:-1, 1:-1] = five if points == 5 else nine
        return (wanted,)

    kernel = stencil5 if points == 5 else stencil9
    return Problem(kernel, (grid, result), _tiles(rows, columns), TILE, (1,), expected, 1e-5, 1e-6)


def matrix(rows: int, columns: int) -> Problem:
    """Return a random matrix for `transpose`."""
    given = np.random.default_rng(43).random((rows, columns), np.float32)
    result = np.zeros((columns, rows), np.float32)
    return Problem(transpose, (given, result), _tiles(rows, columns), TILE, (1,), lambda: (given.T,))


def graph(vertices: int) -> Problem:
    """Return a complete graph for `floyd_warshall`, which is launched once for each vertex."""
    distances = np.random.default_rng(47).random((vertices, vertices), np.float32)
    np.fill_diagonal(distances, 0)
    given = distances.copy()

    def expected() -> tuple[np.ndarray, ...]:
        wanted = given.copy()
        for k in range(vertices):
            np.minimum(wanted, wanted[:, k, None] + wanted[k], out=wanted)
        return (wanted,)

    return Problem(floyd_warshall, (distances,), _tiles(vertices, vertices), TILE, (0,), expected, 1e-6)

"""The regular kernels as loops over their threads, for numba and weft.jit; `prange` where they are parallel."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange


@numba.njit(inline="always")
def _cumulative(d):
    one = np.float32(1)
    k = one / (one + np.float32(0.2316419) * abs(d))
    series = np.float32(-1.821255978) + k * np.float32(1.330274429)
    series = np.float32(1.781477937) + k * series
    series = np.float32(-0.356563782) + k * series
    series = np.float32(0.31938153) + k * series
    tail = np.float32(0.39894228) * math.exp(np.float32(-0.5) * d * d) * (k * series)
    return one - tail if d > 0 else tail


def black_scholes(prices, strikes, years, rate, sigma, calls, puts):
    for i in prange(prices.size):
        root = math.sqrt(years[i])
        growth = rate + np.float32(0.5) * sigma * sigma
        d1 = (math.log(prices[i] / strikes[i]) + growth * years[i]) / (sigma * root)
        d2 = d1 - sigma * root
        discounted = strikes[i] * math.exp(-rate * years[i])
        call = prices[i] * _cumulative(d1) - discounted * _cumulative(d2)
        calls[i] = call
        puts[i] = call + discounted - prices[i]


def nbody(x, y, z, mass, softening, ax, ay, az):
    for i in prange(x.size):
        sx = np.float32(0)
        sy = np.float32(0)
        sz = np.float32(0)
        for j in range(x.size):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            inverse = np.float32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            pull = mass[j] * inverse * inverse * inverse
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz


def stencil5(grid, result):
    for y in prange(1, grid.shape[0] - 1):
        for x in prange(1, grid.shape[1] - 1):
            around = grid[y, x] + grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x]
            result[y, x] = np.float32(0.2) * around


def stencil9(grid, result):
    for y in prange(1, grid.shape[0] - 1):
        for x in prange(1, grid.shape[1] - 1):
            sides = grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x]
            corners = grid[y - 1, x - 1] + grid[y - 1, x + 1] + grid[y + 1, x - 1] + grid[y + 1, x + 1]
            result[y, x] = (
                np.float32(0.25) * grid[y, x] + np.float32(0.125) * sides + np.float32(0.0625) * corners
            )


def transpose(matrix, result):
    for y in prange(matrix.shape[0]):
        for x in prange(matrix.shape[1]):
            result[x, y] = matrix[y, x]


def floyd_warshall(distances):
    for k in range(distances.shape[0]):
        for i in prange(distances.shape[0]):
            for j in prange(distances.shape[1]):
                through = distances[i, k] + distances[k, j]
                if through < distances[i, j]:
                    distances[i, j] = through

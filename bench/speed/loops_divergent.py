"""The divergent kernels as loops over their threads, for numba and weft.jit; `prange` where they are parallel."""

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from bench.elementwise import functions

_steps_inside = numba.njit(inline="always")(functions.mandelbrot)
_steps_to_one = numba.njit(inline="always")(functions.collatz)
_payoff = numba.njit(inline="always")(functions.barrier_option)


def mandelbrot(left, top, step, limit, counts):
    for y in prange(counts.shape[0]):
        for x in prange(counts.shape[1]):
            counts[y, x] = _steps_inside(left + np.float32(x) * step, top - np.float32(y) * step, limit)


def collatz(steps):
    for i in prange(steps.size):
        steps[i] = _steps_to_one(i + 1)


def binary_search(values, keys, places):
    for i in prange(keys.size):
        key = keys[i]
        low = 0
        high = values.size
        while high - low > 1:
            middle = (low + high) >> 1
            if values[middle] > key:
                high = middle
            else:
                low = middle
        places[i] = low


def barrier_option(seeds, start, strike, barrier, drift, volatility, steps, payoffs):
    for i in prange(payoffs.size):
        payoffs[i] = _payoff(seeds[i], start, strike, barrier, drift, volatility, steps)


def kd_nearest(points, queries, distances):
    for i in prange(distances.size):
        nodes = np.empty(32, np.int32)
        gaps = np.empty(32, np.float32)
        x = queries[i, 0]
        y = queries[i, 1]
        best = np.float32(3e38)
        top = 0
        node = 0
        axis = 0
        gap = np.float32(0)
        while True:
            if gap < best and node < points.shape[0]:
                dx = x - points[node, 0]
                dy = y - points[node, 1]
                best = min(best, dx * dx + dy * dy)
                delta = dy if axis else dx
                axis ^= 1
                right = 1 if delta > 0 else 0
                nodes[top] = (2 * node + 2 - right) << 1 | axis
                gaps[top] = delta * delta
                top += 1
                node = 2 * node + 1 + right
                gap = np.float32(0)
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top] >> 1
                axis = nodes[top] & 1
                gap = gaps[top]
        distances[i] = best


@numba.njit(inline="always")
def _outside(low, high, value):
    return max(low - value, value - high, np.float32(0))


def kd_correlation(points, boxes, queries, radius, counts):
    for i in prange(counts.size):
        stack = np.empty(32, np.int32)
        x = queries[i, 0]
        y = queries[i, 1]
        limit = radius * radius
        found = 0
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            ox = _outside(boxes[node, 0], boxes[node, 1], x)
            oy = _outside(boxes[node, 2], boxes[node, 3], y)
            if ox * ox + oy * oy <= limit:
                dx = x - points[node, 0]
                dy = y - points[node, 1]
                if dx * dx + dy * dy <= limit:
                    found += 1
                left = 2 * node + 1
                if left < points.shape[0]:
                    stack[top] = left
                    stack[top + 1] = left + 1
                    top += 2
        counts[i] = found

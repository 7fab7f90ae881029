"""The divergent kernels as loops over their threads, for numba; parallel over the outermost where asked to be."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange


def mandelbrot(left, top, step, limit, counts):
    for y in prange(counts.shape[0]):
        for x in range(counts.shape[1]):
            real = left + np.float32(x) * step
            imag = top - np.float32(y) * step
            zr = np.float32(0)
            zi = np.float32(0)
            n = 0
            while n < limit and zr * zr + zi * zi <= np.float32(4):
                zr, zi = zr * zr - zi * zi + real, (zr + zr) * zi + imag
                n += 1
            counts[y, x] = n


def collatz(steps):
    for i in prange(steps.size):
        n = i + 1
        count = 0
        while n != 1:
            n = 3 * n + 1 if n & 1 else n >> 1
            count += 1
        steps[i] = count


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


@numba.njit(inline="always")
def _xorshift(state):
    # numba's shifts of 32 bits give 64.
    state ^= np.uint32(state << np.uint32(13))
    state ^= np.uint32(state >> np.uint32(17))
    state ^= np.uint32(state << np.uint32(5))
    return state


@numba.njit(inline="always")
def _unit(state):
    return (np.float32(state >> np.uint32(8)) + np.float32(0.5)) * np.float32(1 / 16777216)


def barrier_option(seeds, start, strike, barrier, drift, volatility, steps, payoffs):
    for i in prange(payoffs.size):
        state = seeds[i]
        price = start
        alive = True
        step = 0
        while alive and step < steps:
            state = _xorshift(state)
            radius = math.sqrt(np.float32(-2) * math.log(_unit(state)))
            state = _xorshift(state)
            angle = np.float32(2 * math.pi) * _unit(state)
            price *= math.exp(drift + volatility * (radius * math.cos(angle)))
            alive = price > barrier
            if alive:
                price *= math.exp(drift + volatility * (radius * math.sin(angle)))
                alive = price > barrier
            step += 2
        payoffs[i] = max(price - strike, np.float32(0)) if alive else np.float32(0)


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

"""The functions of one element, as weft and numba are both given them; numbers are float32 where operands are."""

from __future__ import annotations

import math

import numba
import numpy as np


def mandelbrot(real, imag, limit):
    zr = np.float32(0)
    zi = np.float32(0)
    n = 0
    while n < limit and zr * zr + zi * zi <= np.float32(4):
        zr, zi = zr * zr - zi * zi + real, (zr + zr) * zi + imag
        n += 1
    return n


def newton(zr, zi, limit):
    """Count the steps from a point to a cube root of one."""
    one, two = np.float32(1), np.float32(2)
    n = 0
    away = one
    while n < limit and away > np.float32(1e-6):
        square_r, square_i = zr * zr - zi * zi, two * zr * zi
        cube_r, cube_i = square_r * zr - square_i * zi, square_r * zi + square_i * zr
        away = (cube_r - one) * (cube_r - one) + cube_i * cube_i
        scale = one / (np.float32(3) * (square_r * square_r + square_i * square_i))
        up_r, up_i = two * cube_r + one, two * cube_i
        zr, zi = (up_r * square_r + up_i * square_i) * scale, (up_i * square_r - up_r * square_i) * scale
        n += 1
    return n


def collatz(n):
    count = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n >> 1
        count += 1
    return count


def gcd(a, b):
    """Return the greatest common divisor of two positive numbers."""
    while b != 0:
        a, b = b, a % b
    return a


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


def barrier_option(state, start, strike, barrier, drift, volatility, steps):
    """Return what the option pays at the end of one path."""
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
    return max(price - strike, np.float32(0)) if alive else np.float32(0)


def kepler(mean, eccentricity):
    """Solve Kepler's equation for the eccentric anomaly."""
    angle = mean + eccentricity * math.sin(mean)
    change = 1.0
    n = 0
    while abs(change) > 1e-12 and n < 50:
        change = (angle - eccentricity * math.sin(angle) - mean) / (1.0 - eccentricity * math.cos(angle))
        angle -= change
        n += 1
    return angle


def error_function(x):
    """Sum the series near zero, and evaluate the continued fraction of the complement elsewhere."""
    size = abs(x)
    square = size * size
    if size < 2.0:
        term = size
        total = size
        n = 1.0
        while abs(term) > 1e-17 * total:
            term *= -square / n
            total += term / (2.0 * n + 1.0)
            n += 1.0
        value = 1.1283791670955126 * total
    else:
        level = 4.0 + np.floor(200.0 / square)
        fraction = 0.0
        while level > 0.0:
            fraction = 0.5 * level / (size + fraction)
            level -= 1.0
        value = 1.0 - 0.5641895835477563 * math.exp(-square) / (size + fraction)
    return value if x >= 0.0 else -value


def log_gamma(x):
    """Raise a positive number to where Stirling's series is exact."""
    product = 1.0
    while x < 8.0:
        product *= x
        x += 1.0
    inverse = 1.0 / x
    r = inverse * inverse
    series = 1 / 12 + r * (-1 / 360 + r * (1 / 1260 + r * (-1 / 1680 + r * (1 / 1188 - r * (691 / 360360)))))
    return (x - 0.5) * math.log(x) - x + 0.9189385332046727 + inverse * series - math.log(product)


def great_circle(latitude, longitude, to_latitude, to_longitude):
    """Return the angle between two places, by the haversine formula."""
    half = np.float32(0.5)
    across = math.sin(half * (to_longitude - longitude))
    up = math.sin(half * (to_latitude - latitude))
    square = up * up + math.cos(latitude) * math.cos(to_latitude) * across * across
    return np.float32(2) * math.asin(min(math.sqrt(square), np.float32(1)))


def tone(x):
    """Bend a brightness by pieces, clipped to one."""
    if x < np.float32(0.1):
        return np.float32(0.5) * x
    if x < np.float32(0.6):
        return np.float32(0.05) + (x - np.float32(0.1)) * (np.float32(0.5) + x)
    return min(np.float32(0.6) + np.float32(0.75) * (x - np.float32(0.6)), np.float32(1))

"""Programs that compute: long chains, loops that threads leave at different times, vector math, narrow numbers."""

from __future__ import annotations

import math

import numpy as np

from bench.fits.program import Program, line, numbers
from weft import cuda


@cuda.jit
def stirred(seeds, result):
    """Stir the bits of a number: one chain of short operations."""
    i = cuda.grid(1)
    if i < seeds.size:
        x = seeds[i]
        for _ in range(64):
            x ^= x << np.uint32(13)
            x ^= x >> np.uint32(17)
            x ^= x << np.uint32(5)
        result[i] = x


@cuda.jit
def mixed(seeds, result):
    """Mix numbers of 64 bits, whose multiplication few machines have for vectors."""
    i = cuda.grid(1)
    if i < seeds.size:
        x = seeds[i]
        for _ in range(32):
            x = x * np.uint64(6364136223846793005)
            x ^= x >> np.uint64(29)
        result[i] = x


@cuda.jit
def series(points, weights, result):
    """Evaluate a long polynomial in doubles, whose coefficients all threads share."""
    i = cuda.grid(1)
    if i < points.size:
        x = points[i]
        total = 0.0
        for k in range(weights.size):
            total = total * x + weights[k]
        result[i] = total


@cuda.jit
def orbits(growth, result):
    """Follow a population until it comes to rest, or for 200 years."""
    i = cuda.grid(1)
    if i < growth.size:
        r = growth[i]
        x = np.float32(0.3)
        years = 0
        while years < 200:
            next = r * x * (np.float32(1) - x)
            if abs(next - x) < np.float32(1e-5):
                break
            x = next
            years += 1
        result[i] = years


@cuda.jit
def means(first, second, result):
    """Compute the arithmetic-geometric mean of two doubles."""
    i = cuda.grid(1)
    if i < first.size:
        a, g = first[i], second[i]
        while abs(a - g) > 1e-12 * a:
            a, g = (a + g) / 2, math.sqrt(a * g)
        result[i] = a


@cuda.jit
def digit_sums(given, result):
    """Add the digits of a number: a division by a constant a step."""
    i = cuda.grid(1)
    if i < given.size:
        n = given[i]
        total = np.uint32(0)
        while n > 0:
            total += n % np.uint32(10)
            n //= np.uint32(10)
        result[i] = total


@cuda.jit
def least_factors(given, result):
    """Find the least odd factor of a number by trial division."""
    i = cuda.grid(1)
    if i < given.size:
        n = given[i]
        d = np.int32(3)
        while d * d <= n and n % d != 0:
            d += np.int32(2)
        result[i] = d


@cuda.jit
def butterflies(starts, result):
    """Integrate Lorenz' equations by Runge and Kutta: many values that live at once."""
    i = cuda.grid(1)
    if i < starts.shape[1]:
        x, y, z = starts[0, i], starts[1, i], starts[2, i]
        h, s, b, r = np.float32(0.01), np.float32(10), np.float32(8 / 3), np.float32(28)
        half, sixth, two = h / np.float32(2), h / np.float32(6), np.float32(2)
        for _ in range(20):
            ax, ay, az = s * (y - x), x * (r - z) - y, x * y - b * z
            px, py, pz = x + half * ax, y + half * ay, z + half * az
            bx, by, bz = s * (py - px), px * (r - pz) - py, px * py - b * pz
            px, py, pz = x + half * bx, y + half * by, z + half * bz
            cx, cy, cz = s * (py - px), px * (r - pz) - py, px * py - b * pz
            px, py, pz = x + h * cx, y + h * cy, z + h * cz
            dx, dy, dz = s * (py - px), px * (r - pz) - py, px * py - b * pz
            x += sixth * (ax + two * bx + two * cx + dx)
            y += sixth * (ay + two * by + two * cy + dy)
            z += sixth * (az + two * bz + two * cz + dz)
        result[0, i] = x
        result[1, i] = y
        result[2, i] = z


@cuda.jit
def mixtures(points, centres, result):
    """Add some bells: a loop with a call of `exp`."""
    i = cuda.grid(1)
    if i < points.size:
        total = np.float32(0)
        for k in range(centres.size):
            d = points[i] - centres[k]
            total += math.exp(-d * d)
        result[i] = total


@cuda.jit
def growths(rates, years, result):
    """Raise doubles to powers and take logarithms."""
    i = cuda.grid(1)
    if i < rates.size:
        result[i] = math.log(1 + math.pow(rates[i], years[i])) * math.cos(years[i])


@cuda.jit
def blended(below, above, cover, result):
    """Lay one picture of bytes over another."""
    i = cuda.grid(1)
    if i < below.size:
        a = np.int32(cover[i])
        mixed = np.int32(above[i]) * a + np.int32(below[i]) * (np.int32(255) - a)
        result[i] = np.uint8((mixed + np.int32(128)) // np.int32(256))


@cuda.jit
def louder(first, second, gain, result):
    """Mix two tracks of shorts, and cut off what is too loud."""
    i = cuda.grid(1)
    if i < first.size:
        mixed = (np.int32(first[i]) * gain >> np.int32(8)) + np.int32(second[i])
        result[i] = np.int16(min(max(mixed, np.int32(-32768)), np.int32(32767)))


@cuda.jit
def roots(given, result):
    """Take whole square roots bit by bit: a uniform loop with a branch in it."""
    i = cuda.grid(1)
    if i < given.size:
        rest = given[i]
        root = np.uint32(0)
        bit = np.uint32(1) << np.uint32(30)
        for _ in range(16):
            if rest >= root + bit:
                rest -= root + bit
                root = (root >> np.uint32(1)) + bit
            else:
                root >>= np.uint32(1)
            bit >>= np.uint32(2)
        result[i] = root


def _bits(count: int, type: type[np.integer]) -> np.ndarray:
    return numbers().integers(1, np.iinfo(type).max, count, type)


def _reals(low: float, high: float, count: int, type: type[np.floating] = np.float32) -> np.ndarray:
    return numbers().uniform(low, high, count).astype(type)


def _pixels(count: int) -> tuple[np.ndarray, ...]:
    drawn = numbers().integers(0, 256, (3, count), np.uint8)
    return (*drawn, np.zeros(count, np.uint8))


def _tracks(count: int) -> tuple[np.ndarray | np.int32, ...]:
    first, second = numbers().integers(-30000, 30000, (2, count), np.int16)
    return first, second, np.int32(300), np.zeros(count, np.int16)


PROGRAMS = (
    Program(stirred, lambda: line(_bits(1 << 17, np.uint32), np.uint32)),
    Program(mixed, lambda: line(_bits(1 << 15, np.uint64), np.uint64)),
    Program(
        series, lambda: line(_reals(-1, 1, 1 << 15, np.float64), np.float64, _reals(-1, 1, 40, np.float64))
    ),
    Program(
        orbits,
        lambda: line(_reals(0.5, 3.9, 1 << 14), np.int32),
        lambda: line(np.sort(_reals(0.5, 3.9, 1 << 14)), np.int32),
        tolerance=0.002,
    ),
    Program(
        means,
        lambda: line(_reals(1, 1e6, 1 << 14, np.float64), np.float64, _reals(1, 10, 1 << 14, np.float64)),
    ),
    Program(digit_sums, lambda: line(_bits(1 << 16, np.uint32), np.uint32)),
    Program(least_factors, lambda: line(numbers().integers(1, 1 << 15, 1 << 14, np.int32) * 2 + 1, np.int32)),
    Program(
        butterflies, lambda: ((s := _reals(-1, 1, 3 << 13).reshape(3, -1)), np.zeros_like(s)), threads=1 << 13
    ),
    Program(mixtures, lambda: line(_reals(-3, 3, 1 << 15), np.float32, _reals(-3, 3, 12))),
    Program(
        growths,
        lambda: line(_reals(0.5, 2, 1 << 15, np.float64), np.float64, _reals(1, 9, 1 << 15, np.float64)),
    ),
    Program(blended, lambda: _pixels(1 << 20)),
    Program(louder, lambda: _tracks(1 << 20)),
    Program(roots, lambda: line(_bits(1 << 16, np.uint32), np.uint32)),
)

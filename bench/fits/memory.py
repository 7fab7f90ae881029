"""Programs that wait for memory: gathers near and far, chains of them, structures, rows, columns, atomics."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.fits.program import Arguments, Program, line, numbers
from weft import cuda

FAR = 1 << 21
NEAR = 1 << 12


@cuda.jit
def looked_up(places, table, result):
    """Add what a table has at eight places of a thread."""
    i = cuda.grid(1)
    if i < places.shape[1]:
        total = np.float32(0)
        for k in range(8):
            total += table[places[k, i]]
        result[i] = total


@cuda.jit
def chased(first, following, result):
    """Follow a list to its end, which each thread finds at another time."""
    i = cuda.grid(1)
    if i < first.size:
        at = first[i]
        steps = 0
        while at >= 0:
            at = following[at]
            steps += 1
        result[i] = steps


@cuda.jit
def heaviest(first, following, weights, result):
    """Follow a list and keep the greatest weight on the way."""
    i = cuda.grid(1)
    if i < first.size:
        at = first[i]
        best = np.float32(0)
        while at >= 0:
            w = weights[at]
            if w > best:
                best = w
            at = following[at]
        result[i] = best


@cuda.jit
def segment_maxima(begins, values, result):
    """Take the maximum of each segment of an array; segments have different lengths."""
    i = cuda.grid(1)
    if i < result.size:
        best = np.float32(-1)
        for k in range(begins[i], begins[i + 1]):
            best = max(best, values[k])
        result[i] = best


@cuda.jit
def row_norms(matrix, result):
    """Walk along a row each."""
    i = cuda.grid(1)
    if i < matrix.shape[0]:
        total = np.float32(0)
        for k in range(matrix.shape[1]):
            total += abs(matrix[i, k])
        result[i] = total


@cuda.jit
def column_norms(matrix, result):
    """Walk down a column each."""
    i = cuda.grid(1)
    if i < matrix.shape[1]:
        total = 0.0
        for k in range(matrix.shape[0]):
            total += matrix[k, i] * matrix[k, i]
        result[i] = total


@cuda.jit
def turned_points(points, result):
    """Turn points of three floats, which lie side by side."""
    i = cuda.grid(1)
    if 3 * i + 2 < points.size:
        x, y, z = points[3 * i], points[3 * i + 1], points[3 * i + 2]
        result[3 * i] = np.float32(0.8) * x - np.float32(0.6) * y
        result[3 * i + 1] = np.float32(0.6) * x + np.float32(0.8) * y
        result[3 * i + 2] = z + np.float32(0.5)


@cuda.jit
def products(first, second, result):
    """Multiply complex doubles, whose parts lie side by side."""
    i = cuda.grid(1)
    if 2 * i + 1 < first.size:
        a, b, c, d = first[2 * i], first[2 * i + 1], second[2 * i], second[2 * i + 1]
        result[2 * i] = a * c - b * d
        result[2 * i + 1] = a * d + b * c


@cuda.jit
def greys(picture, result):
    """Weigh the colours of a picture of three bytes a pixel."""
    i = cuda.grid(1)
    if i < result.size:
        red, green, blue = picture[3 * i], picture[3 * i + 1], picture[3 * i + 2]
        sum = np.int32(77) * np.int32(red) + np.int32(150) * np.int32(green) + np.int32(29) * np.int32(blue)
        result[i] = np.uint8(sum >> np.int32(8))


@cuda.jit
def moved_some(points, limit, result):
    """Move those points of three floats that are far up."""
    i = cuda.grid(1)
    if 3 * i + 2 < points.size:
        z = points[3 * i + 2]
        if z > limit:
            result[3 * i] = points[3 * i] + np.float32(1)
            result[3 * i + 1] = points[3 * i + 1] - np.float32(1)
            result[3 * i + 2] = z * np.float32(0.5)


@cuda.jit
def two_of_four(records, result):
    """Read two members of records of four."""
    i = cuda.grid(1)
    if 4 * i + 3 < records.size:
        result[i] = records[4 * i] * records[4 * i + 2]


@cuda.jit
def scattered_counts(places, counts):
    """Count in an array that all share."""
    i = cuda.grid(1)
    if i < places.size:
        cuda.atomic.add(counts, places[i], 1)


@cuda.jit
def median_of_nine(picture, result):
    """Sort nine neighbours into an array of the thread's own and take the middle one."""
    i = cuda.grid(1)
    if 4 <= i < picture.size - 4:
        window = cuda.local.array(9, np.float32)
        for k in range(9):
            value = picture[i + k - 4]
            at = k
            while at > 0 and window[at - 1] > value:
                window[at] = window[at - 1]
                at -= 1
            window[at] = value
        result[i] = window[4]


def _table(size: int) -> Arguments:
    rng = numbers()
    places = rng.integers(0, size, (8, 1 << 15), np.int32)
    return places, rng.random(size, np.float32), np.zeros(1 << 15, np.float32)


def _near_table() -> Arguments:
    places, table, result = _table(FAR)
    spread = np.arange(places.shape[1], dtype=np.int32)
    return (places % 64 + spread).astype(np.int32), table, result


def _lists(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where threads begin, and lists that end at every twentieth element."""
    rng = numbers()
    order = rng.permutation(size).astype(np.int32)
    following = np.full(size, -1, np.int32)
    # A path that is cut into pieces: cycles would have no end.
    following[order[:-1]] = np.where(rng.random(size - 1) < 0.05, -1, order[1:])
    return rng.integers(0, size, count, np.int32), following


def _chains(size: int, count: int) -> Arguments:
    first, following = _lists(size, count)
    return first, following, np.zeros(count, np.int32)


def _weighted(size: int, count: int) -> Arguments:
    first, following = _lists(size, count)
    return first, following, numbers().random(size, np.float32), np.zeros(count, np.float32)


def _segments(mean: int) -> Arguments:
    lengths = numbers().integers(0, 2 * mean, 1 << 14)
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return begins, numbers().random(int(begins[-1]), np.float32), np.zeros(1 << 14, np.float32)


def _matrix(rows: int, columns: int, results: int, type: type[np.floating]) -> Arguments:
    return numbers().random((rows, columns)).astype(type), np.zeros(results, type)


def _floats(count: int, type: type[np.floating] = np.float32) -> np.ndarray:
    return numbers().random(count).astype(type)


def _picture() -> Arguments:
    return numbers().integers(0, 256, 3 << 18, np.uint8), np.zeros(1 << 18, np.uint8)


def _points(limit: float) -> Arguments:
    return _floats(3 << 15), np.float32(limit), np.zeros(3 << 15, np.float32)


def _counts(bins: int) -> Arguments:
    return numbers().integers(0, bins, 1 << 15, np.int32), np.zeros(bins, np.int32)


PROGRAMS = (
    Program(looked_up, _near_table, partial(_table, NEAR), partial(_table, FAR), threads=1 << 15),
    Program(chased, partial(_chains, NEAR, 1 << 14), partial(_chains, FAR, 1 << 13)),
    Program(heaviest, partial(_weighted, NEAR, 1 << 14), partial(_weighted, FAR, 1 << 13)),
    Program(segment_maxima, partial(_segments, 4), partial(_segments, 30), threads=1 << 14),
    Program(row_norms, partial(_matrix, 1 << 12, 64, 1 << 12, np.float32), threads=1 << 12),
    Program(column_norms, partial(_matrix, 64, 1 << 12, 1 << 12, np.float64), threads=1 << 12),
    Program(turned_points, lambda: (_floats(3 << 16), np.zeros(3 << 16, np.float32)), threads=1 << 16),
    Program(
        products,
        lambda: (_floats(1 << 17, np.float64), _floats(1 << 17, np.float64), np.zeros(1 << 17)),
        threads=1 << 16,
    ),
    Program(greys, _picture, threads=1 << 18),
    Program(moved_some, partial(_points, 0.5), partial(_points, 0.95), threads=1 << 15),
    Program(two_of_four, lambda: line(_floats(1 << 18), np.float32, size=1 << 16), threads=1 << 16),
    Program(scattered_counts, partial(_counts, 1 << 6), partial(_counts, 1 << 16)),
    Program(median_of_nine, lambda: line(_floats(1 << 14), np.float32)),
)

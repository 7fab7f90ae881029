"""Programs of work-groups: barriers, short rows, tiles in shared memory, bins that a work-group shares, planes."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.fits.program import Arguments, Program, numbers
from weft import cuda

TILE = 16
LINE = 128


@cuda.jit
def smoothed(given, result):
    """Average over 17 neighbours in shared memory: two rounds, no loop around the barrier."""
    part = cuda.shared.array(LINE + 16, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t + 8] = given[min(i, given.size - 1)]
    if t < 8:
        part[t] = given[max(i - 8, 0)]
        part[t + LINE + 8] = given[min(i + LINE, given.size - 1)]
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(17):
        total += part[t + k]
    if i < given.size:
        result[i] = total / np.float32(17)


@cuda.jit
def relaxed(given, result):
    """Relax a line in shared memory: many short rounds."""
    part = cuda.shared.array(LINE, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = given[i]
    for _ in range(12):
        cuda.syncthreads()
        left, right = part[max(t - 1, 0)], part[min(t + 1, LINE - 1)]
        cuda.syncthreads()
        part[t] = np.float32(0.25) * (left + right) + np.float32(0.5) * part[t]
    result[i] = part[t]


@cuda.jit
def tile_distances(first, second, result):
    """Compute the distance between each two rows, by tiles."""
    a = cuda.shared.array((TILE, TILE), np.float32)
    b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for begin in range(0, first.shape[1], TILE):
        a[y, x] = first[row, begin + x]
        b[x, y] = second[cuda.blockIdx.x * TILE + y, begin + x]
        cuda.syncthreads()
        for k in range(TILE):
            total += abs(a[y, k] - b[k, x])
        cuda.syncthreads()
    result[row, column] = total


@cuda.jit
def pyramid(picture, result):
    """Average squares of four pixels, in work-groups of short rows."""
    x, y = cuda.grid(2)
    if y < result.shape[0] and x < result.shape[1]:
        above = picture[2 * y, 2 * x] + picture[2 * y, 2 * x + 1]
        below = picture[2 * y + 1, 2 * x] + picture[2 * y + 1, 2 * x + 1]
        result[y, x] = (above + below) * np.float32(0.25)


@cuda.jit
def pairs_of_levels(picture, counts):
    """Count which levels follow each other, in bins that a work-group shares."""
    bins = cuda.shared.array(256, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    for k in range(t, 256, LINE):
        bins[k] = 0
    cuda.syncthreads()
    for k in range(16 * i, min(16 * i + 16, picture.size - 1)):
        cuda.atomic.add(bins, np.int32(picture[k]) // 16 * 16 + np.int32(picture[k + 1]) // 16, 1)
    cuda.syncthreads()
    for k in range(t, 256, LINE):
        cuda.atomic.add(counts, k, bins[k])


@cuda.jit
def down_columns(volume, result):
    """Scan along the last axis, which lies together in memory, with the other one in the lanes."""
    x, y = cuda.grid(2)
    if x < volume.shape[0] and y < volume.shape[1]:
        result[x, y] = volume[x, y] * np.float32(2) + volume[x, max(y - 1, 0)]


@cuda.jit
def spread_heat(plane, result):
    """Let heat flow by differences, where a point is hot enough."""
    x, y = cuda.grid(2)
    if 0 < y < plane.shape[0] - 1 and 0 < x < plane.shape[1] - 1:
        here = plane[y, x]
        if here > np.float32(0.75):
            around = plane[y, x - 1] + plane[y, x + 1] + plane[y - 1, x] + plane[y + 1, x]
            here += np.float32(0.2) * (around - np.float32(4) * here)
        result[y, x] = here


def _line(count: int) -> Arguments:
    return numbers().random(count, np.float32), np.zeros(count, np.float32)


def _rows(count: int, length: int) -> Arguments:
    first, second = numbers().random((2, count, length), np.float32)
    return first, second, np.zeros((count, count), np.float32)


def _picture(rows: int, columns: int, scale: int) -> Arguments:
    return numbers().random((scale * rows, scale * columns), np.float32), np.zeros(
        (rows, columns), np.float32
    )


def _levels() -> Arguments:
    return numbers().integers(0, 256, 1 << 17, np.uint8), np.zeros(256, np.int32)


PROGRAMS = (
    Program(smoothed, partial(_line, 1 << 17), threads=1 << 17, block=LINE),
    Program(relaxed, partial(_line, 1 << 15), threads=1 << 15, block=LINE),
    Program(tile_distances, partial(_rows, 128, 128), threads=(128, 128), block=(TILE, TILE)),
    Program(pyramid, partial(_picture, 256, 512, 2), threads=(512, 256), block=(8, 8)),
    Program(pairs_of_levels, _levels, threads=1 << 13, block=LINE),
    Program(down_columns, partial(_picture, 512, 512, 1), threads=(512, 512), block=(16, 16)),
    Program(spread_heat, partial(_picture, 512, 512, 1), threads=(512, 512), block=(64, 4)),
)

"""Ten kernels of which a report says what costs, and the same with its first hint followed.

Each pair says which finding is meant and by which hint. What is compared is the work, not the code: some hints change
a kernel, others its data, such as the order of what is looked up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import cuda
from weft.report import hints
from weft.report.model import FindingKind

BLOCK = 128


@dataclass(frozen=True, slots=True)
class Side:
    """A kernel with what it is launched on.

    Parameters
    ----------
    kernel
        The kernel, compiled for one signature.
    grid, block
        Its launch.
    arguments
        Its arguments.
    result
        Reads off the arguments what both sides have to agree on.
    """

    kernel: Any
    grid: Any
    block: Any
    arguments: tuple[Any, ...]
    result: Callable[[], np.ndarray[Any, Any]]

    def run(self) -> None:
        """Launch it."""
        self.kernel[self.grid, self.block](*self.arguments)


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel before and after.

    Parameters
    ----------
    name
        What it does.
    kind, hint
        The finding that is meant, and its hint.
    sides
        Before and after, for a size.
    size
        The size to measure.
    """

    name: str
    kind: FindingKind
    hint: str
    sides: Callable[[int], tuple[Side, Side]]
    size: int


@cuda.jit("void(float32[:, ::1], float32[::1])")
def sums_of_rows(a, sums):
    i = cuda.grid(1)
    if i < sums.size:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k]
        sums[i] = total


@cuda.jit("void(float32[:, ::1], float32[::1])")
def sums_of_columns(a, sums):
    i = cuda.grid(1)
    if i < sums.size:
        total = np.float32(0)
        for k in range(a.shape[0]):
            total += a[k, i]
        sums[i] = total


def _sums(n: int) -> tuple[Side, Side]:
    a = _random(n, 64)
    turned = np.ascontiguousarray(a.T)
    first, second = np.zeros(n, np.float32), np.zeros(n, np.float32)
    return (
        Side(sums_of_rows, _grid(n), BLOCK, (a, first), lambda: first),
        Side(sums_of_columns, _grid(n), BLOCK, (turned, second), lambda: second),
    )


@cuda.jit("void(float32[::1], float32[::1])")
def heights_of_records(points, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(points[8 * i + 2]) + points[8 * i + 5]


@cuda.jit("void(float32[::1], float32[::1], float32[::1])")
def heights_of_fields(z, offset, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(z[i]) + offset[i]


def _records(n: int) -> tuple[Side, Side]:
    points = _random(n, 8)
    first, second = np.zeros(n, np.float32), np.zeros(n, np.float32)
    fields = np.ascontiguousarray(points[:, 2]), np.ascontiguousarray(points[:, 5])
    return (
        Side(heights_of_records, _grid(n), BLOCK, (points.reshape(-1), first), lambda: first),
        Side(heights_of_fields, _grid(n), BLOCK, (*fields, second), lambda: second),
    )


def _weighted(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


weighted_any = cuda.jit("void(float32, float32[:], float32[:])")(_weighted)
weighted_contiguous = cuda.jit("void(float32, float32[::1], float32[::1])")(_weighted)


def _layouts(n: int) -> tuple[Side, Side]:
    x, y = _random(n), np.zeros(n, np.float32)
    other = y.copy()
    a = np.float32(0.5)
    # A column of a matrix is what comes without a copy.
    apart = np.zeros((n, 2), np.float32)[:, 0]
    apart[:] = x
    return (
        Side(weighted_any, _grid(n), BLOCK, (a, apart, y), lambda: y),
        Side(weighted_contiguous, _grid(n), BLOCK, (a, np.ascontiguousarray(apart), other), lambda: other),
    )


@cuda.jit("void(int32[::1], float32[::1], float32[::1])")
def look_up(index, table, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[index[i]] * np.float32(2)


def _queries(n: int) -> tuple[Side, Side]:
    rng = np.random.default_rng(1)
    table = _random(4 * n)
    index = rng.integers(0, table.size, n).astype(np.int32)
    order = np.argsort(index)
    first, second = np.zeros(n, np.float32), np.zeros(n, np.float32)

    def unsorted() -> np.ndarray[Any, Any]:
        back = np.empty_like(second)
        back[order] = second
        return back

    return (
        Side(look_up, _grid(n), BLOCK, (index, table, first), lambda: first),
        Side(look_up, _grid(n), BLOCK, (index[order], table, second), unsorted),
    )


@cuda.jit("void(int32[::1], float32[::1])")
def iterate(rounds, out):
    i = cuda.grid(1)
    if i < out.size:
        x = np.float32(0.5)
        k = 0
        while k < rounds[i]:
            x = x * np.float32(3.7) * (np.float32(1) - x)
            k += 1
        out[i] = x


def _lengths(n: int) -> tuple[Side, Side]:
    rng = np.random.default_rng(2)
    rounds = np.minimum(rng.geometric(0.02, n), 1000).astype(np.int32)
    order = np.argsort(rounds, kind="stable")
    first, second = np.zeros(n, np.float32), np.zeros(n, np.float32)

    def unsorted() -> np.ndarray[Any, Any]:
        back = np.empty_like(second)
        back[order] = second
        return back

    return (
        Side(iterate, _grid(n), BLOCK, (rounds, first), lambda: first),
        Side(iterate, _grid(n), BLOCK, (rounds[order], second), unsorted),
    )


@cuda.jit("void(int32[::1], float32[::1], float32[::1])")
def two_ways(way, x, out):
    i = cuda.grid(1)
    if i < out.size:
        v = x[i]
        if way[i] == 0:
            for _ in range(12):
                v = math.sqrt(v * v + np.float32(1)) / (v + np.float32(2))
        else:
            for _ in range(12):
                v = math.sqrt(v + np.float32(3)) / (v * v + np.float32(1))
        out[i] = v


def _ways(n: int) -> tuple[Side, Side]:
    rng = np.random.default_rng(3)
    way, x = rng.integers(0, 2, n).astype(np.int32), _random(n)
    order = np.argsort(way, kind="stable")
    first, second = np.zeros(n, np.float32), np.zeros(n, np.float32)

    def unsorted() -> np.ndarray[Any, Any]:
        back = np.empty_like(second)
        back[order] = second
        return back

    return (
        Side(two_ways, _grid(n), BLOCK, (way, x, first), lambda: first),
        Side(two_ways, _grid(n), BLOCK, (way[order], x[order], second), unsorted),
    )


@cuda.jit("void(int32[::1], int32[::1])")
def count_each(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i] & 7, 1)


@cuda.jit("void(int32[::1], int32[::1])")
def count_first(values, counts):
    own = cuda.local.array(8, np.int32)
    for k in range(8):
        own[k] = 0
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        own[values[i] & 7] += 1
    for k in range(8):
        cuda.atomic.add(counts, k, own[k])


def _counts(n: int) -> tuple[Side, Side]:
    values = np.random.default_rng(4).integers(0, 1 << 20, n).astype(np.int32)
    first, second = np.zeros(8, np.int32), np.zeros(8, np.int32)
    return (
        Side(count_each, _grid(n), BLOCK, (values, first), lambda: first),
        Side(count_first, 8, BLOCK, (values, second), lambda: second),
    )


def _smooth(x, factor, out):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = factor * (x[i - 1] + x[i] + x[i + 1]) / (x[i] * x[i] + factor)


smooth_wide = cuda.jit("void(float32[::1], float64, float32[::1])")(_smooth)
smooth_narrow = cuda.jit("void(float32[::1], float32, float32[::1])")(_smooth)


def _floats(n: int) -> tuple[Side, Side]:
    x = _random(n)
    first, second = np.zeros(n, np.float32), np.zeros(n, np.float32)
    return (
        Side(smooth_wide, _grid(n), BLOCK, (x, 0.25, first), lambda: first),
        Side(smooth_narrow, _grid(n), BLOCK, (x, np.float32(0.25), second), lambda: second),
    )


@cuda.jit("void(int32[::1], float32[::1], float32[:, ::1])")
def scale_each(index, table, a):
    i = cuda.grid(1)
    if i < index.size:
        for k in range(a.shape[0]):
            a[k, i] = a[k, i] * table[index[i]]
            cuda.threadfence_block()


@cuda.jit("void(int32[::1], float32[::1], float32[:, ::1])")
def scale_hoisted(index, table, a):
    i = cuda.grid(1)
    if i < index.size:
        factor = table[index[i]]
        for k in range(a.shape[0]):
            a[k, i] = a[k, i] * factor
            cuda.threadfence_block()


def _factors(n: int) -> tuple[Side, Side]:
    index = np.random.default_rng(5).integers(0, 256, n).astype(np.int32)
    table = np.linspace(0.9, 1.0, 256, dtype=np.float32)
    first = _random(32, n)
    second = first.copy()
    return (
        Side(scale_each, _grid(n), BLOCK, (index, table, first), lambda: first),
        Side(scale_hoisted, _grid(n), BLOCK, (index, table, second), lambda: second),
    )


@cuda.jit("void(float32[:, ::1], float32[:, ::1], float32[:, ::1])")
def sum_by_number(a, rows, columns):
    i = cuda.grid(1)
    y, x = i // a.shape[1], i % a.shape[1]
    if y < a.shape[0]:
        for k in range(rows.shape[0]):
            a[y, x] += rows[k, y] * columns[k, x]


@cuda.jit("void(float32[:, ::1], float32[:, ::1], float32[:, ::1])")
def sum_by_place(a, rows, columns):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        for k in range(rows.shape[0]):
            a[y, x] += rows[k, y] * columns[k, x]


def _places(n: int) -> tuple[Side, Side]:
    width = 500
    height = max(1, n // width)
    rows, columns = _random(3, height), _random(3, width)
    first, second = np.zeros((height, width), np.float32), np.zeros((height, width), np.float32)
    return (
        Side(sum_by_number, _grid(height * width), BLOCK, (first, rows, columns), lambda: first),
        Side(sum_by_place, (_grid(width), height), (BLOCK, 1), (second, rows, columns), lambda: second),
    )


PAIRS = (
    Pair("sums of rows", FindingKind.STRIDED, hints.EXCHANGE, _sums, 1 << 14),
    Pair("fields of records", FindingKind.STRIDED, hints.SEPARATE, _records, 1 << 17),
    Pair("arrays of any layout", FindingKind.STRIDED, hints.CONTIGUOUS, _layouts, 1 << 17),
    Pair("a table looked up at random", FindingKind.GATHER, hints.SORT, _queries, 1 << 20),
    Pair("iterations of many lengths", FindingKind.DIVERGENT_LOOP, hints.VOTE, _lengths, 1 << 16),
    Pair("two ways, mixed", FindingKind.DIVERGENT_BRANCH, hints.ORDER, _ways, 1 << 17),
    Pair("a histogram by atomics", FindingKind.ATOMIC, hints.LOCAL, _counts, 1 << 20),
    Pair("a number of 64 bits", FindingKind.WIDE, hints.NARROW, _floats, 1 << 17),
    Pair("a factor looked up in a loop", FindingKind.GATHER, hints.HOIST, _factors, 1 << 14),
    Pair("rows and columns by division", FindingKind.SCATTER, hints.MULTIPLE, _places, 1 << 20),
)


def _grid(threads: int) -> int:
    return -(-threads // BLOCK)


def _random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random(shape, dtype=np.float32)

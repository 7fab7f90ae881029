"""The rows of the table: the kernels of ``examples/workgroups`` at realistic sizes, and their launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.speed.rows import Row
from examples.irregular.problem import Problem, blocks_for
from examples.workgroups import (
    bitonic_sort,
    dct,
    histogram,
    matrix_product,
    nbody,
    reduction,
    scan,
    transpose,
    walsh,
)
from weft.cuda.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel on so many groups of so many threads, for weft and, under the same name, for OpenCL."""

    kernel: Kernel
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.kernel.py_func.__name__


def single(problem: Problem) -> list[Launch]:
    """Launch the kernel once."""
    return [Launch(problem.kernel, problem.grid, problem.block, problem.arguments)]


@dataclass(frozen=True, slots=True)
class GroupRow(Row):
    """A row whose `peer` names its OpenCL program, too; what is wanted is of means, not of the fastest peer.

    Parameters
    ----------
    launches
        What a run consists of; scratch arrays are made here, so that no run allocates.
    compute_bound
        Whether two threads can be twice as fast as one, whatever the memory does.
    """

    wanted: float = 0
    launches: Callable[[Problem], Sequence[Launch]] = single
    compute_bound: bool = False


def product(size: int) -> Problem:
    """Return the product of two square matrices."""
    rng = np.random.default_rng(3)
    a, b = rng.random((size, size), np.float32), rng.random((size, size), np.float32)
    tile = matrix_product.TILE
    side = blocks_for(size, tile)
    arguments = a, b, np.zeros_like(a)

    def expected() -> tuple[np.ndarray, ...]:
        return (a.astype(np.float64) @ b,)

    return Problem(
        matrix_product.tiled_product, arguments, (side, side), (tile, tile), (2,), expected, rtol=1e-4
    )


def cosines(size: int) -> Problem:
    """Return the transform of the blocks of a square image."""
    image = np.random.default_rng(6).random((size, size), np.float32)
    blocks = size // dct.SIDE

    def expected() -> tuple[np.ndarray, ...]:
        pixels = image.astype(np.float64).reshape(blocks, dct.SIDE, blocks, dct.SIDE)
        return (
            np.einsum("ij,ajbk,lk->aibl", dct.BASIS, pixels, dct.BASIS, optimize=True).reshape(image.shape),
        )

    arguments = image, np.zeros_like(image)
    block = dct.SIDE, dct.SIDE
    return Problem(dct.dct_of_block, arguments, (blocks, blocks), block, (1,), expected, atol=1e-4)


def turned(size: int) -> Problem:
    """Return the transpose of a square matrix."""
    source = np.random.default_rng(4).random((size, size), np.float32)
    side = blocks_for(size, transpose.TILE)
    block = transpose.TILE, transpose.ROWS
    arguments = source, np.zeros_like(source)
    return Problem(
        transpose.tiled_transpose, arguments, (side, side), block, (1,), lambda: (source.T.copy(),)
    )


def total(size: int) -> Problem:
    """Return the sum of a vector."""
    values = np.random.default_rng(1).random(size, np.float32)
    groups = min(reduction.MOST_GROUPS, blocks_for(size, reduction.THREADS))
    arguments = values, np.zeros(1, np.float32)

    def expected() -> tuple[np.ndarray, ...]:
        return (values.sum(dtype=np.float64, keepdims=True),)

    return Problem(reduction.group_sums, arguments, groups, reduction.THREADS, (1,), expected, rtol=1e-4)


def sums_of_sums(problem: Problem) -> list[Launch]:
    """Sum the groups' sums, too."""
    values, result = problem.arguments
    sums = np.zeros(problem.grid, np.float32)
    return [
        Launch(problem.kernel, problem.grid, problem.block, (values, sums)),
        Launch(problem.kernel, 1, problem.block, (sums, result)),
    ]


def prefix_sums(size: int) -> Problem:
    """Return the inclusive scan of a vector."""
    values = np.random.default_rng(2).integers(-1000, 1000, size)
    groups = blocks_for(size, scan.THREADS)
    arguments = values, np.zeros_like(values)
    return Problem(scan.scan_groups, arguments, groups, scan.THREADS, (1,), lambda: (np.cumsum(values),))


def scans(problem: Problem) -> list[Launch]:
    """Scan the groups' sums, too, and add them."""
    return _scan_of(*problem.arguments)


def _scan_of(values: np.ndarray, result: np.ndarray) -> list[Launch]:
    groups = blocks_for(values.size, scan.THREADS)
    sums = np.zeros(groups, np.int64)
    launches = [Launch(scan.scan_groups, groups, scan.THREADS, (values, result, sums))]
    if groups > 1:
        offsets = np.zeros_like(sums)
        launches += _scan_of(sums, offsets)
        launches.append(Launch(scan.add_group_offsets, groups, scan.THREADS, (result, offsets)))
    return launches


def counts(size: int) -> Problem:
    """Return how often each byte occurs."""
    data = np.random.default_rng(8).binomial(255, 0.4, size).astype(np.uint8)
    groups = min(histogram.MOST_GROUPS, blocks_for(size, histogram.THREADS))
    arguments = data, np.zeros(histogram.BINS, np.int32)

    def expected() -> tuple[np.ndarray, ...]:
        return (np.bincount(data, minlength=histogram.BINS),)

    return Problem(histogram.count_bytes, arguments, groups, histogram.THREADS, (1,), expected)


def pulls(count: int) -> Problem:
    """Return one step of n-body."""
    bodies = np.random.default_rng(9).random((count, 4), np.float32)
    groups = blocks_for(count, nbody.THREADS)
    arguments = bodies, np.zeros((count, 3), np.float32)

    def expected() -> tuple[np.ndarray, ...]:
        return (nbody.by_numpy(bodies, np.arange(count)),)

    # Pulls of all sides nearly cancel out in the middle; the greatest sums are about as large as there are bodies.
    return Problem(nbody.accelerations, arguments, groups, nbody.THREADS, (1,), expected, atol=1e-5 * count)


def stretches(size: int) -> Problem:
    """Return the sorted stretches of a vector."""
    values = np.random.default_rng(7).random(size, np.float32)
    given = values.reshape(-1, bitonic_sort.STRETCH).copy()
    groups, threads = len(given), bitonic_sort.THREADS
    return Problem(
        bitonic_sort.sort_stretches,
        (values,),
        groups,
        threads,
        (0,),
        lambda: (np.sort(given).reshape(-1),),
    )


def walsh_transform(size: int) -> Problem:
    """Return the transform of a vector of small whole numbers, whose sums are exact."""
    values = np.random.default_rng(15).integers(-4, 5, size).astype(np.float32)
    given = values.copy()
    groups = size // walsh.STRETCH
    return Problem(
        walsh.narrow_stages, (values,), groups, walsh.THREADS, (0,), lambda: (walsh.by_numpy(given),)
    )


def stages(problem: Problem) -> list[Launch]:
    """Go on with the stages that work-groups do not share."""
    (values,) = problem.arguments
    launches = single(problem)
    distance = walsh.STRETCH
    while distance < values.size:
        launches.append(Launch(walsh.wide_stage, problem.grid, problem.block, (values, distance)))
        distance *= 2
    return launches


ROWS = (
    GroupRow(
        "matrix_product",
        "tiled matrix product, 1024 x 1024",
        lambda: product(1024),
        "matrix_product",
        compute_bound=True,
    ),
    GroupRow("dct", "DCT of 8 x 8 blocks, 2048 x 2048", lambda: cosines(2048), "dct", compute_bound=True),
    GroupRow("transpose", "tiled transpose, 4096 x 4096", lambda: turned(4096), "transpose"),
    GroupRow(
        "reduction", "reduction, 2^24 floats", lambda: total(1 << 24), "reduction", launches=sums_of_sums
    ),
    GroupRow("scan", "inclusive scan, 2^24 int64", lambda: prefix_sums(1 << 24), "scan", launches=scans),
    GroupRow("histogram", "histogram, 2^24 bytes", lambda: counts(1 << 24), "histogram", compute_bound=True),
    GroupRow("nbody", "n-body with tiles, 16384 bodies", lambda: pulls(1 << 14), "nbody", compute_bound=True),
    GroupRow(
        "bitonic_sort",
        f"bitonic sort, 2^20 floats in stretches of {bitonic_sort.STRETCH}",
        lambda: stretches(1 << 20),
        "bitonic_sort",
        compute_bound=True,
    ),
    GroupRow(
        "walsh",
        "fast Walsh transform, 2^20 floats",
        lambda: walsh_transform(1 << 20),
        "walsh",
        launches=stages,
    ),
)

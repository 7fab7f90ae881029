"""The programs of the ablation: the irregular examples, work-group kernels, and kernels of other benches.

They are smaller than where peers are measured, since some columns take many times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.groups import rows as groups
from bench.groups.rows import GroupRow, Launch
from bench.speed import kernels
from examples.irregular import (
    ambient_occlusion,
    barnes_hut,
    barrier_option,
    binary_search,
    binary_tree,
    collatz,
    cross_sections,
    kd_tree,
    mandelbrot,
    nab_cascade,
)
from examples.irregular.problem import Problem, blocks_for
from examples.workgroups import convolution, floyd_warshall, kmeans, smith_waterman, spmv


@dataclass(frozen=True, slots=True)
class Program:
    """One line of the table.

    Parameters
    ----------
    name, title
        For the command line, and for the table.
    make
        The problem of a size; seeded, so that all columns have the same.
    size
        That of the table.
    launches
        What a run consists of.
    votes
        Whether threads vote, so that those of a warp run together at any width: no column of it is scalar.
    """

    name: str
    title: str
    make: Callable[[int], Problem]
    size: int
    launches: Callable[[Problem], Sequence[Launch]] = groups.single
    votes: bool = False

    def row(self, size: int | None = None) -> GroupRow:
        """Return the program at a size as a row that weft can be measured at."""
        return GroupRow(
            self.name, self.title, lambda: self.make(size or self.size), "", launches=self.launches
        )


def convolved(size: int) -> Problem:
    """Return the convolution of a picture."""
    image = np.random.default_rng(5).random((size, size + 9), np.float32)
    tile = convolution.TILE
    grid = blocks_for(size + 9, tile), blocks_for(size, tile)

    def expected() -> tuple[np.ndarray, ...]:
        from scipy import ndimage

        return (ndimage.convolve(image, convolution.WEIGHTS, mode="nearest"),)

    arguments = image, np.zeros_like(image)
    return Problem(convolution.convolve_tile, arguments, grid, (tile, tile), (1,), expected, rtol=1e-4)


def sparse_product(size: int) -> Problem:
    """Return a sparse matrix times a vector."""
    rng = np.random.default_rng(11)
    matrix, x = spmv.random_matrix(size, rng), rng.standard_normal(size)
    arguments = matrix.indptr, matrix.indices, matrix.data, x, np.zeros(size)
    return Problem(
        spmv.multiply_rows,
        arguments,
        blocks_for(size, spmv.WARPS),
        (spmv.WARP, spmv.WARPS),
        (4,),
        lambda: (matrix @ x,),
        rtol=1e-9,
        atol=1e-9,
    )


def alignments(size: int) -> Problem:
    """Return the scores of pairs of sequences, of which the second has letters changed and moved."""
    rng, letters = np.random.default_rng(14), smith_waterman.LETTERS
    first = rng.integers(0, letters, (size, smith_waterman.LENGTH), dtype=np.uint8)
    second = np.where(rng.random(first.shape) < 0.3, rng.integers(0, letters, first.shape), first)
    second = np.roll(second, 5, axis=1).astype(np.uint8)
    return Problem(
        smith_waterman.best_scores,
        (first, second, np.zeros(size, np.int32)),
        size,
        smith_waterman.LENGTH,
        (2,),
        lambda: (smith_waterman.by_numpy(first, second),),
    )


def clusters(size: int) -> Problem:
    """Return the nearest of some centres for each point, with sums over the points of each."""
    rng = np.random.default_rng(13)
    middles = rng.random((kmeans.CENTRES, kmeans.DIMENSIONS)) * 100
    points = middles[rng.integers(0, kmeans.CENTRES, size)]
    points = points + rng.standard_normal(points.shape)
    sums, counts = np.zeros_like(middles), np.zeros(kmeans.CENTRES, np.int32)

    def expected() -> tuple[np.ndarray, ...]:
        nearest = ((points[:, None] - middles) ** 2).sum(axis=2).argmin(axis=1)
        members = nearest == np.arange(kmeans.CENTRES)[:, None]
        return nearest, members @ points, members.sum(axis=1)

    arguments = points, middles, np.zeros(size, np.int32), sums, counts
    groups_of_points = blocks_for(size, kmeans.THREADS)
    return Problem(
        kmeans.assign_and_sum, arguments, groups_of_points, kmeans.THREADS, (2, 3, 4), expected, rtol=1e-9
    )


def paths(size: int) -> Problem:
    """Return all shortest paths of a complete graph; `rounds` launches the tiles of each round."""
    lengths = np.random.default_rng(16).integers(1, 100, (size, size)).astype(np.float32)
    np.fill_diagonal(lengths, 0)
    given, tile = lengths.copy(), floyd_warshall.TILE

    def expected() -> tuple[np.ndarray, ...]:
        wanted = given.copy()
        for k in range(size):
            np.minimum(wanted, wanted[:, k, None] + wanted[k], out=wanted)
        return (wanted,)

    grid = size // tile, size // tile
    return Problem(floyd_warshall.relax_rest, (lengths,), grid, (tile, tile), (0,), expected)


def rounds(problem: Problem) -> list[Launch]:
    """Launch what `floyd_warshall.shortest_paths` does."""
    (distances,) = problem.arguments
    tiles = problem.grid[0] if isinstance(problem.grid, tuple) else problem.grid
    parts = (
        (floyd_warshall.relax_diagonal, 1),
        (floyd_warshall.relax_cross, (tiles, 2)),
        (floyd_warshall.relax_rest, (tiles, tiles)),
    )
    return [
        Launch(kernel, grid, problem.block, (distances, number))
        for number in range(tiles)
        for kernel, grid in parts
    ]


def each_vertex(problem: Problem) -> list[Launch]:
    """Launch `kernels.floyd_warshall` for each vertex."""
    (distances,) = problem.arguments
    return [
        Launch(problem.kernel, problem.grid, problem.block, (distances, k)) for k in range(len(distances))
    ]


IRREGULAR = (
    Program(
        "mandelbrot",
        "Mandelbrot",
        lambda size: mandelbrot.picture(mandelbrot.mandelbrot, size, size * 3 // 4, mandelbrot.LIMIT),
        512,
    ),
    Program(
        "mandelbrot_complex",
        "Mandelbrot, complex numbers",
        lambda size: mandelbrot.picture(mandelbrot.mandelbrot_complex, size, size * 3 // 4, mandelbrot.LIMIT),
        512,
    ),
    Program("collatz", "Collatz", lambda size: collatz.problems(size)[0], 60_000),
    Program("binary_search", "binary search", lambda size: binary_search.searches(5 * size, size), 200_000),
    Program(
        "binary_tree",
        "binary tree, stack shared",
        lambda size: binary_tree.problems(size)[0],
        20_000,
        votes=True,
    ),
    Program(
        "kd_random",
        "kd-tree, stack a lane",
        lambda size: kd_tree.neighbours(5 * size, size, in_order=False, together=False),
        20_000,
    ),
    Program(
        "kd_sorted",
        "kd-tree, stack shared",
        lambda size: kd_tree.neighbours(5 * size, size, in_order=True, together=True),
        20_000,
        votes=True,
    ),
    Program(
        "correlation",
        "point correlation",
        lambda size: kd_tree.pairs(5 * size, size, 0.02),
        10_000,
        votes=True,
    ),
    Program("barnes_hut", "Barnes-Hut", lambda size: barnes_hut.problems(size)[0], 1_500, votes=True),
    Program("ambient_occlusion", "ambient occlusion", lambda size: ambient_occlusion.problems(size)[0], 128),
    Program(
        "cross_sections", "cross sections (XSBench)", lambda size: cross_sections.problems(size)[0], 20_000
    ),
    Program("nab_cascade", "Born radii (nab)", lambda size: nab_cascade.problems(size)[0], 1_000),
    Program("barrier_option", "barrier option", lambda size: barrier_option.paths(size, 256), 10_000),
)
"""Those of `examples.irregular`."""

REGULAR = (
    Program("bitonic_sort", "bitonic sort", groups.stretches, 1 << 18),
    Program("black_scholes", "Black-Scholes", kernels.options, 1 << 19),
    Program("dct", "DCT", groups.cosines, 1024),
    Program("walsh", "fast Walsh transform", groups.walsh_transform, 1 << 18, groups.stages),
    Program("floyd_warshall", "Floyd-Warshall", kernels.graph, 256, each_vertex),
    Program("floyd_warshall_tiles", "Floyd-Warshall, tiles", paths, 256, rounds),
    Program("histogram", "histogram", groups.counts, 1 << 22),
    Program("transpose", "matrix transpose, tiles", groups.turned, 2048),
    Program("nbody", "n-body", kernels.bodies, 2048),
    Program("nbody_tiles", "n-body, tiles", groups.pulls, 2048),
    Program("matrix_product", "matrix product, tiles", groups.product, 256),
    Program("reduction", "reduction", groups.total, 1 << 22, groups.sums_of_sums),
    Program("scan", "inclusive scan", groups.prefix_sums, 1 << 20, groups.scans),
    Program("convolution", "convolution", convolved, 512),
    Program("spmv", "sparse matrix times vector", sparse_product, 10_000),
    Program("smith_waterman", "Smith-Waterman", alignments, 100),
    Program("kmeans", "k-means, one step", clusters, 100_000),
)
"""Work-group kernels and regular ones; the first rows are Karrenberg and Hack's, whose Mandelbrot is in `IRREGULAR`."""

PROGRAMS = (*IRREGULAR, *REGULAR)

"""The rows of the table: each a problem, how the peers are asked for it, and what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.speed import kernels
from examples.irregular import (
    ambient_occlusion,
    barrier_option,
    binary_search,
    collatz,
    kd_tree,
    mandelbrot,
)
from examples.irregular.problem import Problem
from weft.cuda.kernel import Kernel


def _once(kernel: Kernel, problem: Problem) -> None:
    kernel[problem.grid, problem.block](*problem.arguments)


def _for_each_vertex(kernel: Kernel, problem: Problem) -> None:
    (distances,) = problem.arguments
    configured = kernel[problem.grid, problem.block]
    for k in range(distances.shape[0]):
        configured(distances, k)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    name
        For the command line.
    title
        Kernel and size.
    make
        The problem; seeded, so that all peers have the same.
    peer
        Name of the C file and function, and of the loops for numba; and of the file and function for ISPC, unless
        there is one with the row's name.
    divergent
        Whether threads go different ways, so that peers do not vectorize it.
    wanted
        How many times as fast as the fastest peer on one thread; 0: only as part of a mean.
    launch
        What a sample of weft does.
    real
        Type of the numbers, where the versions in C and ISPC leave it open as ``REAL``.
    """

    name: str
    title: str
    make: Callable[[], Problem]
    peer: str
    divergent: bool = False
    wanted: float = 0.95
    launch: Callable[[Kernel, Problem], None] = _once
    real: str = ""


ROWS = (
    Row(
        "mandelbrot",
        "Mandelbrot, 1024 x 768, 256 steps",
        lambda: mandelbrot.picture(mandelbrot.mandelbrot, 1024, 768, 256),
        "mandelbrot",
        divergent=True,
        wanted=15,
    ),
    Row(
        "ambient_occlusion",
        "ambient occlusion, 256 x 256, 64 rays",
        lambda: ambient_occlusion.picture(256, 8),
        "ambient_occlusion",
        divergent=True,
        wanted=0,
    ),
    Row(
        "kd_random",
        "kd-tree nearest neighbour, 0.5 M points, 100 k queries in random order",
        lambda: kd_tree.neighbours(1 << 19, 100_000, in_order=False, together=False),
        "kd_nearest",
        divergent=True,
        wanted=0,
    ),
    Row(
        "binary_search",
        "binary search, 2 M keys in 10 M floats",
        lambda: binary_search.searches(10_000_000, 2_000_000),
        "binary_search",
        divergent=True,
        wanted=0,
    ),
    Row(
        "collatz",
        f"Collatz, numbers to {collatz.LARGEST}",
        lambda: collatz.problems(collatz.LARGEST)[0],
        "collatz",
        divergent=True,
        wanted=0,
    ),
    Row(
        "barrier_option",
        "barrier option, 50 k paths of 256 steps",
        lambda: barrier_option.paths(50_000, 256),
        "barrier_option",
        divergent=True,
        wanted=0,
    ),
    Row(
        "kd_sorted",
        "kd-tree nearest neighbour, queries along a curve",
        lambda: kd_tree.neighbours(1 << 19, 100_000, in_order=True, together=True),
        "kd_nearest",
    ),
    Row(
        "correlation",
        "point correlation, 0.1 M points, 20 k queries",
        lambda: kd_tree.pairs(1 << 17, 20_000, 0.02),
        "kd_correlation",
    ),
    Row("black_scholes", "Black-Scholes, 1 M options", lambda: kernels.options(1 << 20), "black_scholes"),
    Row("nbody", "n-body, 4096 bodies", lambda: kernels.bodies(4096), "nbody"),
    Row("stencil5", "stencil of 5 points, 2000 x 2000", lambda: kernels.plane(5, 2000, 2000), "stencil5"),
    Row("stencil9", "stencil of 9 points, 2000 x 2000", lambda: kernels.plane(9, 2000, 2000), "stencil9"),
    Row("transpose", "transpose, 2000 x 2000", lambda: kernels.matrix(2000, 2000), "transpose"),
    Row(
        "floyd_warshall",
        "Floyd-Warshall, 1024 vertices",
        lambda: kernels.graph(1024),
        "floyd_warshall",
        launch=_for_each_vertex,
    ),
)

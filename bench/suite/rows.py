"""The rows, by kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed.peers import Task
from bench.speed.rows import Row
from bench.suite import dense, irregular, octets
from examples.irregular import cross_sections, nab_cascade

SOURCES = Path(__file__).parent / "c"

DENSE = (
    Row("sobel", "Sobel, 4096 x 2048", lambda: dense.edges(4096, 2048), "sobel"),
    Row("bilateral", "bilateral filter 7 x 7, 768 x 512", lambda: dense.smoothing(768, 512), "bilateral"),
    Row("life", "Game of Life, 8192 x 4096", lambda: dense.generation(8192, 4096), "life"),
    Row(
        "kmeans2_f32",
        "k-means, 0.5 M points of 2 floats, 32 centres",
        lambda: dense.clusters(500_000, 2, 32, np.float32),
        "nearest_centre",
        real="float",
    ),
    Row(
        "kmeans9_f64",
        "k-means, 0.2 M points of 9 doubles, 32 centres",
        lambda: dense.clusters(200_000, 9, 32, np.float64),
        "nearest_centre",
        real="double",
    ),
    Row("lu", "LU of 50 k matrices of 8 x 8 floats", lambda: dense.systems(50_000), "lu"),
    Row("pi", "pi by chance, 64 k threads of 256 darts", lambda: dense.darts(1 << 16, 256), "pi"),
    Row(
        "ray_triangle",
        "ray and triangle, 16 k rays, 256 triangles",
        lambda: dense.rays(1 << 14, 256),
        "ray_triangle",
    ),
)

IRREGULAR = (
    Row("spmv", "sparse matrix times vector, 50 k rows", lambda: irregular.product(50_000), "sparse_product"),
    Row(
        "bfs",
        "breadth-first search, 0.2 M vertices of 8 edges",
        lambda: irregular.network(200_000, 8),
        "search_levels",
        launch=irregular.each_level,
    ),
    Row(
        "xsbench",
        "cross sections (XSBench), 20 k lookups",
        lambda: cross_sections.problems(20_000)[0],
        "macroscopic",
        divergent=True,
    ),
    Row(
        "nab",
        "Born radii (nab), 2000 atoms",
        lambda: nab_cascade.problems(2_000)[0],
        "born_sums",
        divergent=True,
    ),
    Row(
        "bintree_f32",
        "binary tree, 0.2 M queries of 0.5 M floats",
        lambda: irregular.members(500_000, 200_000, np.float32),
        "find",
        real="float",
        divergent=True,
    ),
    Row(
        "bintree_f64",
        "binary tree, 0.2 M queries of 0.5 M doubles",
        lambda: irregular.members(500_000, 200_000, np.float64),
        "find",
        real="double",
        divergent=True,
    ),
    Row(
        "vantage2_f32",
        "vantage-point tree, 0.1 M points of 2 floats",
        lambda: irregular.nearest_of(1 << 17, 50_000, 2, np.float32),
        "vantage",
        real="float",
        divergent=True,
    ),
    Row(
        "vantage9_f64",
        "vantage-point tree, 4 k points of 9 doubles",
        lambda: irregular.nearest_of(1 << 12, 5_000, 9, np.float64),
        "vantage",
        real="double",
        divergent=True,
    ),
    Row(
        "radii2_f32",
        "multi-radius correlation, 0.1 M points of 2 floats",
        lambda: irregular.neighbourhoods(1 << 17, 20_000, 2, np.float32, 0.03),
        "multi_radius",
        real="float",
        divergent=True,
    ),
    Row(
        "radii9_f64",
        "multi-radius correlation, 16 k points of 9 doubles",
        lambda: irregular.neighbourhoods(1 << 14, 2_000, 9, np.float64, 0.8),
        "multi_radius",
        real="double",
        divergent=True,
    ),
    Row(
        "barnes_hut_f32",
        "Barnes-Hut, 4000 bodies, floats",
        lambda: irregular.attraction(4_000, np.float32),
        "barnes_hut",
        real="float",
        divergent=True,
    ),
    Row(
        "barnes_hut_f64",
        "Barnes-Hut, 4000 bodies, doubles",
        lambda: irregular.attraction(4_000, np.float64),
        "barnes_hut",
        real="double",
        divergent=True,
    ),
)

OCTETS = (
    Row("string_search", "string search, 8 bytes in 8 M", lambda: octets.texts(8_000_000), "find_pattern"),
    Row(
        "utf8",
        "UTF-8 validation, 100 k strings",
        lambda: octets.strings(100_000, 60),
        "valid_utf8",
        divergent=True,
    ),
    Row(
        "run_lengths",
        "decoding 1 M runs of up to 15 bytes",
        lambda: octets.runs(1_000_000, 16),
        "decode_runs",
    ),
    Row(
        "radix_pass",
        "one pass of radix sort, 4 M keys",
        lambda: octets.digits(1 << 22),
        "radix_pass",
        launch=octets.RadixPass(),
    ),
    Row(
        "smith_waterman",
        "Smith-Waterman, 1000 pairs of 128 letters",
        lambda: octets.sequences(1_000),
        "align",
    ),
)

ROWS = (*DENSE, *IRREGULAR, *OCTETS)


def loops_of(task: Task) -> Callable[..., Any]:
    """Return the loops of a row."""
    from bench.suite import loops_dense, loops_irregular, loops_octets

    modules = (loops_dense, loops_irregular, loops_octets)
    return next(vars(module)[task.row.peer] for module in modules if task.row.peer in vars(module))

"""The rows, by kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed.peers import Task
from bench.speed.rows import Row
from bench.suite import dense

SOURCES = Path(__file__).parent / "c"

DENSE = (
    Row("sobel", "Sobel, 4096 x 2048", lambda: dense.edges(4096, 2048), "sobel"),
    Row("bilateral", "bilateral filter 7 x 7, 768 x 512", lambda: dense.smoothing(768, 512), "bilateral"),
    Row("life", "Game of Life, 8192 x 4096", lambda: dense.generation(8192, 4096), "life"),
    Row(
        "kmeans2_f32",
        "k-means, 0.5 M points of 2 floats, 32 centres",
        lambda: dense.clusters(500_000, 2, 32, np.float32),
        "nearest_centre_f32",
    ),
    Row(
        "kmeans9_f64",
        "k-means, 0.2 M points of 9 doubles, 32 centres",
        lambda: dense.clusters(200_000, 9, 32, np.float64),
        "nearest_centre_f64",
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

ROWS = DENSE


def loops_of(task: Task) -> Callable[..., Any]:
    """Return the loops of a row; those for floats and for doubles are the same."""
    from bench.suite import loops_dense

    modules = (loops_dense,)
    name = task.row.peer.removesuffix("_f32").removesuffix("_f64")
    return next(vars(module)[name] for module in modules if name in vars(module))

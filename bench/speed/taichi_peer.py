"""Taichi as a peer, for the rows that it has a form for: loops over pixels, bodies and points, on NumPy's arrays.

Traversals with stacks, sorts, and searches in bytes have none: a kernel's own arrays are matrices that it unrolls. It
cannot be held to a level of instructions, and takes what the machine has.
"""

import dataclasses
import os
import time

import taichi as ti

from bench.harness import Prepared
from bench.speed.peers import Task

FLOATS = ti.types.ndarray(dtype=ti.f32, ndim=1)
PLANE = ti.types.ndarray(dtype=ti.f32, ndim=2)
BYTES = ti.types.ndarray(dtype=ti.u8, ndim=2)
COUNTS = ti.types.ndarray(dtype=ti.i32, ndim=1)
GRID = ti.types.ndarray(dtype=ti.i32, ndim=2)


@ti.kernel
def mandelbrot(left: ti.f32, top: ti.f32, step: ti.f32, limit: ti.i32, counts: GRID):
    for y, x in counts:
        real = left + ti.cast(x, ti.f32) * step
        imag = top - ti.cast(y, ti.f32) * step
        zr = 0.0
        zi = 0.0
        n = 0
        while n < limit and zr * zr + zi * zi <= 4.0:
            following = zr * zr - zi * zi + real
            zi = (zr + zr) * zi + imag
            zr = following
            n += 1
        counts[y, x] = n


@ti.kernel
def nbody(
    x: FLOATS, y: FLOATS, z: FLOATS, mass: FLOATS, softening: ti.f32, ax: FLOATS, ay: FLOATS, az: FLOATS
):
    for i in range(x.shape[0]):
        sx = 0.0
        sy = 0.0
        sz = 0.0
        for j in range(x.shape[0]):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            inverse = 1 / ti.sqrt(dx * dx + dy * dy + dz * dz + softening)
            pull = mass[j] * inverse * inverse * inverse
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz


@ti.kernel
def stencil5(grid: PLANE, result: PLANE):
    for y, x in ti.ndrange((1, grid.shape[0] - 1), (1, grid.shape[1] - 1)):
        around = grid[y, x] + grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x]
        result[y, x] = 0.2 * around


@ti.kernel
def stencil9(grid: PLANE, result: PLANE):
    for y, x in ti.ndrange((1, grid.shape[0] - 1), (1, grid.shape[1] - 1)):
        sides = grid[y, x - 1] + grid[y, x + 1] + grid[y - 1, x] + grid[y + 1, x]
        corners = grid[y - 1, x - 1] + grid[y - 1, x + 1] + grid[y + 1, x - 1] + grid[y + 1, x + 1]
        result[y, x] = 0.25 * grid[y, x] + 0.125 * sides + 0.0625 * corners


@ti.kernel
def life(cells: BYTES, following: BYTES):
    for y, x in ti.ndrange((1, cells.shape[0] - 1), (1, cells.shape[1] - 1)):
        around = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                around += cells[y + dy, x + dx]
        around -= cells[y, x]
        alive = around == 3 or (around == 2 and cells[y, x] == 1)
        following[y, x] = ti.cast(ti.select(alive, 1, 0), ti.u8)


@ti.kernel
def nearest_centre(points: PLANE, centres: PLANE, nearest: COUNTS):
    for i in range(points.shape[0]):
        best = 0
        least = 3e38
        for c in range(centres.shape[0]):
            squared = 0.0
            for d in range(points.shape[1]):
                step = points[i, d] - centres[c, d]
                squared += step * step
            if squared < least:
                least = squared
                best = c
        nearest[i] = best


KERNELS = {
    "mandelbrot": mandelbrot,
    "nbody": nbody,
    "stencil5": stencil5,
    "stencil9": stencil9,
    "life": life,
    "kmeans2_f32": nearest_centre,
}
"""By rows."""


def by_taichi(task: Task, threads: int) -> Prepared:
    """Return Taichi with its kernel for a row."""
    if task.row.name not in KERNELS:
        raise ImportError("no form of this kernel for it")
    if os.environ.get("WEFT_CPU"):
        raise ImportError("it takes all instructions that the machine has")
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads, fast_math=True, offline_cache=False, log_level=ti.ERROR)
    kernel = KERNELS[task.row.name]
    # Its work is done by a thread of its own.
    clock = time.process_time if task.clock is time.thread_time else task.clock
    task = dataclasses.replace(task, clock=clock)
    arguments = task.own_problem().arguments
    begin = time.perf_counter()
    kernel(*arguments)
    compile_seconds = time.perf_counter() - begin
    problem = task.own_problem()
    arguments = problem.arguments
    return task.prepared(problem, lambda: kernel(*arguments), compile_seconds)

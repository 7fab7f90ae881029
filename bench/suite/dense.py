"""Kernels of regular loops: filters of pictures, cellular automata, clusters, small matrices, chance, rays."""

from __future__ import annotations

import math

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from weft import cuda

LINE = 256
TILE = (64, 4)
RADIUS = 3
SIDE = 8
"""Rows and columns of the small matrices."""


@cuda.jit
def sobel(image, edges):
    """Compute how steep a picture is."""
    x, y = cuda.grid(2)
    if y > 0 and y < image.shape[0] - 1 and x > 0 and x < image.shape[1] - 1:
        above, below = y - 1, y + 1
        left, right = x - 1, x + 1
        across = image[above, right] + 2 * image[y, right] + image[below, right]
        across -= image[above, left] + 2 * image[y, left] + image[below, left]
        down = image[below, left] + 2 * image[below, x] + image[below, right]
        down -= image[above, left] + 2 * image[above, x] + image[above, right]
        edges[y, x] = math.sqrt(across * across + down * down)


@cuda.jit
def bilateral(image, nearness, sharpness, result):
    """Average the pixels around, by how near and how alike they are; the border repeats its pixels."""
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        here = image[y, x]
        total = np.float32(0)
        weights = np.float32(0)
        for dy in range(-RADIUS, RADIUS + 1):
            row = min(max(y + dy, 0), image.shape[0] - 1)
            for dx in range(-RADIUS, RADIUS + 1):
                column = min(max(x + dx, 0), image.shape[1] - 1)
                there = image[row, column]
                difference = there - here
                weight = nearness[dy + RADIUS, dx + RADIUS] * math.exp(-sharpness * difference * difference)
                weights += weight
                total += weight * there
        result[y, x] = total / weights


@cuda.jit
def life(cells, following):
    """Let a cell live or die, by Conway's rules; those at the border stay dead."""
    x, y = cuda.grid(2)
    if y > 0 and y < cells.shape[0] - 1 and x > 0 and x < cells.shape[1] - 1:
        around = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                around += cells[y + dy, x + dx]
        around -= cells[y, x]
        if around == 3 or (around == 2 and cells[y, x] == 1):
            following[y, x] = 1
        else:
            following[y, x] = 0


@cuda.jit
def nearest_centre(points, centres, nearest):
    """Find the centre that is nearest to a point: what k-means does in each of its rounds."""
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = 0
        least = points.dtype.type(3e38)
        for c in range(centres.shape[0]):
            squared = points.dtype.type(0)
            for d in range(points.shape[1]):
                step = points[i, d] - centres[c, d]
                squared += step * step
            if squared < least:
                least = squared
                best = c
        nearest[i] = best


@cuda.jit
def lu(matrices):
    """Factor a small matrix in its place, without choosing pivots."""
    n = cuda.grid(1)
    if n < matrices.shape[0]:
        for k in range(SIDE):
            for i in range(k + 1, SIDE):
                factor = matrices[n, i, k] / matrices[n, k, k]
                matrices[n, i, k] = factor
                for j in range(k + 1, SIDE):
                    matrices[n, i, j] -= factor * matrices[n, k, j]


@cuda.jit
def pi(seeds, throws, inside):
    """Throw darts at a square, and count those that hit the circle in it."""
    i = cuda.grid(1)
    if i < seeds.size:
        state = seeds[i]
        hits = 0
        for _ in range(throws):
            state ^= state << np.uint32(13)
            state ^= state >> np.uint32(17)
            state ^= state << np.uint32(5)
            x = np.float32(state >> np.uint32(8)) * np.float32(2**-24)
            state ^= state << np.uint32(13)
            state ^= state >> np.uint32(17)
            state ^= state << np.uint32(5)
            y = np.float32(state >> np.uint32(8)) * np.float32(2**-24)
            if x * x + y * y < np.float32(1):
                hits += 1
        inside[i] = hits


@cuda.jit
def ray_triangle(origins, directions, triangles, distances, hits):
    """Find the first triangle that a ray meets (Möller and Trumbore 1997)."""
    i = cuda.grid(1)
    if i < hits.size:
        ox, oy, oz = origins[i, 0], origins[i, 1], origins[i, 2]
        dx, dy, dz = directions[i, 0], directions[i, 1], directions[i, 2]
        least = np.float32(1e30)
        hit = -1
        for k in range(triangles.shape[0]):
            ax, ay, az = triangles[k, 0, 0], triangles[k, 0, 1], triangles[k, 0, 2]
            ex, ey, ez = triangles[k, 1, 0] - ax, triangles[k, 1, 1] - ay, triangles[k, 1, 2] - az
            fx, fy, fz = triangles[k, 2, 0] - ax, triangles[k, 2, 1] - ay, triangles[k, 2, 2] - az
            px, py, pz = dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx
            determinant = ex * px + ey * py + ez * pz
            if abs(determinant) < np.float32(1e-8):
                continue
            inverse = 1 / determinant
            tx, ty, tz = ox - ax, oy - ay, oz - az
            u = (tx * px + ty * py + tz * pz) * inverse
            if u < 0 or u > 1:
                continue
            qx, qy, qz = ty * ez - tz * ey, tz * ex - tx * ez, tx * ey - ty * ex
            v = (dx * qx + dy * qy + dz * qz) * inverse
            if v < 0 or u + v > 1:
                continue
            t = (fx * qx + fy * qy + fz * qz) * inverse
            if t > np.float32(1e-4) and t < least:
                least = t
                hit = k
        distances[i] = least
        hits[i] = hit


def _tiles(rows: int, columns: int) -> tuple[int, int]:
    return blocks_for(columns, TILE[0]), blocks_for(rows, TILE[1])


def edges(rows: int, columns: int) -> Problem:
    """Return a random picture for `sobel`."""
    image = np.random.default_rng(101).random((rows, columns), np.float32)
    result = np.zeros_like(image)

    def expected() -> tuple[np.ndarray, ...]:
        wide = image.astype(np.float64)
        columns_of, rows_of = wide[:, 2:] - wide[:, :-2], wide[2:] - wide[:-2]
        across = columns_of[:-2] + 2 * columns_of[1:-1] + columns_of[2:]
        down = rows_of[:, :-2] + 2 * rows_of[:, 1:-1] + rows_of[:, 2:]
        return (np.pad(np.hypot(across, down), 1),)

    return Problem(sobel, (image, result), _tiles(rows, columns), TILE, (1,), expected, 1e-4, 1e-5)


def smoothing(rows: int, columns: int) -> Problem:
    """Return a random picture for `bilateral`."""
    image = np.random.default_rng(103).random((rows, columns), np.float32)
    offsets = np.arange(-RADIUS, RADIUS + 1)
    nearness = np.exp(-(offsets[:, None] ** 2 + offsets**2) / 8).astype(np.float32)
    sharpness = np.float32(12)

    def expected() -> tuple[np.ndarray, ...]:
        padded = np.pad(image.astype(np.float64), RADIUS, mode="edge")
        total, weights = np.zeros(image.shape), np.zeros(image.shape)
        for dy in range(2 * RADIUS + 1):
            for dx in range(2 * RADIUS + 1):
                there = padded[dy : dy + rows, dx : dx + columns]
                weight = nearness[dy, dx] * np.exp(-sharpness * (there - image) ** 2)
                weights += weight
                total += weight * there
        return (total / weights,)

    arguments = image, nearness, sharpness, np.zeros_like(image)
    return Problem(bilateral, arguments, _tiles(rows, columns), TILE, (3,), expected, 1e-4, 1e-5)


def generation(rows: int, columns: int) -> Problem:
    """Return a random colony for `life`."""
    cells = np.zeros((rows, columns), np.uint8)
    cells[1:-1, 1:-1] = np.random.default_rng(107).random((rows - 2, columns - 2)) < 0.35

    def expected() -> tuple[np.ndarray, ...]:
        around = sum(
            cells[1 + y : rows - 1 + y, 1 + x : columns - 1 + x]
            for y in (-1, 0, 1)
            for x in (-1, 0, 1)
            if y or x
        )
        alive = (around == 3) | ((around == 2) & (cells[1:-1, 1:-1] == 1))
        return (np.pad(alive, 1).astype(np.uint8),)

    return Problem(life, (cells, np.zeros_like(cells)), _tiles(rows, columns), TILE, (1,), expected)


def clusters(points: int, dimensions: int, centres: int, dtype: type[np.floating]) -> Problem:
    """Return random points and centres for `nearest_centre`."""
    rng = np.random.default_rng(109)
    middles = rng.random((centres, dimensions)).astype(dtype)
    given = rng.random((points, dimensions)).astype(dtype)

    def expected() -> tuple[np.ndarray, ...]:
        from scipy.spatial import cKDTree

        return (cKDTree(middles).query(given)[1],)

    arguments = given, middles, np.zeros(points, np.int32)
    return Problem(nearest_centre, arguments, blocks_for(points, LINE), LINE, (2,), expected, mismatches=1e-4)


def systems(count: int) -> Problem:
    """Return random matrices for `lu`, in which no pivot is small."""
    matrices = np.random.default_rng(113).random((count, SIDE, SIDE), np.float32)
    matrices += SIDE * np.eye(SIDE, dtype=np.float32)

    def expected() -> tuple[np.ndarray, ...]:
        wanted = matrices.astype(np.float64)
        for k in range(SIDE):
            wanted[:, k + 1 :, k] /= wanted[:, k, k, None]
            wanted[:, k + 1 :, k + 1 :] -= wanted[:, k + 1 :, k, None] * wanted[:, k, None, k + 1 :]
        return (wanted,)

    return Problem(lu, (matrices,), blocks_for(count, LINE), LINE, (0,), expected, 1e-4, 1e-5)


def darts(threads: int, throws: int) -> Problem:
    """Return random seeds for `pi`."""
    seeds = np.random.default_rng(127).integers(1, 1 << 32, threads, np.uint32)

    def expected() -> tuple[np.ndarray, ...]:
        state, hits = seeds.copy(), np.zeros(threads, np.int32)
        for _ in range(throws):
            place = np.zeros((2, threads), np.float32)
            for k in range(2):
                state ^= state << np.uint32(13)
                state ^= state >> np.uint32(17)
                state ^= state << np.uint32(5)
                place[k] = (state >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)
            hits += np.square(place.astype(np.float64)).sum(axis=0) < 1
        return (hits,)

    arguments = seeds, throws, np.zeros(threads, np.int32)
    # A dart at the very edge counts or not, as rounding has it.
    return Problem(pi, arguments, blocks_for(threads, LINE), LINE, (2,), expected, mismatches=1e-3)


def rays(count: int, triangles: int) -> Problem:
    """Return random rays and small triangles for `ray_triangle`."""
    rng = np.random.default_rng(131)
    corners = rng.random((triangles, 1, 3)) + 0.2 * rng.random((triangles, 3, 3))
    shapes = corners.astype(np.float32)
    origins = (rng.random((count, 3)) - [0, 0, 2]).astype(np.float32)
    directions = (rng.random((count, 3)) * [0.4, 0.4, 0.2] + [-0.2, -0.2, 0.9]).astype(np.float32)

    def expected() -> tuple[np.ndarray, ...]:
        least, hit = np.full(count, 1e30), np.full(count, -1)
        o, d = origins.astype(np.float64), directions.astype(np.float64)
        for k, (a, b, c) in enumerate(shapes.astype(np.float64)):
            p = np.cross(d, c - a)
            inverse = 1 / (p @ (b - a))
            u = ((o - a) * p).sum(axis=1) * inverse
            q = np.cross(o - a, b - a)
            v = (d * q).sum(axis=1) * inverse
            t = q @ (c - a) * inverse
            better = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-4) & (t < least)
            least, hit = np.where(better, t, least), np.where(better, k, hit)
        return least, hit

    arguments = origins, directions, shapes, np.zeros(count, np.float32), np.zeros(count, np.int32)
    # A ray through an edge meets it or not, as rounding has it.
    return Problem(
        ray_triangle, arguments, blocks_for(count, LINE), LINE, (3, 4), expected, 1e-3, mismatches=1e-3
    )
